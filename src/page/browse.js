// The notes of a project, newest first, by group, tag and day.
import { app, call, here, inProject, link, withParams } from "./app.js";
import { h, fill, keepFocus } from "./dom.js";
import { empty, noProject, noteItem, page, sentence, timeline } from "./parts.js";
import { plural } from "./text.js";

export const title = "Notes";

const PAGE = 50;

// The times of a day, or of a month, of this browser's time zone.
function rangeOf(day) {
  const isMonth = day.length === 7;
  const begin = new Date(`${isMonth ? `${day}-01` : day}T00:00`);
  const end = new Date(begin);
  if (isMonth) end.setMonth(end.getMonth() + 1);
  else end.setDate(end.getDate() + 1);
  return { since: begin.toISOString(), until: end.toISOString() };
}

const limits = (params) => ({
  ...(params.group && { groupId: params.group }),
  ...(params.tag && { tags: [params.tag] }),
});

const times = (params) => (/^\d{4}-\d\d(-\d\d)?$/.test(params.day ?? "") ? rangeOf(params.day) : {});

const read = (params, cursor) => call("memory.list_recent", inProject({
  ...limits(params), ...times(params), limit: PAGE, ...(cursor && { cursor }),
}));

function chips(names, kind, params) {
  if (!names.length) return null;
  const label = kind === "group" ? "Groups" : "Tags";
  return h("section.chips", { "aria-label": label }, h("h2", null, label), h("ul", null, names.map(({ name, notes }) => {
    const on = params[kind] === name;
    return h("li", null, h(`a.${kind}`, {
      href: withParams({ [kind]: on ? "" : name, note: "" }), "aria-current": on ? "true" : undefined, dir: "auto",
    }, name, h("span.count", null, notes)));
  })));
}

async function overview(params) {
  const offset = -new Date().getTimezoneOffset();
  const [groups, tags, days] = await Promise.all([
    call("memory.list_names", inProject({ kind: "group" })),
    call("memory.list_names", inProject({ kind: "tag", limit: 1000 })),
    call("memory.timeline", inProject({ ...limits(params), utcOffset: offset })),
  ]);
  const top = tags.names.sort((a, b) => b.notes - a.notes).slice(0, 24);
  if (params.tag && !top.some(({ name }) => name === params.tag)) top.push({ name: params.tag, notes: 0 });
  return [timeline(days.days, params.day), chips(groups.names, "group", params), chips(top, "tag", params)];
}

function describe(params) {
  const parts = [params.group && `group ${params.group}`, params.tag && `tag ${params.tag}`, params.day].filter(Boolean);
  return parts.length ? h("p.hint", null, `Only ${parts.join(", ")}. `, h("a", { href: link("notes") }, "Show all")) : null;
}

// The list, with more notes when its end comes into view.
function lister(params, list, end) {
  let cursor;
  let seen = 0;
  const item = (note) => noteItem(note, { selected: note.id === here().params.note });
  const more = async () => {
    const { items, nextCursor } = await read(params, cursor);
    list.append(...items.map(item));
    seen += items.length;
    cursor = nextCursor;
    fill(end, cursor ? h("button", { type: "button", onclick: more }, "More notes") : null);
    return seen;
  };
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && cursor) end.querySelector("button")?.click();
  }, { rootMargin: "600px" });
  observer.observe(end);
  // Reads the first pages again and keeps the items that are still the same.
  const refresh = async () => {
    const fresh = await read(params);
    const old = new Map([...list.children].map((li) => [li.dataset.id, li]));
    const first = fresh.items.map(item);
    const kept = [...old.values()].slice(PAGE).filter((li) => !fresh.items.some(({ id }) => id === li.dataset.id));
    const focus = document.activeElement?.closest("li.note")?.dataset.id;
    list.replaceChildren(...first, ...(fresh.nextCursor ? kept : []));
    for (const li of first) if (old.size && !old.has(li.dataset.id)) li.classList.add("fresh");
    if (focus) list.querySelector(`[data-id="${CSS.escape(focus)}"] a.title`)?.focus();
  };
  return { more, refresh };
}

export async function show(main, params) {
  if (!app.project) {
    fill(main, page(title, noProject()));
    return {};
  }
  const side = h("div.overview");
  const list = h("ol.notes");
  const end = h("div.end");
  const count = h("p.hint");
  fill(main, page(title, side, describe(params), count, list, end));
  const { more, refresh } = lister(params, list, end);
  const shown = () => {
    const here = app.projects.find(({ name }) => name === app.project);
    count.textContent = here && !params.group && !params.tag && !params.day ? `${plural(here.notes, "note")} in ${here.name}` : "";
  };
  try {
    fill(side, await overview(params));
    const filtered = params.group || params.tag || params.day;
    if (!(await more())) fill(end, filtered ? empty("No notes here", h("p", null, "No note passes these filters. ", h("a", { href: link("notes") }, "Show all notes"))) : noProject());
    shown();
  } catch (error) {
    fill(end, sentence(error));
  }
  return {
    refresh: async () => {
      await refresh();
      const now = await overview(params);
      keepFocus(side, () => fill(side, now), () => side.querySelector("[aria-current]") ?? side.querySelector("a"));
      shown();
    },
  };
}
