// Single modern HTTP messages to mcp-conformance, valid and invalid, and messages of no revision: how the revision
// is detected, statuses, headers and streams.
//
//   SERVER=build/bin/mcp-conformance node --test tests/mcp/probes.test.mjs
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accepted, post, refused, server, taken, send } from "./probe.mjs";
import { exchange, Listener, request } from "./program.mjs";
import { call, coded, envelope, key, mirror, modern, modernCall, newestLegacy, note, toolCall } from "./words.mjs";

describe("modern: _meta of a request", () => {
  test("discover", async () => {
    const answer = await send(modernCall(1, "server/discover"));
    const result = accepted(answer, 1);
    assert.equal(answer.headers["mcp-session-id"], undefined);
    assert.equal(result.resultType, "complete");
    assert.deepEqual(result.supportedVersions, [modern]);
    assert.deepEqual(result.capabilities, {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    });
    assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0);
    assert.ok(["public", "private"].includes(result.cacheScope));
    assert.equal(result._meta[key("serverInfo")].name, "mcp-conformance");
    assert.equal(typeof result.instructions, "string");
  });

  for (const id of [0, "", "x-1", -7, 9007199254740991, 'quote " and ä'])
    test(`the id ${JSON.stringify(id)} comes back`, async () => {
      accepted(await send(modernCall(id, "tools/list")), id);
    });

  const wrong = {
    "no protocolVersion but a modern header": { [key("protocolVersion")]: undefined },
    "protocolVersion is a number": { [key("protocolVersion")]: 20260728 },
    "no clientCapabilities": { [key("clientCapabilities")]: undefined },
    "clientCapabilities is an array": { [key("clientCapabilities")]: [] },
    "clientInfo without a name": { [key("clientInfo")]: { version: "1" } },
    "clientInfo is a string": { [key("clientInfo")]: "probe" },
    "logLevel is none": { [key("logLevel")]: "loud" },
  };
  for (const [name, more] of Object.entries(wrong))
    test(`${name}: 400, -32602`, async () => {
      refused(await send(modernCall(5, "tools/list", {}, more), { "MCP-Protocol-Version": modern }), 400, -32602, 5);
    });

  test("no _meta, a modern header: 400, -32602, and the key is named", async () => {
    const headers = { "MCP-Protocol-Version": modern, "Mcp-Method": "tools/list" };
    const error = refused(await post(call(5, "tools/list"), headers), 400, -32602, 5);
    assert.match(JSON.stringify(error), /io\.modelcontextprotocol\/protocolVersion/);
  });

  test("clientInfo may be absent", async () => {
    accepted(await send(modernCall(5, "tools/list", {}, { [key("clientInfo")]: undefined })), 5);
  });

  for (const version of ["v999.0.0", "2099-01-01", newestLegacy])
    test(`version ${version}: 400, -32022`, async () => {
      const error = refused(
        await send(modernCall("v", "tools/list", {}, { [key("protocolVersion")]: version })), 400, -32022, "v",
      );
      assert.deepEqual(error.data, { supported: [modern], requested: version });
    });

  test("the session id is ignored", async () => {
    accepted(await send(modernCall(1, "tools/list"), { "Mcp-Session-Id": "none-of-ours" }), 1);
  });
});

