// Two notes that mean nearly the same, side by side: which words differ, and what becomes of them.
import { call, can, go, here, link, report, undo, writes } from "./app.js";
import { fill, h, toast, unique } from "./dom.js";
import { facts, page, sentence } from "./parts.js";
import { difference, titleOf } from "./text.js";

export const title = "Compare notes";
export const unlisted = true; // reached from a note, not from the navigation

const byAge = (a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1);

// The text of one note; the words of the kind `own` are not in the other one.
const words = (parts, own) => parts.filter(([kind]) => kind === "same" || kind === own)
  .map(([kind, text]) => (kind === own && text.trim() ? h("mark", null, text) : text));

// The same for a screen reader, which does not announce marked words.
function said(parts, own) {
  const list = parts.filter(([kind, text]) => kind === own && text.trim()).map(([, text]) => text.trim());
  return h("p.hidden", null, list.length ? `Only in this note: ${list.join("; ")}` : "All words of this note are in the other one.");
}

function column(name, note, parts, own) {
  const id = unique("compared");
  return h("article", { "aria-labelledby": id, "data-id": note.id },
    h("h2", { id, dir: "auto" }, `${name}: `, h("a", { href: link("notes", { note: note.id }) }, titleOf(note))), facts(note),
    note.source && h("p.facts", { dir: "auto" }, `Source: ${note.source}`),
    note.supersededBy && h("p.state", null, "Superseded: a newer note replaces this one."),
    said(parts, own), h("div.body", { dir: "auto" }, words(parts, own)));
}

// Makes a change, leaves the view for the note that stays, and offers to undo the change.
async function make(text, stays, method, params) {
  try {
    const { change } = await call(method, params);
    toast(text, change && can("memory.undo") && "Undo", () => undo(change));
    go("notes", { note: stays.id });
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

function actions(older, newer) {
  const button = (text, run, kind) => h(kind ? `button.${kind}` : "button", { type: "button", onclick: run }, text);
  const remove = (gone, stays, name) =>
    button(`Delete the ${name}`, () => make(`The ${name} note is deleted.`, stays, "memory.delete", { id: gone.id }), "danger");
  const replaces = writes("memory.update") && can("memory.history") && !older.supersededBy && !newer.supersededBy;
  return h("div.actions", { role: "group", "aria-label": "What becomes of the notes" },
    button("Keep both", () => go("notes", { note: here().params.a })),
    replaces && button("Replace the older by the newer", () => make("The newer note replaces the older one.", newer, "memory.update", { id: newer.id, supersedes: [older.id] }), "primary"),
    writes("memory.delete") && can("memory.undo") && [remove(older, newer, "older"), remove(newer, older, "newer")]);
}

async function read(body) {
  const { a, b } = here().params;
  const [older, newer] = (await Promise.all([a, b].map((id) => call("memory.get", { id: id ?? "" })))).sort(byAge);
  const parts = difference(older.text, newer.text);
  const equal = parts.every(([kind, text]) => kind === "same" || !text.trim());
  fill(body, h("p.hint", null, equal ? "The texts are equal." : "Words that only one of the notes has are marked."),
    actions(older, newer), h("div.compared", null, column("Older", older, parts, "removed"), column("Newer", newer, parts, "added")));
}

export async function show(main) {
  const body = h("div");
  fill(main, page(title, body));
  const refresh = () => read(body).catch((error) => fill(body, sentence(error), h("p", null, h("a", { href: link("notes") }, "To the notes"))));
  await refresh();
  return { refresh };
}
