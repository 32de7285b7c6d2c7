// Many concurrent clients that connect, subscribe, call, cancel and disconnect at random times: every response goes to
// the right client, and the server shuts down cleanly.
//
//   SERVER=build/bin/mcp-conformance node --test tests/mcp/storm.test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { exchange, Listener, request, Stdio } from "./program.mjs";
import { call, initialize, initialized, key, mirror, modernCall, newestLegacy, note, toolCall } from "./words.mjs";

const rounds = 12, clients = 8;

// A random number generator with a fixed seed.
function dice(seed) {
  let state = seed;
  return (n) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * n);
  };
}

const send = (server, message, headers = {}) => request(server, { body: message, headers: { ...mirror(message), ...headers } });

// Reads the whole reply; returns how many responses have the id.
async function answers(answer, id) {
  if (answer.type !== "text/event-stream") {
    const text = await answer.text();
    return text !== "" && JSON.parse(text).id === id ? 1 : 0;
  }
  const all = await answer.listen().inbox.rest();
  return all.filter((one) => one.id === id && !one.method).length;
}

const modernDeeds = [
  async (server, id) => {
    const trigger = toolCall(id, "test_trigger_tool_change");
    assert.equal(await answers(await send(server, trigger), id), 1);
  },
  async (server, id) => {
    const slow = toolCall(id, "test_tool_with_progress", {}, { progressToken: id });
    assert.equal(await answers(await send(server, slow), id), 1);
  },
  async (server, id) => {
    const dropped = await send(server, toolCall(id, "test_tool_with_progress", {}, { progressToken: id }));
    dropped.close();
  },
  async (server, id) => {
    const stream = (await send(server, modernCall(id, "subscriptions/listen", {
      notifications: { toolsListChanged: true, resourceSubscriptions: ["test://watched-resource"] },
    }))).listen();
    assert.equal((await stream.inbox.next()).method, "notifications/subscriptions/acknowledged");
    stream.close();
  },
];

async function modernClient(server, roll, name) {
  for (let i = 0; i < rounds; i++) await modernDeeds[roll(modernDeeds.length)](server, `${name}-${i}`);
}

// A session with a stream of its own, which ends while a call may be open.
async function legacyClient(server, roll, name) {
  for (let i = 0; i < rounds / 3; i++) {
    const begun = await exchange(server, { body: initialize(name, newestLegacy, { elicitation: {} }) });
    const headers = { "Mcp-Session-Id": begun.headers["mcp-session-id"] };
    assert.equal((await exchange(server, { body: initialized, headers })).status, 202);
    const stream = (await request(server, { method: "GET", headers: { ...headers, Accept: "text/event-stream" } })).listen();
    const trigger = call(name, "tools/call", { name: "test_trigger_prompt_change" });
    assert.equal(await answers(await request(server, { body: trigger, headers }), name), 1);
    assert.match((await stream.inbox.next()).method, /list_changed$/);
    const asks = call("ask", "tools/call", { name: "test_input_required_result_elicitation" });
    const asking = (await request(server, { body: asks, headers })).listen();
    const question = await asking.inbox.next();
    assert.equal(question.method, "elicitation/create");
    if (roll(2) === 0) asking.close();
    if (roll(2) === 0) stream.close();
    if (roll(2) === 0) {
      const result = { action: "accept", content: { name } };
      await exchange(server, { body: { jsonrpc: "2.0", id: question.id, result }, headers });
    }
    assert.ok([200, 204].includes((await exchange(server, { method: "DELETE", headers })).status));
    await asking.inbox.rest();
    await stream.inbox.rest();
  }
}

for (const threads of ["1", "4"])
  test(`over HTTP, with ${threads} threads`, async () => {
    const server = await Listener.start(process.env.SERVER, "--auth", "none", "--threads", threads);
    const kinds = [modernClient, legacyClient];
    await Promise.all(Array.from({ length: clients }, (_, i) => kinds[i % 2](server, dice(i + 1), `c${i}`)));
    const list = modernCall("last", "tools/list");
    assert.equal(await answers(await send(server, list), "last"), 1);
    await server.stop();
  });

test("the server stops under load", async () => {
  const server = await Listener.start(process.env.SERVER, "--auth", "none", "--threads", "2");
  const listen = modernCall("l", "subscriptions/listen", { notifications: { toolsListChanged: true } });
  const streams = [];
  for (let i = 0; i < clients; i++) streams.push((await send(server, listen)).listen());
  for (const stream of streams) await stream.inbox.next();
  const begun = await exchange(server, { body: initialize(1, newestLegacy, { elicitation: {} }) });
  const headers = { "Mcp-Session-Id": begun.headers["mcp-session-id"] };
  streams.push((await request(server, { method: "GET", headers: { ...headers, Accept: "text/event-stream" } })).listen());
  const asks = call("ask", "tools/call", { name: "test_input_required_result_elicitation" });
  const asking = (await request(server, { body: asks, headers })).listen();
  await asking.inbox.next();
  await server.stop();
  for (const stream of streams) await stream.inbox.rest();
  await asking.inbox.rest();
});

test("over standard input and output", async () => {
  const server = new Stdio(process.env.SERVER);
  const expected = new Set();
  server.send(initialize("begin"));
  server.send(initialized);
  expected.add("begin");
  for (let i = 0; i < 10 * rounds; i++) {
    if (i % 4 === 0) server.send(modernCall(`l${i}`, "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    server.send(toolCall(`t${i}`, "test_trigger_tool_change"));
    expected.add(`t${i}`);
    if (i % 4 === 3) server.send(note("notifications/cancelled", { requestId: `l${i - 3}` }));
  }
  const tags = new Set();
  while (expected.size > 0) {
    const message = await server.inbox.next();
    if (message.method) tags.add(message.params?._meta?.[key("subscriptionId")]);
    else assert.ok(expected.delete(message.id), `an answer to ${message.id}, which was not asked or is answered already`);
  }
  assert.equal(tags.size, 1 + (10 * rounds) / 4); // undefined is the legacy client
  await server.close();
});
