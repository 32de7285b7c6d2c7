// Answers with maxTokens: the best note is always there, and no published tokenizer needs more tokens for the answer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { counts, tokenizers } from "./count.mjs";
import { Server } from "./server.mjs";
import { many, prose, random } from "./texts.mjs";

const budgets = [60, 75, 100, 150, 250, 400, 700, 1200, 2000, 4000];
const words = prose.english.split(/\s+/);
const filler = (n) => many(n, () => words[Math.floor(random() * words.length)]).join(" ");
const characters = [...prose.japanese.replace(/\s/g, "")];
const fillerJa = (n) => many(n, () => characters[Math.floor(random() * characters.length)]).join("");

// Each project has one note with the answer, and others that share a word with the question.
const projects = {
  short: { query: "which port does the billing gateway use", word: "8443", rest: () => `The gateway: ${filler(8)}`,
    best: { text: "The billing gateway listens on port 8443." } },
  long: { query: "which port does the billing gateway use", word: "8443", rest: () => `The gateway. ${filler(1500)}`,
    best: { text: `${filler(900)} The billing gateway listens on port 8443. ${filler(900)}` } },
  mixed: { query: "which port does the billing gateway use", word: "8443", rest: (i) => `The gateway: ${filler(i % 2 ? 6 : 700)}`,
    best: { title: "Ports", tags: ["ops", "billing"], source: "https://example.org/wiki/ports#gateway",
      text: `${filler(200)} The billing gateway listens on port 8443. ${filler(100)}` } },
  heavy: { query: "which port does the billing gateway use", word: "8443", rest: () => filler(30),
    best: { text: "The billing gateway listens on port 8443.", title: filler(60), tags: many(40, (_, i) => `tag-${i}`),
      metadata: { list: many(2000, (_, i) => `value ${i}`) } } },
  japanese: { query: "課金ゲートウェイのポート番号", word: "8443", rest: () => fillerJa(300),
    best: { text: `${fillerJa(700)}課金ゲートウェイのポート番号は8443です。${fillerJa(700)}` } },
};

const server = new Server();
before(async () => {
  await server.initialize();
  for (const [projectId, { best, rest }] of Object.entries(projects)) {
    const add = (note) => server.call("memory.add_note", { projectId, groupId: "global", ...note });
    for (let i = 0; i < 12; i++) await add({ text: rest(i) });
    projects[projectId].id = (await add(best)).id;
    for (let i = 0; i < 12; i++) await add({ text: rest(i) });
  }
});
after(() => server.end());

function within(text, budget) {
  const [counted] = counts([text]);
  assert.ok(counted <= budget, `${counted} tokens counted, ${budget} permitted: ${text}`);
  for (const [name, tokens] of Object.entries(tokenizers))
    assert.ok(tokens(text) <= budget, `${tokens(text)} tokens of ${name}, ${budget} permitted`);
  return counted;
}

for (const [projectId, { query, word }] of Object.entries(projects))
  for (const maxTokens of budgets) {
    test(`memory_search, ${projectId} notes, ${maxTokens} tokens`, async () => {
      const { object, text } = await server.tool("memory_search", { projectId, query, topK: 8, maxTokens });
      within(text, maxTokens);
      assert.deepEqual(JSON.parse(text), object);
      const [first, ...more] = object.results;
      assert.ok(projects[projectId].id.startsWith(first.id), "the best note is first");
      const match = maxTokens < 150 ? /billing|gateway|課金/ : word;
      assert.ok(first.text.match(match), `the text is cut around the match: ${first.text}`);
      assert.equal(1 + more.length + (object.meta.omitted ?? 0), 8);
      assert.ok(more.every(({ score }, i) => score <= (more[i - 1] ?? first).score));
    });
    test(`memory.search, ${projectId} notes, ${maxTokens} tokens`, async () => {
      const result = await server.call("memory.search", { projectId, query, topK: 8, maxTokens });
      within(JSON.stringify(result), maxTokens);
      assert.ok(projects[projectId].id.startsWith(result.results[0].id) && result.results[0].text.length);
    });
    test(`memory_list_recent, ${projectId} notes, ${maxTokens} tokens`, async () => {
      const ids = [];
      let cursor;
      do {
        const { object, text } = await server.tool("memory_list_recent", { projectId, limit: 8, maxTokens, cursor });
        within(text, maxTokens);
        assert.ok(object.items.length, "a page is never empty");
        ids.push(...object.items.map(({ id }) => id));
        cursor = object.nextCursor;
      } while (cursor);
      assert.equal(new Set(ids).size, 25, "all pages together have all notes");
    });
  }

// Of a part, `passage` names the bytes.
test("passage gives the bytes of the text", async () => {
  const { query, id } = projects.long;
  const { text: whole } = await server.call("memory.get", { id });
  for (const maxTokens of budgets) {
    const { object } = await server.tool("memory_search", { projectId: "long", query, maxTokens });
    const [{ text, passage }] = object.results;
    if (maxTokens >= 4000) assert.equal(text, whole);
    else assert.equal(Buffer.from(whole).subarray(passage.begin, passage.end).toString(), text);
  }
});

test("a tool has a budget if none is given", async () => {
  for (let i = 0; i < 5; i++) await server.call("memory.add_note", { projectId: "huge", groupId: "global", text: `Gateway. ${filler(16000)}` });
  const search = await server.tool("memory_search", { projectId: "huge", query: "gateway" });
  const list = await server.tool("memory_list_recent", { projectId: "huge" });
  assert.ok(within(search.text, 2000) > 500 && within(list.text, 2000) > 500);
  assert.equal(list.object.items.length, 5);
  assert.ok((await server.tool("memory_list_recent", { projectId: "huge", maxTokens: 0 })).text.length > 400000);
  assert.ok(JSON.stringify(await server.call("memory.search", { projectId: "huge", query: "gateway" })).length > 400000);
});

test("a large budget is used", async () => {
  const { query } = projects.mixed;
  for (const maxTokens of [1200, 2000, 4000]) {
    const { text } = await server.tool("memory_search", { projectId: "mixed", query, topK: 20, maxTokens });
    assert.ok(within(text, maxTokens) > maxTokens * 0.75);
  }
});

test("a resource is found by a short id", async () => {
  const { object } = await server.tool("memory_search", { projectId: "short", query: projects.short.query, topK: 1 });
  const [{ id, text }] = object.results;
  const { contents } = await server.call("resources/read", { uri: `memory://note/${id}` });
  assert.ok(id.length < 12 && contents[0].text.includes(text));
});
