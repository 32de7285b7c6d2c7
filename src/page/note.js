// One note: read, edit, move, delete, its history.
import { app, call, can, go, here, inProject, link, report, undo, withParams, writes } from "./app.js";
import { ask, confirm, fill, field, h, keepFocus, looks, toast, unique } from "./dom.js";
import { changesOf } from "./history.js";
import { facts, marked, noteItem, sentence } from "./parts.js";
import { titleOf } from "./text.js";

const changed = () => dispatchEvent(new Event("memory"));
const split = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

// A list of names for a field, so that existing ones can be picked.
async function suggestions(kind) {
  const id = unique("names");
  const { names } = await call("memory.list_names", inProject({ kind, limit: 500 }));
  return h("datalist", { id }, names.map(({ name }) => h("option", { value: name })));
}

// The form of a note; `values` is what it has now, {} for a new one.
async function form(values, { save, cancel }) {
  const groups = await suggestions("group");
  const title = h("input", { value: values.title ?? "", maxlength: 2000, dir: "auto" });
  const text = h("textarea", { rows: 12, required: true, dir: "auto", value: values.text ?? "" });
  const group = h("input", { value: values.groupId ?? "lessons", required: true, list: groups.id, pattern: "[A-Za-z0-9_\\-]+" });
  const tags = h("input", { value: (values.tags ?? []).join(", "), dir: "auto" });
  const source = h("input", { value: values.source ?? "", dir: "auto" });
  const message = h("div");
  const onsubmit = async (event) => {
    event.preventDefault();
    try {
      await save({
        title: title.value || null, text: text.value, groupId: group.value, tags: split(tags.value), source: source.value || null,
      });
    } catch (error) {
      fill(message, sentence(error));
    }
  };
  return h("form.edit", {
    onsubmit,
    onkeydown: (event) => (event.key === "Enter" && (event.ctrlKey || event.metaKey) ? event.currentTarget.requestSubmit() : 0),
  }, field("Title", title), field("Text", text, "Short and clear without the conversation it came from."),
  field("Group", group, "Letters, digits, _ and -; “global” for the whole project."), groups,
  field("Tags", tags, "Separated by commas."), field("Source", source, "A file, a URL, a person."),
  message, h("div.actions", null, h("button.primary", null, "Save"), h("button", { type: "button", onclick: cancel }, "Cancel")));
}

const members = ["title", "text", "groupId", "tags", "source"];
const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

function patchOf(from, to) {
  return Object.fromEntries(members.filter((name) => !same(from[name], to[name])).map((name) => [name, to[name]]));
}

// Asks before a change by somebody else is overwritten.
async function mayOverwrite(note) {
  const now = await call("memory.get", { id: note.id });
  if (!Object.keys(patchOf(note, now)).length) return true;
  return confirm("The note has changed", "Somebody else changed this note while you edited it. Overwrite the members that you changed?", "Overwrite");
}

async function update(note, values) {
  const patch = patchOf(note, values);
  if (!Object.keys(patch).length) return true;
  if (!(await mayOverwrite(note))) return false;
  const answer = await call("memory.update", { id: note.id, patch });
  const back = Object.fromEntries(Object.keys(patch).map((name) => [name, note[name] ?? null]));
  toast(answer.warning ?? "Saved.", "Undo", () => undo(answer.change, () => call("memory.update", { id: note.id, patch: back })));
  changed();
  return true;
}

async function remove(note) {
  const sure = can("memory.undo") || (await confirm("Delete this note?", "The note is deleted for good.", "Delete"));
  if (!sure) return;
  try {
    const answer = await call("memory.delete", { id: note.id });
    location.hash = withParams({ note: "" });
    if (answer.change) toast("Deleted.", "Undo", () => undo(answer.change));
    else toast("Deleted.");
    changed();
  } catch (error) {
    report(error);
  }
}

// Stores a note that replaces this one.
async function supersede(pane, note) {
  const save = async (values) => {
    const answer = await call("memory.add_note", inProject({ ...values, projectId: note.projectId, supersedes: [note.id] }));
    delete pane.dataset.editing;
    toast("The new note replaces the old one.", "Undo", () => undo(answer.change));
    changed();
    location.hash = withParams({ note: answer.id });
  };
  pane.dataset.editing = "yes";
  fill(pane, closer(), h("h2", { tabindex: "-1" }, "Replace this note"), await form(note, { save, cancel: () => show(pane, note.id) }));
  pane.querySelector("h2").focus();
}

export async function create() {
  const pane = document.getElementById("pane");
  const project = h("input", { value: app.project ?? "", required: true });
  const save = async (values) => {
    const projectId = project.value;
    const answer = await call("memory.add_note", { projectId, ...values });
    delete pane.dataset.editing;
    if (answer.duplicate) toast("An equal note exists already.");
    else toast(answer.warning ?? "Stored.", answer.change && can("memory.undo") && "Undo", () => undo(answer.change));
    app.project = answer.canonicalProjectId ?? projectId;
    changed();
    go("notes", { note: answer.id });
  };
  pane.hidden = false;
  pane.dataset.id = "new";
  pane.dataset.editing = "yes";
  const cancel = () => close(pane);
  fill(pane, closer(), h("h2", { tabindex: "-1" }, "New note"));
  const edit = await form({}, { save, cancel });
  edit.prepend(field("Project", project, "The path of a repository, or any name."));
  pane.append(edit);
  pane.querySelector("h2").focus();
}

