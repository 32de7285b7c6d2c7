// Legacy HTTP messages to mcp-conformance: the handshake, sessions and their streams, responses, batches.
//
//   SERVER=build/bin/mcp-conformance node --test tests/mcp/sessions.test.mjs
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { accepted, post, refused, server, Session, taken, send } from "./probe.mjs";
import { exchange } from "./program.mjs";
import { call, initialize, initialized, legacy, modern, modernCall, newestLegacy, note } from "./words.mjs";

describe("legacy: the handshake", () => {
  for (const version of legacy)
    test(`${version} is supported`, async () => {
      const { result, headers } = await Session.open(version);
      assert.equal(result.protocolVersion, version);
      assert.match(headers["Mcp-Session-Id"], /^[\x21-\x7e]{22,}$/);
      assert.equal(result.serverInfo.name, "mcp-conformance");
    });

  for (const version of ["2099-01-01", modern, "1.0"])
    test(`a request for ${version} gets ${newestLegacy}`, async () => {
      assert.equal((await Session.open(version)).result.protocolVersion, newestLegacy);
    });

  test("capabilities and instructions", async () => {
    const { result } = await Session.open();
    assert.deepEqual(result.capabilities, {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    });
    assert.equal(typeof result.instructions, "string");
  });

  test("with a modern header: 400, -32020", async () => {
    refused(await post(initialize(1), { "MCP-Protocol-Version": modern }), 400, -32020, 1);
  });

  test("with a legacy header: accepted", async () => {
    accepted(await post(initialize(1), { "MCP-Protocol-Version": newestLegacy }), 1);
  });

  test("a second one in a session: 400, -32600", async () => {
    refused(await (await Session.open()).post(initialize(2)), 400, -32600, 2);
  });

  for (const version of legacy)
    test(`an invalid body gets an error in the form of ${version}`, async () => {
      const session = await Session.open(version);
      const id = version === newestLegacy ? undefined : null; // later schemas do not allow null, earlier ones require an id
      refused(await session.post("{oops"), 400, -32700, id);
      refused(await session.post("5"), 400, -32600, id);
      refused(await session.post({ jsonrpc: "2.0", id: 3 }), 400, -32600, 3);
    });

  test("requests are served before notifications/initialized", async () => {
    const session = await Session.open(newestLegacy, {}, { ready: false });
    assert.ok((await session.call("tools/list")).tools.length > 0);
  });
});

describe("legacy: sessions", () => {
  test("none: 400", async () => {
    assert.equal((await post(call(1, "tools/list"))).status, 400);
    assert.equal((await post(initialized)).status, 400);
  });

  test("an unknown one: 404, -32001", async () => {
    refused(await post(call(1, "tools/list"), { "Mcp-Session-Id": "unknown" }), 404, -32001, 1);
    const answer = await exchange(server, {
      method: "GET", headers: { Accept: "text/event-stream", "Mcp-Session-Id": "unknown" },
    });
    assert.equal(answer.status, 404);
  });

  test("DELETE ends it", async () => {
    const session = await Session.open();
    const stream = (await session.get()).listen();
    assert.ok([200, 204].includes(await session.delete()));
    assert.deepEqual(await stream.inbox.rest(), []);
    refused(await session.post(call(1, "tools/list")), 404, -32001, 1);
    assert.equal(await session.delete(), 404);
    assert.equal((await exchange(server, { method: "DELETE" })).status, 400);
  });

  test("one GET stream at a time: 409", async () => {
    const session = await Session.open();
    const first = await session.get();
    assert.deepEqual([first.status, first.type], [200, "text/event-stream"]);
    assert.equal((await session.get()).status, 409);
    first.close();
    let status;
    for (let i = 0; i < 1000 && status !== 200; i++) {
      const next = await session.get();
      status = next.status;
      next.close();
    }
    assert.equal(status, 200);
  });

  test("GET without a session: 400; not for an event stream: 406", async () => {
    assert.equal((await exchange(server, { method: "GET", headers: { Accept: "text/event-stream" } })).status, 400);
    const session = await Session.open();
    assert.equal((await exchange(server, {
      method: "GET", headers: { ...session.headers, Accept: "application/json" },
    })).status, 406);
  });

  test("the version header: a supported version, or none", async () => {
    const session = await Session.open("2025-06-18");
    for (const version of [undefined, "2025-06-18", newestLegacy, "2025-03-26"])
      accepted(await session.post(call(1, "ping"), { "MCP-Protocol-Version": version }), 1);
    for (const version of ["1999-01-01", "x"])
      assert.equal((await session.post(call(1, "ping"), { "MCP-Protocol-Version": version })).status, 400, version);
  });

  test("log level and subscriptions belong to the session", async () => {
    const [loud, quiet] = [await Session.open(), await Session.open()];
    await loud.call("logging/setLevel", { level: "debug" });
    await quiet.call("logging/setLevel", { level: "error" });
    const tool = call(1, "tools/call", { name: "test_tool_with_logging" });
    assert.equal((await loud.post(tool)).events.length, 4);
    accepted(await quiet.post(tool), 1);
  });
});

