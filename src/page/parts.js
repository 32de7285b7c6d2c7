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

const DAYS = 91;
const DAY = 86400000;

// The days from the first to the last one, those without notes too, at most the last DAYS.
function calendar(days) {
  const notes = new Map(days.map((day) => [day.day, day.notes]));
  const last = Date.parse(days.at(-1).day);
  const first = Math.max(Date.parse(days[0].day), last - (DAYS - 1) * DAY);
  const names = Array.from({ length: Math.round((last - first) / DAY) + 1 }, (_, i) => new Date(first + i * DAY).toISOString().slice(0, 10));
  return names.map((day) => ({ day, notes: notes.get(day) ?? 0 }));
}

// Notes by day: a bar for each day that has notes.
export function timeline(days, selected) {
  if (days.length < 2) return null;
  const shown = calendar(days);
  const most = Math.max(...shown.map((day) => day.notes));
  const bars = shown.map(({ day, notes }) => {
    if (!notes) return h("li", { "aria-hidden": "true" });
    const bar = h("span.bar");
    bar.style.height = `${Math.max(8, Math.round(Math.sqrt(notes / most) * 100))}%`;
    const name = `${day}: ${notes} ${notes === 1 ? "note" : "notes"}`;
    return h("li", null, h("a", {
      href: withParams({ day: day === selected ? "" : day, note: "" }), title: name, "aria-label": name,
      "aria-current": day === selected ? "true" : undefined,
    }, bar));
  });
  return h("section.timeline", { "aria-label": "Notes per day" }, h("ol", null, bars),
    h("p.ends", { "aria-hidden": "true" }, h("span", null, shown[0].day), h("span", null, shown.at(-1).day)));
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
