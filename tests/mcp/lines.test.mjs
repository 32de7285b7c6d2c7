// Detection of the revision over stdio and WebSocket, where there are no headers and all messages share one
// connection.
//
//   SERVER=build/bin/mcp-conformance node --test tests/mcp/lines.test.mjs          node 22 or newer, for WebSocket
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Socket, Stdio } from "./program.mjs";
import { call, initialize, initialized, key, legacy, modern, modernCall, newestLegacy, note, toolCall } from "./words.mjs";

let server;

// Runs a suite over both transports, each test with its own server.
function both(name, suite) {
  for (const Carrier of [Stdio, Socket])
    describe(`${Carrier.name}: ${name}`, () => {
      beforeEach(async () => {
        server = await Carrier.start(process.env.SERVER);
      });
      afterEach(() => server.kill());
      suite(Carrier);
    });
}

async function ask(message) {
  server.send(message);
  return server.inbox.next();
}

async function shake(version, capabilities) {
  const { result } = await ask(initialize("shake", version, capabilities));
  server.send(initialized);
  return result;
}

function refused(answer, code, id) {
  assert.deepEqual([answer.error?.code, answer.id], [code, id], JSON.stringify(answer));
  assert.equal("id" in answer, id !== undefined);
}

// Checks that no message is left to read and that the server still answers.
async function quiet() {
  const answer = await ask(call("quiet", "ping"));
  assert.deepEqual(answer, { jsonrpc: "2.0", id: "quiet", result: {} });
}

const tag = (message) => message.params._meta[key("subscriptionId")];

// The calls of a batch run on worker threads if one of them may block. A connection that closes at the same time must
// not see a partly created session.
both("batches before any handshake", (Carrier) => {
  test("closing the connection does not race with its calls", async () => {
    for (let i = 0; i < 30; i++) {
      const one = await Carrier.start(process.env.SERVER);
      one.send([call(1, "tools/call", { name: "test_tool_with_logging" }), call(2, "logging/setLevel", { level: "debug" }),
        call(3, "resources/subscribe", { uri: "test://watched-resource" }), call(4, "ping")]);
      one.send(call(5, "logging/setLevel", { level: "info" }));
      if (i % 2) await one.inbox.next();
      await one.close();
    }
    await quiet();
  });
});

both("eras", (Carrier) => {
  test("all versions by handshake; never the modern one", async () => {
    for (const version of [...legacy, "2099-01-01", modern]) {
      const one = await Carrier.start(process.env.SERVER);
      one.send(initialize(0, version));
      const { id, result } = await one.inbox.next();
      assert.equal(id, 0);
      assert.equal(result.protocolVersion, legacy.includes(version) ? version : newestLegacy);
      assert.equal("resultType" in result, false);
      await one.close();
    }
  });

  test("requests before the handshake are answered", async () => {
    await quiet();
    const { id, result, error } = await ask(call(1, "tools/list"));
    assert.equal(id, 1);
    assert.ok(result?.tools ?? error.code === -32600);
  });

  test("legacy and modern requests on one connection", async () => {
    const found = await ask(modernCall("d", "server/discover"));
    assert.deepEqual(found.result.supportedVersions, [modern]);
    await shake();
    assert.equal((await ask(modernCall(1, "tools/list"))).result.resultType, "complete");
    assert.equal("resultType" in (await ask(call(2, "tools/list"))).result, false);
    assert.deepEqual((await ask(modernCall(3, "server/discover"))).result, found.result);
    refused(await ask(initialize(4)), -32600, 4);
    await quiet();
  });

  test("errors of modern requests", async () => {
    refused(await ask(modernCall(1, "ping")), -32601, 1);
    refused(await ask(modernCall(1, "initialize")), -32601, 1);
    refused(await ask(modernCall(1, "tools/list", {}, { [key("protocolVersion")]: newestLegacy })), -32022, 1);
    refused(await ask(modernCall(1, "tools/list", {}, { [key("clientCapabilities")]: undefined })), -32602, 1);
    refused(await ask(modernCall(1, "resources/read", { uri: "test://none" })), -32602, 1);
    refused(await ask(toolCall(1, "no_such_tool")), -32602, 1);
    refused(await ask(toolCall(1, "test_missing_capability")), -32021, 1);
  });

  test("errors of legacy requests", async () => {
    await shake();
    refused(await ask(call(1, "server/discover")), -32601, 1);
    refused(await ask(call(1, "resources/read", { uri: "test://none" })), -32002, 1);
    refused(await ask(call(1, "tools/call", { name: "none" })), -32602, 1);
    refused(await ask({ jsonrpc: "2.0", id: null, method: "tools/list" }), -32600, undefined);
    for (const method of ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])
      assert.deepEqual((await ask(call(2, method, { level: "info", uri: "test://watched-resource" }))).result, {});
  });

  test("a modern header that a modern tool has over HTTP is not needed", async () => {
    assert.equal((await ask(toolCall(1, "test_x_mcp_header", { region: "eu" }))).result.resultType, "complete");
  });
});

