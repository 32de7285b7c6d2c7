// Search as you type: the real search, with what it found and why.
import { app, call, can, go, here, inProject, withParams } from "./app.js";
import { h, fill, field, keepFocus } from "./dom.js";
import { empty, gauge, noteItem, page, sentence, noProject } from "./parts.js";
import { byteSlice, dayName, number, percent, plural } from "./text.js";

export const title = "Search";

let running; // the AbortController of the last search

function why(hit) {
  const e = hit.explain;
  if (!e) return null;
  const row = (name, value, meaning) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value), h("td", null, meaning));
  const rank = (n, what) => (n ? `rank ${n} of the notes found by ${what}` : `not found by ${what}`);
  const passage = e.passage && e.passage.end > e.passage.begin && hit.text.length > 600
    ? h("blockquote", { dir: "auto" }, byteSlice(hit.text, e.passage.begin, e.passage.end)) : null;
  return h("details.why", null, h("summary", null, "Why this note"),
    h("table", null, h("tbody", null,
      row("Relevance", percent(hit.relevance), "how likely the note answers the query"),
      row("Words", e.wordsRank ? percent(e.share) : "–", rank(e.wordsRank, "word") + (e.wordsRank ? `; share of the words of the query, BM25 ${e.words.toFixed(2)}` : "")),
      row("Meaning", e.meaningRank ? e.meaning.toFixed(2) : "–", rank(e.meaningRank, "meaning") + (e.meaningRank ? "; cosine of the best passage" : "")),
      row("Neighbours", e.neighbours ? `+${e.neighbours.toFixed(2)}` : "–", "from the notes before and after it in its session"),
      row("Date", e.time ? `+${e.time.toFixed(2)}` : "–", "from a date that the query names"),
      row("Score", hit.score.toFixed(2), "order within this answer"))),
    passage && [h("p", null, "The best passage:"), passage]);
}

function filteredLine(meta) {
  const f = meta.filtered;
  const out = [[f.byGroup, "group"], [f.byTags, "tags"], [f.byTime, "time"], [f.superseded, "being superseded"]]
    .filter(([n]) => n).map(([n, what]) => `${number(n)} by ${what}`);
  const below = meta.belowMinScore ? ` ${plural(meta.belowMinScore, "candidate")} below the minimum.` : "";
  return `Searched ${number(f.left)} of ${plural(f.inProject, "note")}${out.length ? `; excluded ${out.join(", ")}` : ""}.${below}`;
}

const verdicts = {
  high: "Relevant notes found.",
  low: "These notes may answer the query.",
  none: "Nothing relevant: no note answers this query.",
};

function results(answer, params, ms) {
  const { meta } = answer;
  const times = (meta.time ?? []).map((t) => h("p.hint", null, `“${t.words}” was read as ${dayName(t.since)} to ${dayName(new Date(new Date(t.until) - 1))}.`));
  const none = meta.confidence === "none";
  return [
    h("p.verdict", { class: `verdict ${meta.confidence}` }, verdicts[meta.confidence]),
    none && answer.results.length > 0 && h("p.hint", null, "The nearest notes, in case one helps:"),
    meta.warning && h("p.error", null, meta.warning),
    meta.pending > 0 && h("p.hint", null, `${plural(meta.pending, "note")} found by word only until vectors are computed.`),
    times,
    h("ol.notes", { class: none ? "notes faint" : "notes" }, answer.results.map((hit) => noteItem(hit, {
      query: params.q, selected: hit.id === params.note,
      extra: h("div.reason", null, gauge(hit.relevance, "relevance"),
        hit.supersededBy && h("span.state", null, "superseded"), why(hit)),
    }))),
    (meta.nearMisses ?? []).length > 0 && h("section", null, h("h2", null, "Near misses"),
      h("ul.notes.faint", null, meta.nearMisses.map((miss) => h("li.note", null, h("h3", null,
        h("a.title", { href: withParams({ note: miss.id }), dir: "auto" }, miss.title || miss.text)), h("p.text", { dir: "auto" }, miss.text), gauge(miss.relevance, "relevance"))))),
    h("p.hint", null, `${filteredLine(meta)} ${Math.max(1, Math.round(ms))} ms.`),
  ];
}

function limits(params) {
  const limit = {};
  if (params.group) limit.groupId = params.group;
  if (params.tag) limit.tags = [params.tag];
  if (params.since) limit.since = new Date(params.since).toISOString();
  if (params.until) limit.until = new Date(new Date(params.until).getTime() + 86400000).toISOString();
  if (params.mode) limit.mode = params.mode;
  if (params.old) limit.includeSuperseded = true;
  return limit;
}

// Shows results; what was opened stays open.
function put(list, shown) {
  const opened = [...list.querySelectorAll("details.why[open]")].map((why) => why.closest("li").dataset.id);
  keepFocus(list, () => {
    fill(list, shown);
    for (const why of list.querySelectorAll("details.why")) why.open = opened.includes(why.closest("li").dataset.id);
  }, () => list.querySelector("a.title"));
}

async function search(params, list, status) {
  running?.abort();
  running = new AbortController();
  const began = performance.now();
  try {
    const answer = await call("memory.search", inProject({ query: params.q, topK: 20, explain: true, ...limits(params) }), running);
    put(list, results(answer, params, performance.now() - began));
    status.textContent = `${plural(answer.results.length, "result")}. ${verdicts[answer.meta.confidence]}`;
  } catch (error) {
    if (error.name !== "AbortError") fill(list, sentence(error));
  }
}

async function options(kind, chosen) {
  const { names } = await call("memory.list_names", inProject({ kind, limit: 500 }));
  const all = names.map(({ name }) => name);
  if (chosen && !all.includes(chosen)) all.push(chosen);
  return ["", ...all];
}

const choose = (name, value, values, text) => h("select", {
  value, onchange: (event) => go("search", { ...here().params, [name]: event.target.value, note: "" }),
}, values.map((item) => h("option", { value: item, selected: item === (value ?? "") }, text?.[item] ?? (item || "Any"))));

async function filters(params) {
  const set = (name) => (event) => go("search", { ...here().params, [name]: event.target.value, note: "" });
  const open = ["group", "tag", "since", "until", "mode", "old"].some((name) => params[name]);
  return h("details.filters", { open }, h("summary", null, "Filters"), h("div.row", null,
    field("Group", choose("group", params.group, await options("group", params.group))),
    field("Tag", choose("tag", params.tag, await options("tag", params.tag))),
    field("From", h("input", { type: "date", value: params.since ?? "", onchange: set("since") })),
    field("To", h("input", { type: "date", value: params.until ?? "", onchange: set("until") })),
    can("memory.history") && field("Superseded notes", choose("old", params.old, ["", "yes"], { "": "Left out", yes: "Included" })),
    field("Search by", choose("mode", params.mode, ["", "meaning", "words"], { "": "Meaning and words", meaning: "Meaning", words: "Words" }))));
}

// Returns { refresh }; `status` is read by screen readers.
export async function show(main, params, { status }) {
  if (!app.project) {
    fill(main, page("Search", noProject()));
    return {};
  }
  const list = h("div.results");
  fill(main, page(title, await filters(params), list));
  if (!params.q) {
    fill(list, empty("Search the memory", h("p", null, "Type a question or words in the field above. Press / to go there.")));
    return {};
  }
  await search(params, list, status);
  return {
    refresh: () => search(here().params, list, { textContent: "" }),
    // The next query in the same view.
    update: (next) => (next.q && ["group", "tag", "since", "until", "mode", "old"].every((k) => next[k] === params[k]) ? (params = next, search(next, list, status), true) : false),
  };
}