describe("modern: headers", () => {
  const list = modernCall(3, "tools/list");
  const text = toolCall(3, "test_simple_text");
  const wrong = [
    ["no Mcp-Method", modernCall(3, "server/discover"), { "Mcp-Method": undefined }],
    ["another Mcp-Method", list, { "Mcp-Method": "prompts/list" }],
    ["Mcp-Method in capitals", list, { "Mcp-Method": "TOOLS/LIST" }],
    ["no version", list, { "MCP-Protocol-Version": undefined }],
    ["another version than in the message", list, { "MCP-Protocol-Version": "v999.0.0" }],
    ["a legacy version", list, { "MCP-Protocol-Version": newestLegacy }],
    ["no Mcp-Name", text, { "Mcp-Name": undefined }],
    ["another Mcp-Name", text, { "Mcp-Name": "test_image_content" }],
    ["Mcp-Name in capitals", text, { "Mcp-Name": "TEST_SIMPLE_TEXT" }],
    ["a coded name with wrong padding", text, { "Mcp-Name": coded("test_simple_text").replace("=?=", "?=") }],
    ["a coded name with a wrong letter", text, { "Mcp-Name": "=?base64?dGVz*HNfc2ltcGxlX3RleHQ=?=" }],
    ["a coded name that is not UTF-8", text, { "Mcp-Name": "=?base64?/w==?=" }],
    ["no Mcp-Param-Region", toolCall(3, "test_x_mcp_header", { region: "eu", level: 1 }), {}],
    ["another Mcp-Param-Region", toolCall(3, "test_x_mcp_header", { region: "eu" }), { "Mcp-Param-Region": "us" }],
    ["no Mcp-Name of a resource", modernCall(3, "resources/read", { uri: "test://static-text" }), {
      "Mcp-Name": undefined,
    }],
    ["no Mcp-Name of a prompt", modernCall(3, "prompts/get", { name: "test_simple_prompt" }), {
      "Mcp-Name": undefined,
    }],
  ];
  for (const [name, message, more] of wrong)
    test(`${name}: 400, -32020`, async () => {
      refused(await send(message, more), 400, -32020, 3);
    });

  const right = [
    ["a coded name", text, { "Mcp-Name": coded("test_simple_text") }],
    ["blanks around a name", text, { "Mcp-Name": "  test_simple_text \t" }],
    ["blanks around a method", list, { "Mcp-Method": " tools/list " }],
    ["Mcp-Param-Region", toolCall(3, "test_x_mcp_header", { region: "eu", level: 1 }), { "Mcp-Param-Region": "eu" }],
    ["a coded Mcp-Param-Region", toolCall(3, "test_x_mcp_header", { region: "Süd" }), {
      "Mcp-Param-Region": coded("Süd"),
    }],
    ["no region, no header", toolCall(3, "test_x_mcp_header", { level: 1 }), {}],
    ["region null, no header", toolCall(3, "test_x_mcp_header", { region: null }), {}],
  ];
  for (const [name, message, more] of right)
    test(`${name} is accepted`, async () => {
      accepted(await send(message, more), 3);
    });

  test("header names are case-insensitive", async () => {
    const { "MCP-Protocol-Version": version, ...more } = mirror(list);
    const upper = Object.fromEntries(Object.entries(more).map(([name, value]) => [name.toUpperCase(), value]));
    accepted(await post(list, { "mcp-protocol-version": version, ...upper }), 3);
  });
});

describe("modern: statuses", () => {
  const gone = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/x"];
  for (const method of gone)
    test(`${method}: 404, -32601`, async () => {
      refused(await send(modernCall("m", method, { uri: "test://static-text", level: "info" })), 404, -32601, "m");
    });

  const faults = [
    ["an unknown tool", toolCall(4, "no_such_tool")],
    ["an unknown prompt", modernCall(4, "prompts/get", { name: "no_such_prompt" })],
    ["a prompt without its argument", modernCall(4, "prompts/get", { name: "test_prompt_with_arguments" })],
    ["a cursor that is none", modernCall(4, "tools/list", { cursor: "bogus" })],
    ["a cursor that is none, of resources", modernCall(4, "resources/list", { cursor: "bogus" })],
    ["completion for an unknown prompt", modernCall(4, "completion/complete", {
      ref: { type: "ref/prompt", name: "none" }, argument: { name: "a", value: "" },
    })],
    ["arguments that are an array", toolCall(4, "test_simple_text", [1])],
  ];
  for (const [name, message] of faults)
    test(`${name}: 200, -32602`, async () => {
      refused(await send(message), 200, -32602, 4);
    });

  test("an unknown resource: 200, -32602 with its URI", async () => {
    const error = refused(await send(modernCall(4, "resources/read", { uri: "test://none" })), 200, -32602, 4);
    assert.equal(error.data.uri, "test://none");
  });

  test("a capability that the client lacks: 400, -32021", async () => {
    const error = refused(await send(toolCall(4, "test_missing_capability")), 400, -32021, 4);
    assert.deepEqual(error.data.requiredCapabilities, { sampling: {} });
    accepted(await send(toolCall(4, "test_missing_capability", {}, { [key("clientCapabilities")]: { sampling: {} } })), 4);
  });

  test("a notification: 202", async () => {
    await taken(await send(note("notifications/whatever", { _meta: envelope() })));
    await taken(await post(note("notifications/whatever"), { "MCP-Protocol-Version": modern }));
    await taken(await post(note("notifications/cancelled", { requestId: 77, _meta: envelope() })));
  });

  test("results have a type, lists and reads have cache hints", async () => {
    const cached = [
      modernCall(1, "tools/list"), modernCall(1, "prompts/list"), modernCall(1, "resources/list"),
      modernCall(1, "resources/templates/list"), modernCall(1, "resources/read", { uri: "test://static-text" }),
    ];
    const others = [
      toolCall(1, "test_simple_text"), toolCall(1, "test_error_handling"),
      modernCall(1, "prompts/get", { name: "test_simple_prompt" }),
      modernCall(1, "completion/complete", {
        ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "par" },
      }),
    ];
    for (const message of [...cached, ...others]) {
      const result = accepted(await send(message), 1);
      assert.equal(result.resultType, "complete", message.method);
      assert.equal(result._meta[key("serverInfo")].name, "mcp-conformance");
      assert.equal("ttlMs" in result, cached.includes(message), message.method);
      assert.equal("cacheScope" in result, cached.includes(message), message.method);
    }
  });

  test("completion returns values with the prefix", async () => {
    const result = accepted(await send(modernCall(1, "completion/complete", {
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "par" },
    })), 1);
    assert.deepEqual(result.completion.values, ["paris", "party"]);
  });

  test("the list of tools is the same each time", async () => {
    const [one, two] = [await send(modernCall(1, "tools/list")), await send(modernCall(1, "tools/list"))];
    assert.equal(one.text, two.text);
  });
});

