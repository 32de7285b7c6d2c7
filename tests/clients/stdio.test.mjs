// The published clients json-rpc-2.0 and jayson talk to `subtract` over stdio. Run by ./run.
import assert from "node:assert/strict";
import net from "node:net";
import { once } from "node:events";
import { describe, test } from "node:test";
import jayson from "jayson";
import ClientBrowser from "jayson/lib/client/browser/index.js";
import jsonRpc from "json-rpc-2.0";
import { Program } from "./program.mjs";

const { JSONRPCClient } = jsonRpc;
const path = process.env.PROGRAM;
const limit = { timeout: 30_000 };

async function endsWell(program) {
  assert.deepEqual(await program.close(), { status: 0, unexpected: [] });
}

describe("json-rpc-2.0", limit, () => {
  function connect() {
    const program = new Program(path);
    const client = new JSONRPCClient((message) => program.send(JSON.stringify(message)));
    program.onLine((line) => client.receive(JSON.parse(line)));
    return { program, client };
  }

  test("calls by position and by name", async () => {
    const { program, client } = connect();
    assert.equal(await client.request("subtract", [42, 23]), 19);
    assert.equal(await client.request("subtract", { subtrahend: 23, minuend: 42 }), 19);
    assert.equal(await client.request("subtract", [1.5, 0.25]), 1.25);
    await endsWell(program);
  });

  test("many concurrent calls", async () => {
    const { program, client } = connect();
    const numbers = Array.from({ length: 500 }, (_, i) => i);
    const answers = await Promise.all(numbers.map((i) => client.request("subtract", [i, 1])));
    assert.deepEqual(answers, numbers.map((i) => i - 1));
    await endsWell(program);
  });

  test("errors carry code, message and data", async () => {
    const { program, client } = connect();
    await assert.rejects(client.request("add", [1, 2]), {
      code: -32601,
      message: "Method not found",
      data: "add",
    });
    await assert.rejects(client.request("subtract", [1]), {
      code: -32602,
      message: "Invalid params",
      data: "expected two numeric parameters: [minuend, subtrahend]",
    });
    await assert.rejects(client.request("subtract", { minuend: "x", subtrahend: 1 }), {
      code: -32602,
      data: "expected two numeric parameters: [minuend, subtrahend]",
    });
    await endsWell(program);
  });

  test("a notification is not answered", async () => {
    const { program, client } = connect();
    client.notify("subtract", [4, 1]);
    client.notify("missing");
    assert.equal(await client.request("subtract", [3, 1]), 2);
    await endsWell(program);
  });

  test("a batch, answered in its order", async () => {
    const { program, client } = connect();
    const answers = await client.requestAdvanced([
      { jsonrpc: "2.0", id: "a", method: "subtract", params: [20, 5] },
      { jsonrpc: "2.0", id: "b", method: "add", params: [1, 2] },
      { jsonrpc: "2.0", method: "subtract", params: [3, 2] },
      { jsonrpc: "2.0", id: "c", method: "subtract", params: { minuend: 1, subtrahend: 2 } },
    ]);
    assert.deepEqual(answers, [
      { jsonrpc: "2.0", result: 15, id: "a" },
      { jsonrpc: "2.0", error: { code: -32601, message: "Method not found", data: "add" }, id: "b" },
      { jsonrpc: "2.0", result: -1, id: "c" },
    ]);
    await endsWell(program);
  });
});

// jayson's client for any transport: a function that sends a text and calls back with the answer,
// or with nothing if there is none.
describe("jayson, any transport", limit, () => {
  function connect() {
    const program = new Program(path);
    const isAnswered = (message) => [message].flat().some((request) => "id" in request);
    const client = new ClientBrowser(async (text, callback) => {
      program.send(text);
      callback(null, isAnswered(JSON.parse(text)) ? await program.receive() : undefined);
    });
    const request = (...words) =>
      new Promise((resolve, reject) => {
        client.request(...words, (error, response) => (error ? reject(error) : resolve(response)));
      });
    return { program, client, request };
  }

  test("calls by position and by name", async () => {
    const { program, request } = connect();
    const first = await request("subtract", [42, 23]);
    assert.equal(first.result, 19);
    assert.equal(typeof first.id, "string");
    assert.equal((await request("subtract", { minuend: 5, subtrahend: 8 })).result, -3);
    assert.deepEqual(await request("subtract", [10, 3], "req-2"), {
      jsonrpc: "2.0",
      result: 7,
      id: "req-2",
    });
    await endsWell(program);
  });

  test("errors", async () => {
    const { program, request } = connect();
    const missing = await request("add", [1, 2]);
    assert.deepEqual(missing.error, { code: -32601, message: "Method not found", data: "add" });
    const short = await request("subtract", []);
    assert.deepEqual(short.error, {
      code: -32602,
      message: "Invalid params",
      data: "expected two numeric parameters: [minuend, subtrahend]",
    });
    await endsWell(program);
  });

  test("a notification is not answered", async () => {
    const { program, request } = connect();
    assert.equal(await request("subtract", [4, 1], null), undefined);
    assert.equal((await request("subtract", [4, 1])).result, 3);
    await endsWell(program);
  });

  test("a batch", async () => {
    const { program, client, request } = connect();
    const answers = await request([
      client.request("subtract", [20, 5], 1),
      client.request("subtract", [3, 2], null),
      client.request("add", [3, 2], 2),
    ]);
    assert.deepEqual(answers, [
      { jsonrpc: "2.0", result: 15, id: 1 },
      { jsonrpc: "2.0", error: { code: -32601, message: "Method not found", data: "add" }, id: 2 },
    ]);
    await endsWell(program);
  });

  test("a batch of notifications is not answered", async () => {
    const { program, client, request } = connect();
    const quiet = () => client.request("subtract", [3, 2], null);
    assert.equal(await request([quiet(), quiet()]), undefined);
    assert.equal((await request("subtract", [4, 1])).result, 3);
    await endsWell(program);
  });
});

// jayson's own TCP client, which also frames by newline: each of its loopback connections is bridged
// to the stdio of a new program.
describe("jayson, its TCP framing", limit, () => {
  async function connect() {
    const programs = [];
    const bridge = net.createServer({ allowHalfOpen: true }, (socket) => {
      const program = new Program(path);
      programs.push(once(program.stdout, "close"));
      program.onLine(() => {});
      socket.pipe(program.stdin);
      program.stdout.pipe(socket);
    });
    bridge.listen(0, "127.0.0.1");
    await once(bridge, "listening");
    const client = jayson.Client.tcp({ host: "127.0.0.1", port: bridge.address().port });
    const request = (...words) =>
      new Promise((resolve, reject) => {
        client.request(...words, (error, response) => (error ? reject(error) : resolve(response)));
      });
    const close = async () => {
      await Promise.all(programs);
      bridge.close();
      await once(bridge, "close");
    };
    return { client, request, close };
  }

  test("a call, an error, a batch, a notification", async () => {
    const { client, request, close } = await connect();
    assert.equal((await request("subtract", { minuend: 42, subtrahend: 23 })).result, 19);
    assert.equal((await request("subtract", [1])).error.code, -32602);
    const answers = await request([
      client.request("subtract", [20, 5], 1),
      client.request("subtract", [3, 2], 2),
    ]);
    assert.deepEqual(answers.map((answer) => answer.result), [15, 1]);
    assert.equal(await request("subtract", [4, 1], null), undefined);
    await close();
  });
});
