// Notes that wait for review, and what was given to which session.
import { call, inProject, report, withParams } from "./app.js";
import { fill, h, toast } from "./dom.js";
import { author, shownDifference } from "./history.js";
import { empty, page, sentence, time } from "./parts.js";

export const title = "Review";
export const needs = "memory.review";

async function decide(method, ids) {
  try {
    await call(method, { ids });
    toast(method.endsWith("accept") ? "Accepted." : "Rejected.");
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}

function waiting(row) {
  const body = row.params ?? row.body ?? row;
  const text = body.text ?? body.patch?.text ?? "";
  return h("li.note", null, h("h3", { dir: "auto" }, body.title ?? body.patch?.title ?? "Without title"),
    row.current ? shownDifference(row.current.text ?? "", text) : h("p.text", { dir: "auto" }, text),
    h("p.facts", null, author(row), time(row.at ?? row.createdAt)),
    h("div.actions", null,
      h("button.primary", { type: "button", onclick: () => decide("memory.review_accept", [row.id]) }, "Accept"),
      h("button", { type: "button", onclick: () => decide("memory.review_reject", [row.id]) }, "Reject")));
}

export async function show(main) {
  const list = h("ol.notes");
  const end = h("div.end");
  fill(main, page(title, h("p.hint", null, "Notes that agents stored while the setting review is on. They are not found until they are accepted."), list, end));
  const read = async () => {
    try {
      const answer = await call("memory.review", inProject({ limit: 100 }));
      const rows = answer.items ?? answer.reviews ?? answer.notes ?? [];
      fill(list, rows.map(waiting));
      fill(end, rows.length ? null : empty("Nothing waits for review"));
    } catch (error) {
      fill(end, sentence(error));
    }
  };
  await read();
  return { refresh: read };
}

function given(row) {
  return h("li.change", null, h("p", null, author(row), ` got ${row.ids.length} notes (${row.kind}) `, time(row.at)),
    h("ul", null, row.ids.map((id) => h("li", null, h("a", { href: withParams({ note: id }) }, id.slice(0, 8))))));
}

export const injections = {
  title: "Given to agents",
  needs: "memory.injections",
  async show(main) {
    const list = h("ol.changes");
    fill(main, page(injections.title, h("p.hint", null, "The notes that hooks and prompts gave to sessions."), list));
    const read = async () => {
      const answer = await call("memory.injections", inProject({ limit: 100 }));
      const rows = answer.injections ?? answer.items ?? [];
      fill(list, rows.length ? rows.map(given) : empty("Nothing was given yet"));
    };
    await read().catch((error) => fill(list, sentence(error)));
    return { refresh: read };
  },
};