describe("modern: input requests of tools", () => {
  const form = { [key("clientCapabilities")]: { elicitation: {} } };
  const again = (name, more) => modernCall(2, "tools/call", { name, ...more }, form);

  test("an input request, then the response", async () => {
    const name = "test_input_required_result_elicitation";
    const first = accepted(await send(toolCall(1, name, undefined, form)), 1);
    assert.equal(first.resultType, "input_required");
    assert.equal(first.inputRequests.user_name.method, "elicitation/create");
    assert.equal("content" in first, false);
    assert.equal("ttlMs" in first, false);
    const inputResponses = { user_name: { action: "accept", content: { name: "Ada" } } };
    const second = accepted(await send(again(name, { inputResponses })), 2);
    assert.equal(second.content[0].text, "Hello, Ada!");
    for (const odd of [{ other: { action: "accept" } }, { user_name: "Ada" }])
      assert.equal(accepted(await send(again(name, { inputResponses: odd })), 2).resultType, "input_required");
  });

  test("no input request to a client without the capability: 400, -32021", async () => {
    const name = "test_input_required_result_elicitation";
    const error = refused(await send(toolCall(1, name)), 400, -32021, 1);
    assert.deepEqual(error.data.requiredCapabilities, { elicitation: {} });
  });

  test("a modified state is rejected", async () => {
    const name = "test_input_required_result_tampered_state";
    const { requestState } = accepted(await send(toolCall(1, name, undefined, form)), 1);
    const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
    const good = accepted(await send(again(name, { inputResponses, requestState })), 2);
    assert.equal(good.content[0].text, "state-ok");
    const at = Math.floor(requestState.length / 2);
    const other = requestState[at] === "A" ? "B" : "A";
    const bad = [
      requestState.slice(0, at) + other + requestState.slice(at + 1), requestState.slice(1), `${requestState}A`, "",
      "asked",
    ];
    for (const state of bad) refused(await send(again(name, { inputResponses, requestState: state })), 200, -32602, 2);
  });

  test("a state belongs to the arguments it was made for", async () => {
    const name = "test_input_required_result_request_state";
    const { requestState } = accepted(await send(toolCall(1, name, { a: 1 }, form)), 1);
    const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
    refused(await send(again(name, { arguments: { a: 2 }, inputResponses, requestState })), 200, -32602, 2);
    accepted(await send(again(name, { arguments: { a: 1 }, inputResponses, requestState })), 2);
  });

  test("the state of one tool is rejected by another", async () => {
    const { requestState } = accepted(
      await send(toolCall(1, "test_input_required_result_tampered_state", undefined, form)), 1,
    );
    const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
    const message = again("test_input_required_result_request_state", { inputResponses, requestState });
    refused(await send(message), 200, -32602, 2);
  });
});

describe("bodies that are not messages", () => {
  const bodies = [
    ["not JSON", "{", -32700],
    ["an empty body", "", -32700],
    ["a number", "5", -32600],
    ["no method", { jsonrpc: "2.0", id: 1, params: {} }, -32600, 1],
    ["another version of JSON-RPC", { jsonrpc: "1.0", id: 1, method: "ping" }, -32600, 1],
    ["no version of JSON-RPC", { id: 1, method: "ping" }, -32600, 1],
    ["id null", { jsonrpc: "2.0", id: null, method: "tools/list" }, -32600],
    ["id null, modern", modernCall(null, "tools/list"), -32600],
    ["an empty array", "[]", -32600],
    ["a modern message in an array", [modernCall(1, "tools/list")], -32600],
    ["an array of something else", [1], -32600],
    ["two members of an array, one modern", [call(1, "ping"), modernCall(2, "tools/list")], -32600],
  ];
  for (const [name, body, code, id] of bodies)
    test(`${name}: 400, ${code}`, async () => {
      refused(await post(body), 400, code, id);
    });
});

