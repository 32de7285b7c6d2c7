// Changes of the memory: who changed what, with differences, and undo.
import { app, call, can, go, inProject, link, report, undo, withParams, writes } from "./app.js";
import { confirm, field, fill, h, renew, toast, unique } from "./dom.js";
import { empty, page, sentence, time } from "./parts.js";
import { difference, plural } from "./text.js";

export const title = "History";
export const needs = "memory.history";

const verbs = {
  add: "stored", update: "changed", delete: "deleted", expire: "let expire", forget: "erased",
  group_add: "created a group", group_update: "changed a group", group_delete: "deleted a group",
  global_add: "set a global", global_update: "changed a global", global_delete: "deleted a global",
};
// What a change shows, by the names of the members; others are left out.
const labels = {
  title: "Title", text: "Text", groupId: "Group", tags: "Tags", source: "Source", metadata: "Metadata", projectId: "Project",
  key: "Key", value: "Value", description: "Description", expiresAt: "Expires", supersededBy: "Superseded by",
};
const PAGE = 50;
const ofNote = (op) => ["add", "update", "delete", "expire"].includes(op);

function short(value) {
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
}

// "claude-code 2.1 in session abc": who made a change, as far as is known. Clients name themselves.
export function author(by) {
  const { client, version } = by.claimed ?? {};
  const otherwise = by.transport ? `A client over ${by.transport}` : "Somebody";
  const named = client && can("memory.history") ? h("a", { href: link("history", { client }), dir: "auto" }, client) : client;
  return [h("b", { dir: "auto" }, client ? [named, version && ` ${version}`] : by.user || otherwise), by.session && [" in session ", h("bdi", null, by.session)]];
}

export function shownDifference(before, after) {
  const tags = { removed: "del", added: "ins" };
  return h("div.diff", { dir: "auto" }, difference(before, after).map(([kind, text]) => (tags[kind] ? h(tags[kind], null, text) : text)));
}

// The members that a change set, with their values before and, if `after` is known, after it.
function members({ op, before = {} }, after) {
  const gone = op.endsWith("delete") || op === "expire";
  const names = Object.keys(before).filter((name) => labels[name] && short(before[name]) !== short(after?.[name]));
  return names.filter((name) => !gone || !["title", "projectId"].includes(name)).map((name) => h("div.member", null,
    h("h4", null, labels[name]), after ? shownDifference(short(before[name]), short(after[name])) : h("p.was", { dir: "auto" }, short(before[name]))));
}

// Reports what an undo did, and offers to undo that too.
function said({ change, undone, conflicts }) {
  const left = conflicts?.length ? ` ${plural(conflicts.length, "change")} stayed, because a later one concerns the same.` : "";
  toast(`${plural(undone.length, "change")} undone.${left}`, change && "Redo", () => undo(change));
  dispatchEvent(new Event("memory"));
}

