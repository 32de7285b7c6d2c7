// Notes that wait for review, and what was given to which session.
import { call, inProject, lastChange, report, undo, withParams, writes } from "./app.js";
import { ask, confirm, field, fill, h, renew, toast } from "./dom.js";
import { author, shownDifference } from "./history.js";
import { empty, page, sentence, tagLink, time } from "./parts.js";
import { plural, titleOf } from "./text.js";

async function accept(id, text) {
  try {
    const { ids, warning } = await call("memory.review_accept", { ids: [id], ...(text && { text }) });
    const change = await lastChange(ids[0]);
    toast(warning ?? "Accepted.", change && "Undo", () => undo(change));
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

async function reject(id, name) {
  if (!(await confirm("Reject this note?", `“${name}” is discarded for good.`, "Reject"))) return;
  try {
    await call("memory.review_reject", { ids: [id] });
    toast("Rejected.");
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

async function change(id, text) {
  const area = h("textarea", { rows: 10, required: true, dir: "auto", value: text });
  const answer = await ask("Change and accept", field("Text", area), [["Cancel", ""], ["Accept", "yes", "primary"]]);
  if (answer === "yes" && area.value) await accept(id, area.value);
}

function waiting({ id, op, params, now, by, at }) {
  const note = op === "update" ? params.patch ?? {} : params;
  const text = note.text ?? "";
  const name = titleOf({ title: note.title ?? now?.title, text: text || now?.text || "a note" });
  return h("li.note", { "data-id": id }, h("h3", { dir: "auto" }, op === "update" ? "Change of " : null, name),
    now && text ? shownDifference(now.text, text) : h("p.text", { dir: "auto" }, text),
    h("p.facts", null, (note.tags ?? []).map(tagLink), h("span", null, author(by)), time(at)),
    writes("memory.review_accept") && h("div.actions", null,
      h("button.primary", { type: "button", "aria-label": `Accept ${name}`, onclick: () => accept(id) }, "Accept"),
      text && h("button", { type: "button", "aria-label": `Change ${name}`, onclick: () => change(id, text) }, "Change"),
      h("button.danger", { type: "button", "aria-label": `Reject ${name}`, onclick: () => reject(id, name) }, "Reject")));
}

const PAGE = 100;
const MOST = 1000; // that a call returns

// A view that shows the items of a method. `rows` makes the items of the list from them.
async function show(main, view, method, rows, list, none) {
  const end = h("div.end");
  fill(main, page(view.title, h("p.hint", null, view.hint), list, end));
  let limit = PAGE;
  const more = () => {
    limit = Math.min(limit + PAGE, MOST);
    return refresh();
  };
  const refresh = async () => {
    try {
      const { items } = await call(method, inProject({ limit }));
      renew(list, await rows(items));
      fill(end, items.length ? items.length === limit && limit < MOST && h("button", { type: "button", onclick: more }, "More") : empty(none));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await refresh();
  return { refresh };
}

export const queue = {
  title: "Review", needs: "memory.review", hint: "Notes that agents wrote while the setting review is on. Nobody finds them until they are accepted.",
  show: (main) => show(main, queue, "memory.review", (items) => items.map(waiting), h("ul.notes"), "Nothing waits for review"),
};

// The titles of notes by their ids, without those that were deleted.
async function titles(ids) {
  const found = await Promise.all([...new Set(ids)].map((id) => call("memory.get", { id }).then((note) => [id, titleOf(note)], () => [id])));
  return new Map(found);
}

const given = (names) => ({ to, kind, ids, at }) => h("li.change", null,
  h("p", null, author(to), ` got ${plural(ids.length, "note")} (${kind}) `, time(at)),
  h("ul.ids", null, ids.map((id) => h("li", null, names.get(id) ? h("a", { href: withParams({ note: id }), dir: "auto" }, names.get(id))
    : h("span", null, "a deleted note ", h("code", null, id.slice(0, 8)))))));

async function allGiven(items) {
  const names = await titles(items.flatMap(({ ids }) => ids));
  return items.map(given(names));
}

export const injections = {
  title: "Given to agents", needs: "memory.injections", hint: "The notes that hooks, prompts and resources gave to agents.",
  show: (main) => show(main, injections, "memory.injections", allGiven, h("ol.changes"), "Nothing was given to an agent yet"),
};