describe("access checks", () => {
  const list = modernCall(1, "tools/list");
  const status = async (more, message = list) => (await send(message, more)).status;

  test("the content type", async () => {
    assert.equal(await status({ "Content-Type": "text/plain" }), 415);
    assert.equal(await status({ "Content-Type": undefined }), 415);
    assert.equal(await status({ "Content-Type": "application/json; charset=utf-8" }), 200);
    assert.equal(await status({ "Content-Type": "Application/JSON" }), 200);
  });

  test("Origin", async () => {
    for (const origin of ["null", "http://evil.example", "http://localhost.evil.example", "nonsense"])
      assert.equal(await status({ Origin: origin }), 403, origin);
    for (const host of ["localhost", "127.0.0.1", "[::1]"])
      assert.equal(await status({ Origin: `http://${host}:${server.port}` }), 200, host);
  });

  test("Host", async () => {
    for (const host of ["evil.example", "localhost.evil.example:80"])
      assert.equal(await status({ Host: host }), 403, host);
    for (const host of ["localhost", "127.0.0.1", "[::1]"])
      assert.equal(await status({ Host: `${host}:${server.port}` }), 200, host);
  });

  test("Accept", async () => {
    const fine = [
      undefined, "*/*", "application/json", "text/event-stream, application/json", "application/*",
      "text/event-stream;q=0.5, application/json;q=0.1", "APPLICATION/JSON, Text/Event-Stream",
    ];
    for (const accept of fine) assert.equal(await status({ Accept: accept }), 200, accept);
    assert.equal(await status({ Accept: "text/html" }), 406);
    assert.equal(await status({ Accept: "image/png, text/plain" }), 406);
  });

  test("a client that accepts only JSON gets JSON, without notifications", async () => {
    const message = toolCall(1, "test_tool_with_progress", {}, { progressToken: 1 });
    accepted(await send(message, { Accept: "application/json" }), 1);
  });

  test("a client that accepts only event streams gets one", async () => {
    const answer = await send(list, { Accept: "text/event-stream" });
    assert.deepEqual([answer.status, answer.type, answer.events.length], [200, "text/event-stream", 1]);
    assert.equal(answer.events[0].id, 1);
  });

  test("other HTTP methods: 405", async () => {
    for (const method of ["PUT", "PATCH", "HEAD"]) {
      const answer = await exchange(server, { method });
      assert.equal(answer.status, 405, method);
      for (const name of ["POST", "GET", "DELETE"]) assert.match(answer.headers.allow, new RegExp(name));
    }
  });

  test("a body that is too large: 413", async () => {
    const large = modernCall(1, "tools/list", { filler: "x".repeat(2 << 20) });
    assert.equal(await status({}, large), 413);
  });

  test("other paths: 404", async () => {
    for (const path of ["/mcp/x", "/mc", "/mcpx"])
      assert.equal((await exchange(server, { path, body: list, headers: mirror(list) })).status, 404, path);
  });

  test("a page of this server may call from a browser", async () => {
    const origin = `http://localhost:${server.port}`;
    const answer = await exchange(server, {
      method: "OPTIONS",
      headers: {
        Origin: origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id",
      },
    });
    assert.ok([200, 204].includes(answer.status));
    const allowed = answer.headers["access-control-allow-headers"].toLowerCase();
    for (const name of ["content-type", "accept", "authorization", "mcp-session-id", "mcp-protocol-version",
      "mcp-method", "mcp-name", "last-event-id"])
      assert.ok(allowed.includes(name), `${name} in ${allowed}`);
    const called = await send(list, { Origin: origin });
    assert.equal(called.headers["access-control-allow-origin"], origin);
    assert.match(called.headers["access-control-expose-headers"].toLowerCase(), /mcp-session-id/);
  });
});