async function forget(id) {
  if (!(await confirm("Erase this note?", "The note and its history are erased for good. This cannot be undone.", "Erase"))) return;
  try {
    const { copies } = await call("memory.forget", { ids: [id] });
    toast(copies.length ? `Erased. Files that may still contain it: ${copies.join(", ")}` : "Erased.");
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

async function undoOne(change) {
  try {
    said(await call("memory.undo", { change: change.change }));
  } catch (error) {
    report(error);
  }
}

// The keys of the groups and globals that were changed, by their ids; of deleted ones, the change has it.
async function keysOf(items) {
  const of = (kind) => items.some(({ op }) => op.startsWith(kind));
  const [{ globals }, { groups }] = await Promise.all([
    of("global_") ? call("memory.list_globals", inProject()) : { globals: [] },
    of("group_") ? call("memory.group_list", inProject()) : { groups: [] },
  ]);
  return new Map([...globals.map(({ id, key }) => [id, key]), ...groups.map(({ id, groupKey }) => [id, groupKey])]);
}

function item(change, after, { withNote, key }) {
  const before = change.before ?? {};
  const about = String(after?.title ?? after?.text ?? before.title ?? before.text ?? before.key ?? "a note").slice(0, 80);
  const gone = change.op === "delete" || change.op === "expire";
  return h("li.change", { "data-change": change.change }, h("p", null, author(change.by), ` ${verbs[change.op] ?? change.op} `,
    withNote && ofNote(change.op) && (gone ? h("bdi", null, about) : h("a", { href: withParams({ note: change.id }), dir: "auto" }, about)),
    !ofNote(change.op) && change.op !== "forget" && h("code", null, before.key ?? before.groupKey ?? key ?? "that is deleted now"),
    " ", time(change.at), change.undoes && " (undo)"),
  members(change, gone ? undefined : after),
  h("div.actions", null,
    writes("memory.undo") && change.op !== "forget" && h("button", { type: "button", onclick: () => undoOne(change) }, "Undo"),
    writes("memory.forget") && gone && h("button.danger", { type: "button", onclick: () => forget(change.id) }, "Erase")));
}

// The history of one note, newest first: going back, each change gives the values before it.
export async function changesOf(note) {
  const answer = await call("memory.history", { id: note.id });
  let after = note;
  const items = answer.items.map((change) => {
    const shown = item(change, after, { withNote: false });
    after = { ...after, ...change.before };
    return shown;
  });
  return h("section", null, h("h3", null, "History"), h("ol.changes", null, items));
}

const sessions = (changes) => [...new Set(changes.map(({ by }) => by.session).filter(Boolean))];

async function undoSession(session) {
  const params = inProject({ session });
  const plan = await call("memory.undo", { ...params, dryRun: true });
  const text = `${plural(plan.undone.length, "change")} of the session ${session} would be undone.`;
  if (await confirm("Undo a session", text, "Undo")) said(await call("memory.undo", params));
}

// What a note was after each of its changes, by their numbers. The list may leave out changes between
// two that it shows, so all changes of the note are read.
async function states(id) {
  const deleted = () => undefined;
  const [now, { items }] = await Promise.all([call("memory.get", { id }).catch(deleted), call("memory.history", { id, limit: 1000 })]);
  const found = new Map();
  items.reduce((after, { change, before }) => {
    found.set(change, after);
    return { ...after, ...before };
  }, now);
  return found;
}

// The clients of the newest changes can be chosen; any other name can be written.
function filter(client) {
  const names = h("datalist", { id: unique("clients") });
  call("memory.history", inProject({ limit: 200 })).then(({ items }) => {
    const clients = new Set(items.map(({ by }) => by.claimed?.client).filter(Boolean));
    fill(names, [...clients].map((name) => h("option", { value: name })));
  }, () => {}); // the list of changes shows the error
  const onchange = (event) => go("history", { client: event.target.value.trim() });
  const input = h("input", { type: "search", value: client ?? "", list: names.id, onchange, dir: "auto", autocomplete: "off" });
  const all = client && h("button", { type: "button", onclick: () => go("history", {}) }, "All clients");
  return { input, bar: h("div.row", null, field("Client", input, "The name that the client gives itself."), names, all) };
}

export async function show(main, { client }, { status }) {
  const list = h("ol.changes");
  const end = h("div.end");
  const bar = h("div.row");
  const after = new Map(); // of each note that is shown: its states
  const { input, bar: clients } = filter(client);
  const focused = main.contains(document.activeElement) && document.activeElement !== main;
  fill(main, page(title, h("p.hint", null, "Every change can be seen here and put back."), clients, bar, list, end));
  if (focused) input.focus();
  let cursor;
  const read = async (limit) => {
    const answer = await call("memory.history", inProject({ limit, ...(client && { client }), ...(cursor && { cursor }) }));
    const ids = new Set(answer.items.filter(({ op, id }) => ofNote(op) && !after.has(id)).map(({ id }) => id));
    await Promise.all([...ids].map(async (id) => after.set(id, await states(id))));
    const keys = await keysOf(answer.items);
    const items = answer.items.map((change) => item(change, after.get(change.id)?.get(change.change), { withNote: true, key: keys.get(change.id) }));
    renew(list, cursor ? [...list.children, ...items] : items);
    cursor = answer.nextCursor;
    fill(end, cursor ? h("button", { type: "button", onclick: () => read(PAGE).catch(report) }, "Older changes") : null);
    if (can("memory.undo") && !app.readOnly)
      fill(bar, sessions(answer.items).slice(0, 8).map((session) =>
        h("button", { type: "button", onclick: () => undoSession(session).catch(report) }, `Undo session ${session}`)));
    if (!list.children.length) fill(end, empty(client ? `No changes by ${client} in this project` : "No changes yet"));
  };
  const start = () => {
    const shown = list.children.length;
    cursor = undefined;
    after.clear();
    return read(Math.min(Math.max(PAGE, shown), 1000)).catch((error) => fill(end, sentence(error)));
  };
  await start();
  if (client) status.textContent = `${plural(list.children.length, "change")} by ${client}`;
  return { refresh: start };
}
