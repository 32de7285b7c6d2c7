// All projects: how much they have; rename, merge and delete where the server can.
import { app, call, can, go, report, writes } from "./app.js";
import { ask, confirm, field, fill, h, renew, toast } from "./dom.js";
import { empty, page, sentence, time } from "./parts.js";
import { plural } from "./text.js";

export const title = "Projects";

const changed = () => dispatchEvent(new Event("memory"));

// Makes the call, and the calls for what its time limit leaves; offers to undo all of them.
async function run(text, method, params, rest = [method, params]) {
  try {
    const answers = [];
    answers.push(await call(method, params));
    while (answers.at(-1).more) answers.push(await call(...rest));
    toast(text, can("memory.undo") && "Undo", () => undoAll(answers));
    changed();
  } catch (error) {
    report(error);
  }
}

async function undoAll(answers) {
  try {
    for (const { change } of answers.reverse()) await call("memory.undo", { change });
    toast("Undone.");
    changed();
  } catch (error) {
    report(error);
  }
}

async function rename(name) {
  const to = h("input", { value: name, required: true, dir: "auto" });
  const answer = await ask("Rename a project", field("New name", to, "The path of a repository, or any name."), [["Cancel", ""], ["Rename", "yes", "primary"]]);
  if (answer === "yes" && to.value !== name) await run("Renamed.", "memory.project_rename", { projectId: name, to: to.value }, ["memory.project_merge", { projectId: name, into: to.value }]);
}

async function merge(name) {
  const into = h("select", null, app.projects.filter((other) => other.name !== name).map((other) => h("option", { value: other.name }, other.name)));
  const answer = await ask("Merge a project", field(`Move all notes of ${name} into`, into), [["Cancel", ""], ["Merge", "yes", "primary"]]);
  if (answer === "yes" && into.value) await run("Merged.", "memory.project_merge", { projectId: name, into: into.value });
}

async function remove({ name, notes }) {
  if (await confirm("Delete this project?", `${plural(notes, "note")} of ${name}, its groups and its globals are deleted.`, "Delete"))
    await run("Deleted.", "memory.project_delete", { projectId: name });
}

function row(project) {
  const { name, notes } = project;
  const button = (text, method, act, kind) => writes(method) && h(kind ? `button.${kind}` : "button", { type: "button", "aria-label": `${text} ${name}`, onclick: () => act() }, text);
  return h("li.note", null,
    h("h3", { dir: "auto" }, h("button.title", { type: "button", onclick: () => { app.project = name; dispatchEvent(new Event("project")); go("notes"); } }, name)),
    h("p.facts", null, plural(notes, "note"), project.changedAt && time(project.changedAt), project.remote && h("code", null, project.remote), name === app.project && h("span.state", null, "chosen")),
    h("div.actions", null, button("Rename", "memory.project_rename", () => rename(name)),
      app.projects.length > 1 && button("Merge", "memory.project_merge", () => merge(name)),
      button("Delete", "memory.project_delete", () => remove(project), "danger")));
}

async function list() {
  if (!can("memory.project_list")) return app.projects;
  const answer = await call("memory.project_list", {});
  return answer.projects.map((project) => ({ ...project, name: project.projectId }));
}

export async function show(main) {
  const all = h("ul.notes");
  const end = h("div.end");
  fill(main, page(title, all, end));
  const read = async () => {
    try {
      const projects = await list();
      renew(all, projects.map(row));
      fill(end, projects.length ? null : empty("No projects yet"));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await read();
  return { refresh: read };
}
