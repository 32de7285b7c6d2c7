// The groups of a project.
import { app, call, inProject, lastChange, link, report, undo, writes } from "./app.js";
import { ask, confirm, field, fill, h, renew, toast } from "./dom.js";
import { empty, noProject, page, sentence } from "./parts.js";
import { plural } from "./text.js";

export const title = "Groups";

// Offers to undo the last change of the group.
async function done(text, id) {
  const change = await lastChange(id);
  toast(text, change && "Undo", () => undo(change));
  dispatchEvent(new Event("memory"));
}

async function edit(group) {
  const key = h("input", { value: group?.groupKey ?? "", required: true, disabled: Boolean(group), pattern: "[A-Za-z0-9_\\-]+" });
  const name = h("input", { value: group?.title ?? "", required: true, dir: "auto" });
  const about = h("textarea", { rows: 4, value: group?.description ?? "", dir: "auto" });
  const answer = await ask(group ? "Change a group" : "New group", [
    field("Key", key, "Notes use it as their group: letters, digits, _ and -."), field("Title", name), field("Description", about)],
  [["Cancel", ""], ["Save", "yes", "primary"]]);
  if (answer !== "yes") return;
  try {
    const members = { title: name.value, description: about.value };
    const { id } = group?.id ? await call("memory.group_update", { id: group.id, patch: members })
      : await call("memory.group_create", inProject({ groupKey: key.value, ...members }));
    await done("Saved.", group?.id ?? id);
  } catch (error) {
    report(error);
  }
}

async function remove(group) {
  if (!(await confirm("Delete this group?", `The title and description of ${group.groupKey} are deleted; its notes stay.`, "Delete"))) return;
  try {
    await call("memory.group_delete", { id: group.id });
    await done("Deleted.", group.id);
  } catch (error) {
    report(error);
  }
}

const row = (group) => h("li.note", null,
  h("h3", { dir: "auto" }, h("a.title", { href: link("notes", { group: group.groupKey }) }, group.title || group.groupKey)),
  group.description && h("p.text", { dir: "auto" }, group.description),
  h("p.facts", null, h("code", null, group.groupKey), plural(group.noteCount, "note")),
  writes("memory.group_update") && h("div.actions", null,
    h("button", { type: "button", "aria-label": `${group.id ? "Change" : "Describe"} ${group.groupKey}`, onclick: () => edit(group) }, group.id ? "Change" : "Describe"),
    group.id && h("button.danger", { type: "button", "aria-label": `Delete ${group.groupKey}`, onclick: () => remove(group) }, "Delete")));

export async function show(main) {
  if (!app.project) {
    fill(main, page(title, noProject()));
    return {};
  }
  const list = h("ul.notes");
  const end = h("div.end");
  const add = writes("memory.group_create") && h("button", { type: "button", onclick: () => edit() }, "New group");
  fill(main, page(title, h("p.hint", null, "Parts of a project, such as lessons or task-7."), add, list, end));
  const read = async () => {
    try {
      const { groups } = await call("memory.group_list", inProject());
      renew(list, groups.map(row));
      fill(end, groups.length ? null : empty("No groups besides “global”"));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await read();
  return { refresh: read };
}
