// Parts that several views show: notes in lists, filters, messages.
import { app, link, withParams } from "./app.js";
import { h } from "./dom.js";
import { exactTime, matches, percent, titleOf, when } from "./text.js";

export const time = (iso) => h("time", { datetime: iso, title: exactTime(iso) }, when(iso));

export const marked = (text, query) =>
  matches(text, query).map(([part, hit]) => (hit ? h("mark", null, part) : part));

export const tagLink = (tag) => h("a.tag", { href: link("notes", { tag }), dir: "auto" }, tag);
export const groupLink = (group) => h("a.group", { href: link("notes", { group }), dir: "auto" }, group);

export const sentence = (error) => h("p.error", { role: "alert" }, error.message);

export function empty(title, ...more) {
  return h("div.empty", null, h("h2", null, title), more);
}

// The line below the title of a note.
export function facts(note, ...more) {
  return h("p.facts", null, groupLink(note.groupId ?? "global"), time(note.createdAt),
    (note.tags ?? []).map(tagLink), more);
}

// A note in a list. The title opens it beside the list.
export function noteItem(note, { query, selected, extra, text } = {}) {
  const open = h("a.title", {
    href: withParams({ note: note.id }), dir: "auto", "aria-current": selected ? "true" : undefined,
  }, note.title ? marked(note.title, query) : marked(titleOf(note), query));
  const body = text ?? note.text;
  return h("li.note", { "data-id": note.id, class: selected ? "note selected" : "note" },
    h("h3", null, open),
    note.title || text || body.trim().includes("\n") || body.length > 120 ? h("p.text", { dir: "auto" }, marked(body.slice(0, 600), query)) : null,
    facts(note), extra);
}

const BARS = 91;
const DAY = 86400000;

const dayAfter = (day) => new Date(Date.parse(day) + DAY).toISOString().slice(0, 10);
const monthAfter = (month) => new Date(Date.UTC(month.slice(0, 4), month.slice(5))).toISOString().slice(0, 7);

// The counts from the first to the last name, those without notes too, at most the last BARS.
function calendar(counts, after) {
  const names = [...counts.keys()];
  const all = [];
  for (let name = names[0]; name <= names.at(-1); name = after(name)) all.push({ name, notes: counts.get(name) ?? 0 });
  return all.slice(-BARS);
}

// Notes of each day; if the days are far apart, of each month, or of the days of the chosen month.
function bars(days, chosen) {
  const far = Date.parse(days.at(-1).day) - Date.parse(days[0].day) >= BARS * DAY;
  const month = far && chosen?.slice(0, 7);
  const counts = new Map();
  for (const { day, notes } of days) {
    if (month && !day.startsWith(month)) continue;
    const name = far && !month ? day.slice(0, 7) : day;
    counts.set(name, (counts.get(name) ?? 0) + notes);
  }
  return calendar(counts, far && !month ? monthAfter : dayAfter);
}

// Notes by time: a bar for each day or month that has notes.
export function timeline(days, chosen) {
  const shown = days.length < 2 ? [] : bars(days, chosen);
  if (!shown.length) return null;
  const most = Math.max(...shown.map(({ notes }) => notes));
  const items = shown.map(({ name, notes }) => {
    if (!notes) return h("li", { "aria-hidden": "true" });
    const bar = h("span.bar");
    bar.style.height = `${Math.max(8, Math.round(Math.sqrt(notes / most) * 100))}%`;
    const label = `${name}: ${notes} ${notes === 1 ? "note" : "notes"}`;
    return h("li", null, h("a", {
      href: withParams({ day: name === chosen ? "" : name, note: "" }), title: label, "aria-label": label,
      "aria-current": name === chosen ? "true" : undefined,
    }, bar));
  });
  const per = shown[0].name.length === 7 ? "month" : "day";
  return h("section.timeline", { "aria-label": `Notes per ${per}` }, h("ol", null, items),
    h("p.ends", { "aria-hidden": "true" }, h("span", null, shown[0].name), h("span", null, shown.at(-1).name)));
}

// A number from 0 to 1 as a bar and in words.
export function gauge(value, label) {
  const inner = h("span");
  inner.style.width = `${Math.round(value * 100)}%`;
  return h("span.relevance", null, h("span.gauge", { "aria-hidden": "true" }, inner), `${label} ${percent(value)}`);
}

export function page(title, ...children) {
  return [h("h1", { tabindex: "-1" }, title), children];
}

export const noProject = () => empty("No notes yet",
  h("p", null, "This memory is empty. Notes appear here as soon as an agent stores one."),
  h("ol.steps", null,
    h("li", null, "Connect your agent: ", h("code", null, "fumi setup"), " adds Fumi to the agents on this machine."),
    h("li", null, "Or store a note yourself: ", h("code", null, "fumi add --project . --group lessons \"…\"")),
    h("li", null, "Or use the button ", h("b", null, "New note"), " above.")),
  app.readOnly && h("p", null, "This server is read-only: nothing can be stored through it."));
