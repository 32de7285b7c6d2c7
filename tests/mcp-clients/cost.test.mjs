// The context size for a model: bytes and approximate tokens of the lists and of a typical result.
import assert from "node:assert/strict";
import { Lines, modern } from "./lines.mjs";
import { scratch, test } from "./server.mjs";
import { projectId } from "./talk.mjs";

const coreLimit = 8000;

function say(context, what, bytes) {
  context.diagnostic(`${what}: ${bytes} bytes, about ${Math.ceil(bytes / 4)} tokens`);
}

const size = (value) => Buffer.byteLength(JSON.stringify(value));

for (const [tools, limit] of [["core", coreLimit], ["all", Infinity]])
  test(`tools/list of --tools ${tools}`, async (context) => {
    const lines = Lines.start(scratch(context), "--tools", tools);
    const { instructions = "" } = await lines.initialize();
    const first = await lines.ask("tools/list", {}, "list");
    const bytes = size(first.result.tools);
    say(context, `tools/list, ${tools}, ${first.result.tools.length} tools`, bytes);
    say(context, "instructions", Buffer.byteLength(instructions));
    assert.ok(bytes < limit, `${bytes} bytes; ${limit} is the limit`);
    assert.ok(instructions.length > 0 && instructions.length < 2000);
    await sameEverywhere(context, tools, first, lines);
  });

// The list has the same bytes on this connection and in another process with another, non-empty store.
async function sameEverywhere(context, tools, first, lines) {
  assert.equal((await lines.ask("tools/list", {}, "list")).line, first.line);
  const other = Lines.start(scratch(context), "--tools", tools);
  await other.initialize("2024-11-05");
  await other.call("memory_add_note", { projectId, groupId: "global", text: "something" });
  assert.equal((await other.ask("tools/list", {}, "list")).line, first.line);
  assert.deepEqual((await other.result("tools/list", modern())).tools, first.result.tools);
}

const memories = [
  ["Package manager", "The user wants pnpm in all JavaScript repositories; npm is only for publishing.", ["rule"]],
  ["Commit style", "Commits are small, in the imperative, and never mention ticket numbers.", ["rule", "git"]],
  ["Database choice", "We decided on SQLite rather than Postgres, because the tool runs on laptops without a service.", ["decision"]],
  ["Flaky test", "test_upload fails when the clock jumps; cause: wall clock in a timeout. Cure: use the monotonic clock.", ["issue", "done"]],
  ["Release day", "Releases are cut on Tuesdays before noon, so that somebody is awake when they fail.", ["rule"]],
  ["Staging access", "Staging is reached through the jump host; the certificate is renewed every first Monday.", ["ops"]],
  ["Naming", "Handlers are called on_*, callbacks *_done; the reviewer asked for it twice.", ["rule", "important"]],
  ["Search research", "Reciprocal rank fusion with k = 60 was as good as tuned weights in our trial of 400 queries.", ["decision", "search"]],
];

test("a typical search", async (context) => {
  const lines = Lines.start(scratch(context));
  await lines.initialize();
  for (const [title, text, tags] of memories)
    await lines.call("memory_add_note", { projectId, groupId: "global", title, text, tags });
  const params = { name: "memory_search", arguments: { projectId, query: "which database did we choose, and why" } };
  const { content, structuredContent } = await lines.result("tools/call", params);
  say(context, `answer of a search with ${structuredContent.results.length} notes, structured`, size(structuredContent));
  say(context, "the same as text", Buffer.byteLength(content[0].text));
  assert.ok(size(structuredContent) < 4 * 1000, "more than about 1,000 tokens");
  assert.equal(structuredContent.results[0].title, "Database choice");
});