export function close(pane) {
  pane.hidden = true;
  delete pane.dataset.id;
  delete pane.dataset.editing;
  fill(pane);
  if (here().params.note) location.hash = withParams({ note: "" });
}

function closer() {
  return h("button.quiet.close", { type: "button", "aria-label": "Close the note", onclick: () => close(document.getElementById("pane")) }, "×");
}

// Notes that mean nearly the same, by searching with the text.
async function similar(note) {
  const { results } = await call("memory.search", { projectId: note.projectId, query: note.text.slice(0, 1000), topK: 6, mode: "meaning", explain: true });
  const near = results.filter((hit) => hit.id !== note.id && hit.explain.meaning > 0.75);
  return near.length ? h("section", null, h("h3", null, "Similar notes"), h("ul.notes", null, near.map((hit) =>
    noteItem(hit, {
      extra: h("p.facts", null, `similarity ${hit.explain.meaning.toFixed(2)}`,
        h("a", { href: link("compare", { a: note.id, b: hit.id }), "aria-label": `Compare with ${titleOf(hit)}` }, "Compare")),
    })))) : null;
}

function detail(note, query) {
  const row = (name, value) => (value ? [h("dt", null, name), h("dd", { dir: "auto" }, value)] : null);
  const superseded = note.supersededBy && h("p.state", null, "Superseded: ", h("a", { href: withParams({ note: note.supersededBy }) }, "a newer note"), " replaces this one.");
  return [
    h("h2", { tabindex: "-1", dir: "auto" }, titleOf(note)), facts(note), superseded,
    h("div.body", { dir: "auto" }, marked(note.text, query)),
    h("dl.members", null, row("Source", note.source), row("Session", note.session), row("Key", note.key),
      row("Expires", note.expiresAt), row("Project", note.projectId), row("Id", h("code", null, note.id)),
      note.metadata && row("Metadata", h("pre", null, JSON.stringify(note.metadata, null, 2)))),
  ];
}

function actions(pane, note) {
  const button = (text, run, kind) => h(kind ? `button.${kind}` : "button", { type: "button", onclick: run }, text);
  const edit = async () => {
    const save = async (values) => (await update(note, values)) && show(pane, note.id);
    pane.dataset.editing = "yes"; // before the form is built: a change elsewhere must not replace it
    fill(pane, closer(), h("h2", { tabindex: "-1" }, "Edit"), await form(note, { save, cancel: () => show(pane, note.id) }));
    pane.querySelector("textarea").focus();
  };
  return h("div.actions", null,
    writes("memory.update") && button("Edit", edit),
    writes("memory.history") && button("Replace", () => supersede(pane, note)),
    writes("memory.update") && button("Move", () => move(note)),
    writes("memory.delete") && button("Delete", () => remove(note), "danger"));
}

async function move(note) {
  const names = await suggestions("group");
  const input = h("input", { value: note.groupId, required: true, list: names.id, pattern: "[A-Za-z0-9_\\-]+" });
  const answer = await ask("Move to another group", [field("Group", input), names], [["Cancel", ""], ["Move", "yes", "primary"]]);
  if (answer !== "yes" || !input.value) return;
  try {
    await update(note, { ...note, groupId: input.value });
  } catch (error) {
    report(error);
  }
}

let turn = 0; // of the last call of show

const released = () => new Promise((done) => addEventListener("pointerup", () => setTimeout(done), { once: true }));

// Shows a note in the pane. `quiet`: it is shown again; the pane changes only if the note did, and at once, so
// that neither the focus nor the place in the text is lost when something else changes.
export async function show(pane, id, { quiet = false } = {}) {
  if (quiet && pane.dataset.editing) return;
  pane.hidden = false;
  pane.dataset.id = id;
  delete pane.dataset.editing;
  const mine = ++turn;
  try {
    const note = await call("memory.get", { id });
    if (pane.dataset.id !== id || pane.dataset.editing) return;
    const more = h("div");
    const parts = [closer(), detail(note, here().params.q), actions(pane, note), more];
    if (!quiet) {
      fill(pane, parts);
      pane.querySelector("h2").focus({ preventScroll: true });
    }
    fill(more, can("memory.history") && (await changesOf(note)), await similar(note));
    if (!quiet) return;
    if (pane.matches(":active")) await released(); // a click needs the same button when it is pressed and released
    if (mine !== turn || pane.dataset.id !== id || pane.dataset.editing) return;
    const again = pane.cloneNode();
    fill(again, parts);
    if (looks(again) === looks(pane)) return;
    keepFocus(pane, () => pane.replaceChildren(...again.childNodes), () => pane.querySelector("h2"));
  } catch (error) {
    if (error.name !== "AbortError" && pane.dataset.id === id) fill(pane, closer(), h("h2", { tabindex: "-1" }, "Note"), sentence(error));
  }
}

export const noteLink = (id, text) => h("a", { href: id ? withParams({ note: id }) : link("notes"), dir: "auto" }, text);
