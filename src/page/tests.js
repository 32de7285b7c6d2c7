// Memory tests: questions with the notes that a search must find, from the file of `fumi test`, which the
// browser reads. The states are those of `fumi test`.
import { app, call, withParams } from "./app.js";
import { fill, field, h } from "./dom.js";
import { empty, noProject, page, sentence } from "./parts.js";
import { plural, titleOf } from "./text.js";

export const title = "Memory tests";

const DEPTH = 100; // results that are read
const WITHIN = 5; // a note may fall to this rank

// From best to worst: the state of a question is the last of those of its notes.
const states = ["ok", "better", "absent", "worse", "lost"];
const colors = { ok: "high", better: "high", absent: "low", worse: "none", lost: "none" };
const worst = (notes) => notes.map(({ state }) => state).reduce((a, b) => (states.indexOf(b) > states.indexOf(a) ? b : a), "ok");

function judge(pinned, rank, deleted) {
  if (!rank) return pinned || deleted ? "lost" : "absent";
  if (!pinned || rank < pinned) return "better";
  return rank > Math.max(pinned, WITHIN) ? "worse" : "ok";
}

let file; // { name, questions } of this visit

function readLine(line) {
  const { question, notes, project } = JSON.parse(line);
  if (typeof question !== "string" || !question.trim()) throw new Error("question must be a text");
  if (!Array.isArray(notes) || !notes.length) throw new Error("notes must be a list with at least one note");
  if (!notes.every((note) => typeof note?.id === "string")) throw new Error("each of notes must have an id");
  return { question, notes, project };
}

// The questions of a file. Nothing is searched if a line is invalid.
function parse(text) {
  const faults = [];
  const questions = text.split("\n").flatMap((line, i) => {
    if (!line.trim()) return [];
    try {
      return readLine(line);
    } catch (error) {
      faults.push(`line ${i + 1}: ${error.message}`);
      return [];
    }
  });
  if (faults.length) throw new Error(`The file is not that of fumi test: ${faults.slice(0, 5).join("; ")}`);
  if (!questions.length) throw new Error("The file has no questions: pin one with fumi test add.");
  return questions;
}

// The note, and whether it was deleted.
async function find(id) {
  try {
    return { note: await call("memory.get", { id }), deleted: false };
  } catch (error) {
    if (error.code !== -32003) throw error;
    return { deleted: true };
  }
}

async function look(pin, hits) {
  const rank = hits.findIndex(({ id }) => id === pin.id) + 1;
  const { note, deleted } = rank ? { note: hits[rank - 1], deleted: false } : await find(pin.id);
  return { pin, rank, deleted, name: note ? titleOf(note) : pin.text ?? pin.id, state: judge(pin.rank, rank, deleted) };
}

async function ask({ question, notes, project }) {
  const { results, meta } = await call("memory.search", { projectId: project ?? app.project, query: question, topK: DEPTH });
  const found = [];
  for (const pin of notes) found.push(await look(pin, results));
  return { question, notes: found, state: worst(found), warning: meta.warning };
}

function place({ pin, rank, deleted }) {
  const now = rank ? `rank ${rank}` : deleted ? "deleted" : `not among the first ${DEPTH}`;
  return `${now}, ${pin.rank ? `was ${pin.rank}` : "was not found"}`;
}

const row = ({ question, notes, state }) => h("li.note", { "data-state": state },
  h("p.verdict", { class: `verdict ${colors[state]}` }, state), h("h3", { dir: "auto" }, question),
  h("ul.pins", null, notes.map((note) => h("li", null,
    note.deleted ? h("bdi", null, note.name) : h("a", { href: withParams({ note: note.pin.id }), dir: "auto" }, note.name),
    h("span.facts", null, place(note))))));

const summary = (done) => `${plural(done.length, "question")}: ${states
  .map((state) => [state, done.filter((one) => one.state === state).length])
  .filter(([state, n]) => n || state !== "absent").map(([state, n]) => `${n} ${state}`).join(", ")}.`;

export async function show(main, params, { status }) {
  if (!app.project) {
    fill(main, page(title, noProject()));
    return {};
  }
  const choose = h("input", { type: "file", accept: ".jsonl" });
  const again = h("button", { type: "button", hidden: true }, "Run again");
  const said = h("div");
  const list = h("ul.notes");
  let turn = 0;
  const run = async () => {
    const mine = ++turn;
    const done = [];
    fill(list);
    try {
      for (const question of file.questions) {
        fill(said, h("p", null, `Searching: ${done.length} of ${plural(file.questions.length, "question")}.`));
        const one = await ask(question);
        if (mine !== turn) return;
        done.push(one);
        list.append(row(one));
      }
      const { warning } = done.find((one) => one.warning) ?? {};
      fill(said, h("p", null, h("b", null, `${file.name}. ${summary(done)}`)), warning && h("p.error", null, warning));
      status.textContent = summary(done);
    } catch (error) {
      if (mine === turn) fill(said, sentence(error));
    }
  };
  choose.addEventListener("click", () => { choose.value = ""; }); // the same file can be chosen again
  choose.addEventListener("change", async () => {
    const [chosen] = choose.files;
    if (!chosen) return;
    try {
      file = { name: chosen.name, questions: parse(await chosen.text()) };
      again.hidden = false;
      await run();
    } catch (error) {
      fill(list);
      fill(said, sentence(error));
    }
  });
  again.addEventListener("click", run);
  again.hidden = !file;
  fill(main, page(title, h("p.hint", null, "Whether a search still finds what it found: after an import, an upgrade or a change of the model."),
    field("File", choose, "fumi-tests.jsonl of a repository. It stays in this browser, which only searches."), again, said, list));
  if (file) await run();
  else fill(said, empty("No questions yet", h("p", null, "Pin one with ", h("code", null, "fumi test add \"QUESTION\" ID"), ", then open the file here.")));
  return {};
}
