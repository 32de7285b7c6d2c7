// The settings of a project: keys with JSON values.
import { app, call, inProject, lastChange, report, undo, writes } from "./app.js";
import { ask, confirm, field, fill, h, renew, toast } from "./dom.js";
import { empty, noProject, page, sentence, time } from "./parts.js";

export const title = "Globals";

// Offers to undo the last change of the global, or to put back what was there before.
async function done(text, id, back) {
  const change = await lastChange(id);
  toast(text, (change || back) && "Undo", () => undo(change, back));
  dispatchEvent(new Event("memory"));
}

// A text that is not JSON is stored as a string.
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

async function edit(global) {
  const key = h("input", { value: global?.key ?? "global.project.", required: true, disabled: Boolean(global) });
  const value = h("textarea", { rows: 8, value: global ? textOf(global.value) : "", dir: "auto" });
  const answer = await ask(global ? "Change a global" : "New global", [
    field("Key", key, "Begins with global., such as global.project.conventions."),
    field("Value", value, "A text, or any JSON value.")], [["Cancel", ""], ["Save", "yes", "primary"]]);
  if (answer !== "yes") return;
  try {
    const { id } = await call("memory.upsert_global", inProject({ key: key.value, value: valueOf(value.value) }));
    await done("Saved.", id, global && (() => call("memory.upsert_global", inProject({ key: global.key, value: global.value }))));
  } catch (error) {
    report(error);
  }
}

async function remove(global) {
  if (!(await confirm("Delete this global?", `${global.key} is deleted.`, "Delete"))) return;
  try {
    await call("memory.delete", { id: global.id });
    await done("Deleted.", global.id, () => call("memory.upsert_global", inProject({ key: global.key, value: global.value })));
  } catch (error) {
    report(error);
  }
}

const row = (global) => h("li.note", null, h("h3", null, h("code", null, global.key)),
  h("pre.value", { dir: "auto", tabindex: "0" }, textOf(global.value)), h("p.facts", null, time(global.updatedAt)),
  writes("memory.upsert_global") && h("div.actions", null,
    h("button", { type: "button", "aria-label": `Change ${global.key}`, onclick: () => edit(global) }, "Change"),
    h("button.danger", { type: "button", "aria-label": `Delete ${global.key}`, onclick: () => remove(global) }, "Delete")));

export async function show(main) {
  if (!app.project) {
    fill(main, page(title, noProject()));
    return {};
  }
  const list = h("ul.notes");
  const end = h("div.end");
  const add = writes("memory.upsert_global") && h("button", { type: "button", onclick: () => edit() }, "New global");
  fill(main, page(title, h("p.hint", null, "Settings that every session of this project gets."), add, list, end));
  const read = async () => {
    try {
      const { globals } = await call("memory.list_globals", inProject());
      renew(list, globals.map(row));
      fill(end, globals.length ? null : empty("No globals", h("p", null, "For example global.project.conventions.")));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await read();
  return { refresh: read };
}