both("lines", () => {
  // The schemas before 2025-11-25 require an id; later ones do not allow null.
  const without = async (id) => {
    server.raw("{oops\n");
    refused(await server.inbox.next(), -32700, id);
    refused(await ask(5), -32600, id);
    server.raw('{"id":"found",oops\n');
    refused(await server.inbox.next(), -32700, "found");
    refused(await ask({ jsonrpc: "2.0", id: 3 }), -32600, 3);
    await quiet();
  };
  for (const version of legacy)
    test(`an invalid message gets an error in the form of ${version}, and the next one is read`, async () => {
      await shake(version);
      await without(version === newestLegacy ? undefined : null);
    });

  test("the error for an invalid message has no id for modern clients", async () => {
    await ask(modernCall("d", "server/discover"));
    await without(undefined);
  });

  test("batches: in 2025-03-26 only", async () => {
    const batch = [call(1, "ping"), note("notifications/x"), call("b", "ping")];
    await shake("2025-03-26");
    assert.deepEqual((await ask(batch)).map((one) => one.id), [1, "b"]);
    refused(await ask([]), -32600, null);
    for (const answer of await ask([modernCall(1, "tools/list")])) refused(answer, -32600, 1);
    server.send([note("notifications/x")]);
    await quiet();
  });

  test("batches: not later", async () => {
    await shake("2025-06-18");
    for (const answer of await ask([call(1, "ping")])) refused(answer, -32600, 1);
    await quiet();
  });

  test("notifications are never answered", async () => {
    server.send(note("no/such/method"));
    server.send(note("notifications/cancelled", { requestId: "none" }));
    server.send(note("notifications/cancelled"));
    server.send(note("tools/list"));
    await quiet();
  });
});

both("calls", () => {
  test("progress with a token, legacy and modern", async () => {
    await shake();
    for (const message of [
      call("p", "tools/call", { name: "test_tool_with_progress", _meta: { progressToken: 0 } }),
      toolCall("p", "test_tool_with_progress", {}, { progressToken: 0 }),
    ]) {
      server.send(message);
      for (const progress of [0, 50, 100]) {
        const { method, params } = await server.inbox.next();
        assert.deepEqual([method, params.progressToken, params.progress], ["notifications/progress", 0, progress]);
      }
      assert.equal((await server.inbox.next()).id, "p");
    }
  });

  test("a cancelled call sends neither a response nor further notifications", async () => {
    await shake();
    server.send(call("c", "tools/call", { name: "test_tool_with_progress", _meta: { progressToken: 1 } }));
    assert.equal((await server.inbox.next()).params.progress, 0);
    server.send(note("notifications/cancelled", { requestId: "c" }));
    assert.equal((await ask(call("d", "tools/call", { name: "test_reconnection" }))).id, "d");
    server.send(toolCall("m", "test_tool_with_progress", {}, { progressToken: 1 }));
    assert.equal((await server.inbox.next()).params.progress, 0);
    server.send(note("notifications/cancelled", { requestId: "m" }));
    assert.equal((await ask(call("e", "tools/call", { name: "test_reconnection" }))).id, "e");
    await quiet();
  });

  test("an error response of the client makes the tool fail", async () => {
    await shake(newestLegacy, { elicitation: {} });
    const question = await ask(call("s", "tools/call", { name: "test_elicitation", arguments: { message: "?" } }));
    const answer = await ask({ jsonrpc: "2.0", id: question.id, error: { code: -1, message: "the user said no" } });
    assert.deepEqual([answer.id, answer.result?.isError], ["s", true], JSON.stringify(answer));
    assert.match(answer.result.content[0].text, /the user said no/);
    await quiet();
  });

  test("a legacy client without the capability gets no request: the tool fails", async () => {
    await shake();
    const answer = await ask(call("s", "tools/call", { name: "test_sampling", arguments: { prompt: "hi" } }));
    assert.deepEqual([answer.id, answer.result?.isError], ["s", true], JSON.stringify(answer));
    assert.match(answer.result.content[0].text, /sampling/);
  });

  test("a legacy client gets a request", async () => {
    await shake(newestLegacy, { sampling: {} });
    const question = await ask(call("s", "tools/call", { name: "test_sampling", arguments: { prompt: 'say "hi"' } }));
    assert.equal(question.method, "sampling/createMessage");
    assert.equal(question.params.messages[0].content.text, 'say "hi"');
    const content = { type: "text", text: "hi" };
    const answer = await ask({ jsonrpc: "2.0", id: question.id, result: { role: "assistant", content, model: "m" } });
    assert.deepEqual([answer.id, answer.result.content[0].text], ["s", "LLM response: hi"]);
  });

  test("a modern client gets input requests in the result", async () => {
    const capabilities = { [key("clientCapabilities")]: { sampling: {} } };
    const answer = await ask(toolCall("s", "test_sampling", { prompt: "hi" }, capabilities));
    assert.equal(answer.result.resultType, "input_required");
    assert.equal(Object.values(answer.result.inputRequests)[0].method, "sampling/createMessage");
    await quiet();
  });
});