describe("modern: streams", () => {
  for (const token of [0, "a token", 12])
    test(`progress with the token ${JSON.stringify(token)}`, async () => {
      const answer = await send(toolCall("p", "test_tool_with_progress", {}, { progressToken: token }));
      assert.deepEqual([answer.status, answer.type], [200, "text/event-stream"]);
      assert.match(answer.headers["cache-control"], /no-cache|no-store/);
      const notified = answer.events.slice(0, -1);
      assert.deepEqual(notified.map((event) => event.method), Array(3).fill("notifications/progress"));
      assert.deepEqual(notified.map((event) => event.params.progress), [0, 50, 100]);
      for (const { params } of notified) assert.deepEqual([params.progressToken, params.total], [token, 100]);
      assert.equal(answer.events.at(-1).id, "p");
      assert.equal(answer.events.at(-1).result.resultType, "complete");
    });

  test("without a token there is no progress, and the reply is JSON", async () => {
    accepted(await send(toolCall("p", "test_tool_with_progress")), "p");
  });

  test("log messages are sent from the requested level on", async () => {
    const logged = async (level) =>
      send(toolCall("l", "test_tool_with_logging", {}, level && { [key("logLevel")]: level }));
    for (const level of ["debug", "info"]) {
      const { events } = await logged(level);
      assert.deepEqual(events.map((event) => event.method), [...Array(3).fill("notifications/message"), undefined]);
      assert.deepEqual(events.slice(0, 3).map(({ params }) => [params.level, params.data]), [
        ["info", "Tool execution started"],
        ["info", "Tool processing data"],
        ["info", "Tool execution completed"],
      ]);
    }
    for (const level of [undefined, "notice", "emergency"]) accepted(await logged(level), "l");
  });

  const listen = async (id, notifications) => {
    const message = modernCall(id, "subscriptions/listen", { notifications });
    return (await request(server, { body: message, headers: mirror(message) })).listen();
  };
  const tag = (message) => message.params._meta[key("subscriptionId")];

  test("listen: acknowledged first, then the requested notifications, tagged", async () => {
    const tools = await listen(7, { toolsListChanged: true });
    const both = await listen("both", { toolsListChanged: true, promptsListChanged: true });
    assert.deepEqual([tools.status, tools.type], [200, "text/event-stream"]);
    for (const [stream, id, honoured] of [
      [tools, 7, { toolsListChanged: true }],
      [both, "both", { toolsListChanged: true, promptsListChanged: true }],
    ]) {
      const first = await stream.inbox.next();
      assert.equal(first.method, "notifications/subscriptions/acknowledged");
      assert.deepEqual(first.params.notifications, honoured);
      assert.strictEqual(tag(first), id);
    }
    accepted(await send(toolCall(1, "test_trigger_prompt_change")), 1);
    accepted(await send(toolCall(1, "test_trigger_tool_change")), 1);
    const seen = [await both.inbox.next(), await both.inbox.next(), await tools.inbox.next()];
    assert.deepEqual(seen.map((message) => [message.method, tag(message)]), [
      ["notifications/prompts/list_changed", "both"],
      ["notifications/tools/list_changed", "both"],
      ["notifications/tools/list_changed", 7],
    ]);
    tools.close();
    accepted(await send(toolCall(1, "test_trigger_tool_change")), 1);
    assert.equal(tag(await both.inbox.next()), "both");
    both.close();
  });

  test("listen to a resource", async () => {
    const stream = await listen("r", { resourceSubscriptions: ["test://watched-resource"] });
    const first = await stream.inbox.next();
    assert.deepEqual(first.params.notifications, { resourceSubscriptions: ["test://watched-resource"] });
    stream.close();
  });

  test("listen to nothing is acknowledged, and ends", async () => {
    const stream = await listen("n", {});
    const all = await stream.inbox.rest();
    assert.equal(all[0].method, "notifications/subscriptions/acknowledged");
    assert.deepEqual(all[0].params.notifications, {});
    assert.equal(all.at(-1).result.resultType, "complete");
  });

  test("closed subscriptions do not count against the limit", async () => {
    for (let i = 0; i < 1100; i++) {
      const stream = await listen(i, { toolsListChanged: true });
      assert.equal((await stream.inbox.next()).method, "notifications/subscriptions/acknowledged", `the one after ${i}`);
      stream.close();
    }
  });

  test("listen without notifications: -32602", async () => {
    refused(await send(modernCall(1, "subscriptions/listen")), 200, -32602, 1);
  });

  test("when the server ends, subscriptions get a result", async (t) => {
    const other = await Listener.start(process.env.SERVER, "--auth", "none");
    t.after(other.kill);
    const message = modernCall("last", "subscriptions/listen", { notifications: { toolsListChanged: true } });
    const stream = (await request(other, { body: message, headers: mirror(message) })).listen();
    await stream.inbox.next();
    await other.stop();
    const [{ id, result }, ...more] = await stream.inbox.rest();
    assert.deepEqual([id, result.resultType, more], ["last", "complete", []]);
    assert.equal(result._meta[key("subscriptionId")], "last");
  });
});
