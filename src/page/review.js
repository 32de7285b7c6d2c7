// Notes that wait for review, and what was given to which session.
import { call, inProject, report, withParams, writes } from "./app.js";
import { ask, field, fill, h, toast } from "./dom.js";
import { author, shownDifference } from "./history.js";
import { empty, page, sentence, tagLink, time } from "./parts.js";
import { plural } from "./text.js";

async function decide(method, params, text) {
  try {
    const { warning } = await call(method, params);
    toast(warning ?? text);
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

const accept = (id, text) => decide("memory.review_accept", { ids: [id], ...(text && { text }) }, "Accepted.");

async function change(id, text) {
  const area = h("textarea", { rows: 10, required: true, dir: "auto", value: text });
  const answer = await ask("Change and accept", field("Text", area), [["Cancel", ""], ["Accept", "yes", "primary"]]);
  if (answer === "yes" && area.value) await accept(id, area.value);
}

function waiting({ id, op, params, now, by, at }) {
  const note = op === "update" ? params.patch ?? {} : params;
  const text = note.text ?? "";
  const name = note.title ?? now?.title ?? "Without title";
  return h("li.note", { "data-id": id }, h("h3", { dir: "auto" }, op === "update" ? "Change of " : null, name),
    now && text ? shownDifference(now.text, text) : h("p.text", { dir: "auto" }, text),
    h("p.facts", null, (note.tags ?? []).map(tagLink), h("span", null, author(by)), time(at)),
    writes("memory.review_accept") && h("div.actions", null,
      h("button.primary", { type: "button", "aria-label": `Accept ${name}`, onclick: () => accept(id) }, "Accept"),
      text && h("button", { type: "button", "aria-label": `Change ${name}`, onclick: () => change(id, text) }, "Change"),
      h("button.danger", { type: "button", "aria-label": `Reject ${name}`, onclick: () => decide("memory.review_reject", { ids: [id] }, "Rejected.") }, "Reject")));
}

// A view that shows all items of a method.
async function show(main, view, method, row, list, none) {
  const end = h("div.end");
  fill(main, page(view.title, h("p.hint", null, view.hint), list, end));
  const refresh = async () => {
    try {
      const { items } = await call(method, inProject({ limit: 100 }));
      fill(list, items.map(row));
      fill(end, items.length ? null : empty(none));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await refresh();
  return { refresh };
}

export const queue = {
  title: "Review", needs: "memory.review", hint: "Notes that agents wrote while the setting review is on. Nobody finds them until they are accepted.",
  show: (main) => show(main, queue, "memory.review", waiting, h("ul.notes"), "Nothing waits for review"),
};

const given = ({ to, kind, ids, at }) => h("li.change", null,
  h("p", null, author(to), ` got ${plural(ids.length, "note")} (${kind}) `, time(at)),
  h("ul.ids", null, ids.map((id) => h("li", null, h("a", { href: withParams({ note: id }) }, h("code", null, id.slice(0, 8)))))));

export const injections = {
  title: "Given to agents", needs: "memory.injections", hint: "The notes that hooks, prompts and resources gave to agents.",
  show: (main) => show(main, injections, "memory.injections", given, h("ol.changes"), "Nothing was given to an agent yet"),
};