both("changes", () => {
  test("a legacy client is notified without a subscription", async () => {
    await shake();
    server.send(call(1, "tools/call", { name: "test_trigger_tool_change" }));
    const both = [await server.inbox.next(), await server.inbox.next()];
    assert.deepEqual(both.map((one) => one.method ?? one.id).sort(), [1, "notifications/tools/list_changed"]);
    await quiet();
  });

  test("a modern client is not", async () => {
    assert.equal((await ask(toolCall(1, "test_trigger_tool_change"))).id, 1);
    await quiet();
  });

  test("listen: acknowledged first, tagged, ended by cancellation", async () => {
    const listen = (id, notifications) => modernCall(id, "subscriptions/listen", { notifications });
    for (const id of [7, "seven"]) {
      const first = await ask(listen(id, { toolsListChanged: true }));
      assert.equal(first.method, "notifications/subscriptions/acknowledged");
      assert.deepEqual(first.params.notifications, { toolsListChanged: true });
      assert.strictEqual(tag(first), id);
    }
    server.send(toolCall("t", "test_trigger_tool_change"));
    const three = [await server.inbox.next(), await server.inbox.next(), await server.inbox.next()];
    assert.deepEqual(three.map((one) => one.id ?? tag(one)).sort(), [7, "seven", "t"]);
    server.send(note("notifications/cancelled", { requestId: 7 }));
    server.send(toolCall("t", "test_trigger_tool_change"));
    const two = [await server.inbox.next(), await server.inbox.next()];
    assert.deepEqual(two.map((one) => one.id ?? tag(one)).sort(), ["seven", "t"]);
    server.send(toolCall("p", "test_trigger_prompt_change"));
    assert.equal((await server.inbox.next()).id, "p");
    await quiet();
  });

  test("too many subscriptions: -31000, with advice", async () => {
    const listen = (id) => modernCall(id, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    for (let id = 1; id <= 64; id++)
      assert.equal((await ask(listen(id))).method, "notifications/subscriptions/acknowledged");
    const answer = await ask(listen(65));
    refused(answer, -31000, 65);
    assert.match(answer.error.message, /64 .*cancel/);
    server.send(note("notifications/cancelled", { requestId: 1 }));
    assert.equal((await ask(listen(66))).method, "notifications/subscriptions/acknowledged");
  });

  test("too many resources of a session: -31000", async () => {
    await shake();
    const uri = (i) => ({ uri: `test://resource/${i}` });
    for (let i = 1; i <= 256; i++) assert.deepEqual((await ask(call(i, "resources/subscribe", uri(i)))).result, {});
    assert.deepEqual((await ask(call(1, "resources/subscribe", uri(1)))).result, {});
    const answer = await ask(call(257, "resources/subscribe", uri(257)));
    refused(answer, -31000, 257);
    assert.match(answer.error.message, /256 .*unsubscribe/);
    assert.deepEqual((await ask(call(258, "resources/unsubscribe", uri(1)))).result, {});
    assert.deepEqual((await ask(call(259, "resources/subscribe", uri(257)))).result, {});
  });

  test("too many resources of all clients: -31000", async () => {
    const listen = (id, n) => modernCall(id, "subscriptions/listen", {
      notifications: { resourceSubscriptions: Array.from({ length: n }, (_, i) => `test://resource/${i}`) },
    });
    for (let id = 1; id <= 4; id++)
      assert.equal((await ask(listen(id, 255))).method, "notifications/subscriptions/acknowledged");
    const answer = await ask(listen(5, 5));
    refused(answer, -31000, 5);
    assert.match(answer.error.message, /1024 .*4 .*try again/);
    assert.equal((await ask(listen(6, 4))).method, "notifications/subscriptions/acknowledged");
  });

  test("listen ends with a result when the server ends", async () => {
    await ask(modernCall(7, "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    await server.close();
    const [{ id, result }, ...more] = await server.inbox.rest();
    assert.deepEqual([id, result.resultType, result._meta[key("subscriptionId")], more], [7, "complete", 7, []]);
  });
});

describe("Stdio: lines and shutdown", () => {
  beforeEach(() => {
    server = new Stdio(process.env.SERVER);
  });
  afterEach(() => server.kill());

  test("blank lines are skipped, and lines may end in CR LF", async () => {
    server.raw("\n\r\n   \n");
    server.raw(`${JSON.stringify(call(1, "ping"))}\r\n`);
    assert.deepEqual(await server.inbox.next(), { jsonrpc: "2.0", id: 1, result: {} });
  });

  test("end of input", async () => {
    await shake();
    await server.close();
  });

  for (const signal of ["SIGINT", "SIGTERM"])
    test(signal, async () => {
      await shake();
      server.child.kill(signal);
      await server.ends();
    });
});