describe("legacy: responses", () => {
  let session;
  before(async () => {
    session = await Session.open();
  });

  test("empty results are exactly {}", async () => {
    const uri = "test://watched-resource";
    for (const [method, params] of [
      ["ping"], ["ping", {}], ["logging/setLevel", { level: "info" }], ["resources/subscribe", { uri }],
      ["resources/unsubscribe", { uri }],
    ])
      assert.deepEqual(await session.call(method, params), {}, method);
  });

  test("results have no modern members", async () => {
    for (const [method, params] of [
      ["tools/list"], ["prompts/list"], ["resources/list"], ["resources/templates/list"],
      ["resources/read", { uri: "test://static-text" }], ["tools/call", { name: "test_simple_text" }],
      ["prompts/get", { name: "test_simple_prompt" }],
    ]) {
      const result = await session.call(method, params);
      for (const name of ["resultType", "ttlMs", "cacheScope"]) assert.equal(name in result, false, `${method} ${name}`);
    }
  });

  test("errors have status 200", async () => {
    const faults = [
      ["unknown/x", {}, -32601],
      ["server/discover", {}, -32601],
      ["subscriptions/listen", { notifications: {} }, -32601],
      ["tools/call", { name: "no_such_tool" }, -32602],
      ["tools/call", {}, -32602],
      ["prompts/get", { name: "none" }, -32602],
      ["prompts/get", { name: "test_prompt_with_arguments", arguments: { arg1: "x" } }, -32602],
      ["logging/setLevel", { level: "loud" }, -32602],
      ["tools/list", { cursor: "bogus" }, -32602],
      ["resources/list", { cursor: "bogus" }, -32602],
    ];
    for (const [method, params, code] of faults)
      refused(await session.post(call(9, method, params)), 200, code, 9);
  });

  test("an unknown resource: -32002 with its URI", async () => {
    const error = refused(await session.post(call(9, "resources/read", { uri: "test://none" })), 200, -32002, 9);
    assert.equal(error.data.uri, "test://none");
  });

  test("notifications and unexpected responses: 202", async () => {
    await taken(await session.post(note("notifications/roots/list_changed")));
    await taken(await session.post(note("notifications/whatever")));
    await taken(await session.post({ jsonrpc: "2.0", id: 99, result: {} }));
  });

  test("progress, then the result, in one stream", async () => {
    const answer = await session.post(call(9, "tools/call", {
      name: "test_tool_with_progress", _meta: { progressToken: 0 },
    }));
    assert.equal(answer.type, "text/event-stream");
    assert.deepEqual(answer.events.map((event) => event.params?.progress ?? event.id), [0, 50, 100, 9]);
  });

  test("a tool sends its requests to the client on the stream of its call", async () => {
    const able = await Session.open(newestLegacy, { elicitation: {}, sampling: {}, roots: {} });
    const body = call(9, "tools/call", { name: "test_input_required_result_multi_round" });
    const stream = (await able.open({ body })).listen();
    for (const [message, content] of [["Step 1", { name: "Ada" }], ["Step 2", { color: "red" }]]) {
      const question = await stream.inbox.next();
      assert.equal(question.method, "elicitation/create");
      assert.match(question.params.message, new RegExp(message));
      await taken(await able.post({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content } }));
    }
    const { id, result } = await stream.inbox.next();
    assert.equal(id, 9);
    assert.deepEqual(Object.keys(result), ["content"]);
    assert.equal(await stream.inbox.next(), undefined);
  });

  test("a call is cancelled by a notification, not by closing its stream", async () => {
    const body = call("gone", "tools/call", { name: "test_tool_with_progress", _meta: { progressToken: 1 } });
    const stream = (await session.open({ body })).listen();
    assert.equal((await stream.inbox.next()).params.progress, 0);
    await taken(await session.post(note("notifications/cancelled", { requestId: "gone" })));
    const rest = await stream.inbox.rest();
    assert.deepEqual(rest.filter((message) => message.id === "gone"), []);
    const able = await Session.open(newestLegacy, { elicitation: {} });
    const asks = await able.open({ body: call("left", "tools/call", { name: "test_input_required_result_elicitation" }) });
    const question = await asks.listen().inbox.next();
    asks.close();
    const result = { action: "accept", content: { name: "Ada" } };
    await taken(await able.post({ jsonrpc: "2.0", id: question.id, result }));
    await able.call("ping");
  });

  test("changes come on the GET stream", async () => {
    const listening = await Session.open();
    const stream = (await listening.get()).listen();
    await session.call("tools/call", { name: "test_trigger_tool_change" });
    await session.call("tools/call", { name: "test_trigger_prompt_change" });
    const seen = [await stream.inbox.next(), await stream.inbox.next()];
    assert.deepEqual(seen.map((message) => message.method), [
      "notifications/tools/list_changed", "notifications/prompts/list_changed",
    ]);
    stream.close();
  });

  test("a modern call beside the session", async () => {
    accepted(await send(modernCall(1, "tools/list"), session.headers), 1);
    await session.call("ping");
  });
});

describe("legacy: batches", () => {
  const two = [call(1, "ping"), note("notifications/initialized"), call("b", "unknown/x")];

  test("2025-03-26 has them", async () => {
    const session = await Session.open("2025-03-26");
    const answer = await session.post(two);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.map((one) => [one.id, one.result ?? one.error.code]), [[1, {}], ["b", -32601]]);
    await taken(await session.post([note("notifications/x"), note("notifications/y")]));
  });

  test("later ones do not: 400, -32600", async () => {
    for (const [version, id] of [["2025-06-18", null], [newestLegacy, undefined]])
      refused(await (await Session.open(version)).post(two), 400, -32600, id);
  });

  test("no handshake in one: -32600", async () => {
    refused(await post([initialize(1, "2025-03-26")]), 400, -32600, undefined);
  });
});
