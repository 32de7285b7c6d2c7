// Changes of the memory: who changed what, with differences, and undo.
import { app, call, can, inProject, report, withParams, writes } from "./app.js";
import { confirm, fill, h, toast } from "./dom.js";
import { empty, page, sentence, time } from "./parts.js";
import { difference } from "./text.js";

export const title = "History";
export const needs = "memory.history";

const names = {
  add: "stored", update: "changed", delete: "deleted", expire: "expired", forget: "forgotten", supersede: "replaced",
};
const verb = (op) => names[op] ?? op.replaceAll("_", " ");
const short = (value) => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value));

// "claude-code 2.1 in session abc": who made a change, as far as is known.
export function author(change) {
  const by = change.author ?? change;
  const who = [by.client, by.version].filter(Boolean).join(" ") || by.user || by.transport || "unknown";
  return [h("b", { dir: "auto" }, who), by.session && [" in session ", h("span", { dir: "auto" }, by.session)]];
}

export function shownDifference(before, after) {
  const tags = { removed: "del", added: "ins" };
  return h("div.diff", { dir: "auto" }, difference(before, after).map(([kind, text]) => (tags[kind] ? h(tags[kind], null, text) : text)));
}

// The members that a change set, with their values before and after.
function members(before, after) {
  return Object.keys(before).filter((name) => short(before[name]) !== short(after?.[name])).map((name) =>
    h("div.member", null, h("h4", null, name), after ? shownDifference(short(before[name]), short(after[name])) : h("p", { dir: "auto" }, short(before[name]))));
}

async function undoOne(change) {
  try {
    const answer = await call("memory.undo", { change: change.change });
    const conflicts = answer.conflicts?.length ?? 0;
    toast(conflicts ? `Undone, except for ${conflicts} notes that changed later.` : "Undone.");
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

function item(change, after, { withNote }) {
  const before = change.before ?? {};
  const about = before.title ?? before.text ?? before.key;
  return h("li.change", { "data-change": change.change }, h("p", null, author(change), ` ${verb(change.op)} `,
    withNote && change.id && h("a", { href: withParams({ note: change.id }), dir: "auto" }, about ? String(about).slice(0, 80) : "a note"),
    " ", time(change.at), change.undoes && " (undo)"),
  members(before, after),
  writes("memory.undo") && change.op !== "forget" && h("button", { type: "button", onclick: () => undoOne(change) }, "Undo"));
}

const rows = (answer) => answer.changes ?? answer.items ?? [];

// The history of one note, newest first: going back, each change gives the values before it.
export async function changesOf(note) {
  const answer = await call("memory.history", { id: note.id });
  let after = note;
  const items = rows(answer).map((change) => {
    const shown = item(change, after, { withNote: false });
    after = { ...after, ...change.before };
    return shown;
  });
  return h("section", null, h("h3", null, "History"), h("ol.changes", null, items));
}

function sessions(changes) {
  const all = new Set(changes.map((change) => (change.author ?? change).session).filter(Boolean));
  return [...all];
}

async function undoSession(session) {
  const params = inProject({ session });
  const plan = await call("memory.undo", { ...params, dryRun: true });
  const n = (plan.undone ?? plan.changes ?? []).length;
  if (!(await confirm("Undo a session", `${n} changes of the session ${session} would be undone.`, "Undo"))) return;
  await call("memory.undo", params);
  toast("The session was undone.");
  dispatchEvent(new Event("memory"));
}

export async function show(main) {
  const list = h("ol.changes");
  const end = h("div.end");
  const bar = h("div.row");
  fill(main, page(title, h("p.hint", null, "Every change can be seen here and put back."), bar, list, end));
  let cursor;
  const more = async () => {
    const answer = await call("memory.history", inProject({ limit: 50, ...(cursor && { cursor }) }));
    list.append(...rows(answer).map((change) => item(change, undefined, { withNote: true })));
    cursor = answer.nextCursor;
    fill(end, cursor ? h("button", { type: "button", onclick: more }, "Older changes") : null);
    if (can("memory.undo") && !app.readOnly)
      fill(bar, sessions(rows(answer)).slice(0, 8).map((session) =>
        h("button", { type: "button", onclick: () => undoSession(session).catch(report) }, `Undo session ${session}`)));
    if (!list.children.length) fill(end, empty("No changes yet"));
  };
  const start = () => {
    cursor = undefined;
    list.replaceChildren();
    return more().catch((error) => fill(end, sentence(error)));
  };
  await start();
  return { refresh: start };
}
