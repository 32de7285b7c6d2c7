// The published WebSocket clients ws, rpc-websockets, jayson and json-rpc-2.0 talk to spec-server. Run
// by ./run.
import assert from "node:assert/strict";
import net from "node:net";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import jayson from "jayson";
import jsonRpc from "json-rpc-2.0";
import { Client } from "rpc-websockets";
import { WebSocket } from "ws";
import { batch, batchAnswer, notFound, notification, request, result, Server, test } from "./server.mjs";

const { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } = jsonRpc;
const token = "0123456789abcdef";
const origin = "http://friend.example";

const open = await Server.start("--metrics", "--line-limit", "100000", "--origins", origin);
const guarded = await Server.start("--metrics", "--auth", "token", "--token", token);

after(() => Promise.all([open.stop(), guarded.stop()]));

// A client that queues what it receives.
class Peer {
  #messages = [];
  #waiting = [];

  static async open(url = open.ws, protocols = [], options = {}) {
    const peer = new Peer(url, protocols, options);
    await once(peer.ws, "open");
    return peer;
  }

  constructor(url, protocols, options) {
    const createConnection = (where) => {
      this.socket = net.connect({ ...where, path: where.socketPath });
      return this.socket;
    };
    this.ws = new WebSocket(url, protocols, { createConnection, ...options });
    this.ws.on("message", (bytes, isBinary) => {
      assert.equal(isBinary, false);
      const message = JSON.parse(bytes);
      const resolve = this.#waiting.shift();
      if (resolve) resolve(message);
      else this.#messages.push(message);
    });
    this.closed = new Promise((resolve) => {
      this.ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  send(value) {
    this.ws.send(JSON.stringify(value));
  }

  receive() {
    if (this.#messages.length > 0) return Promise.resolve(this.#messages.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  ask(value) {
    this.send(value);
    return this.receive();
  }

  // The connection works, and everything sent before is answered.
  async lives() {
    assert.deepEqual(await this.ask(request("alive", "echo", [1])), result("alive", [1]));
  }

  async close() {
    this.ws.close(1000);
    assert.deepEqual(await this.closed, { code: 1000, reason: "" });
    assert.deepEqual(this.#messages, []);
  }
}

// Status and header fields of a refused upgrade.
async function refused(url, options) {
  const ws = new WebSocket(url, options);
  ws.on("error", () => {}); // terminate() reports an error
  const [, response] = await once(ws, "unexpected-response");
  ws.terminate();
  return { status: response.statusCode, fields: response.headers };
}

describe("ws: messages", () => {
  test("calls and errors, at /ws and at /rpc", async () => {
    for (const url of [open.ws, open.ws.replace("/ws", "/rpc")]) {
      const peer = await Peer.open(url);
      assert.deepEqual(await peer.ask(request(1, "subtract", [42, 23])), result(1, 19));
      assert.deepEqual(await peer.ask(request("x", "later", { a: "\u00e9" })), result("x", { a: "\u00e9" }));
      assert.deepEqual((await peer.ask(request(2, "missing"))).error, notFound);
      peer.ws.send("{");
      const { error, id } = await peer.receive();
      assert.deepEqual([error.code, id], [-32700, null]);
      await peer.close();
    }
  });

  test("a batch, answered in its order in one message", async () => {
    const peer = await Peer.open();
    assert.deepEqual(await peer.ask(batch), batchAnswer);
    await peer.close();
  });

  test("notifications are run and not answered", async () => {
    const peer = await Peer.open();
    const before = await open.count("notify_hello");
    peer.send(notification("notify_hello", [7]));
    peer.send([notification("notify_hello", [7]), notification("missing")]);
    await peer.lives();
    assert.equal((await open.count("notify_hello")) - before, 2);
    await peer.close();
  });

  test("a thousand calls at once", async () => {
    const peer = await Peer.open();
    const methods = ["echo", "slow_echo", "later"];
    for (let i = 0; i < 1000; i++) peer.send(request(i, methods[i % 3], [i]));
    const answers = [];
    while (answers.length < 1000) answers.push(await peer.receive());
    answers.sort((a, b) => a.id - b.id);
    assert.deepEqual(answers, Array.from({ length: 1000 }, (_, i) => result(i, [i])));
    await peer.close();
  });

  test("a message in fragments, with a ping between them", async () => {
    const peer = await Peer.open();
    const bytes = Buffer.from(JSON.stringify(request(1, "echo", ["\u00e9\u{1f600}".repeat(20)])));
    const pong = once(peer.ws, "pong");
    for (let i = 0; i < bytes.length; i++) {
      if (i === 30) peer.ws.ping("between");
      peer.ws.send(bytes.subarray(i, i + 1), { binary: false, fin: false });
    }
    peer.ws.send("", { fin: true });
    assert.deepEqual(await peer.receive(), result(1, ["\u00e9\u{1f600}".repeat(20)]));
    assert.equal((await pong)[0].toString(), "between");
    await peer.close();
  });

  test("notifications before an answer", async () => {
    const peer = await Peer.open();
    const seen = [await peer.ask(request(9, "progress", [100]))];
    while (seen.at(-1).id === undefined) seen.push(await peer.receive());
    const told = Array.from({ length: 100 }, (_, i) => notification("progress", { step: i + 1 }));
    assert.deepEqual(seen, [...told, result(9, 100)]);
    await peer.close();
  });

  test("a call is cancelled by another", async () => {
    const peer = await Peer.open();
    peer.send(request(1, "wait_cancel"));
    assert.deepEqual(await peer.ask(request(2, "rpc.cancel", { id: 1 })), result(2, true));
    await peer.lives();
    await peer.close();
  });
});

describe("ws: control frames", () => {
  test("the client's pings are answered", async () => {
    const peer = await Peer.open();
    for (const data of ["", "x", "y".repeat(125)]) {
      peer.ws.ping(data);
      assert.equal((await once(peer.ws, "pong"))[0].toString(), data);
    }
    peer.ws.pong("nobody asked");
    await peer.lives();
    await peer.close();
  });

  test("the server pings, and closes a silent connection", async (t) => {
    const server = await Server.startFor(t, "--ping-time", "200");
    const lively = await Peer.open(server.ws);
    const silent = await Peer.open(server.ws, [], { autoPong: false });
    assert.equal((await silent.closed).code, 1001);
    for (let i = 0; i < 2; i++) await once(lively.ws, "ping");
    await lively.lives();
    await lively.close();
  });

  test("the client's close is answered with its code", async () => {
    for (const [code, reason] of [[1000, "bye"], [1001, ""], [3000, "x"], [4999, "y".repeat(123)]]) {
      const peer = await Peer.open();
      peer.ws.close(code, reason);
      assert.equal((await peer.closed).code, code);
    }
    const peer = await Peer.open();
    peer.ws.close();
    assert.equal((await peer.closed).code, 1005);
  });

  test("stopping the server closes with 1001, after open calls", async (t) => {
    const server = await Server.startFor(t);
    const [idle, busy] = await Promise.all([Peer.open(server.ws), Peer.open(server.ws)]);
    busy.send(request(1, "wait_cancel"));
    // Other methods would wait for the open call.
    assert.deepEqual(await busy.ask(request(3, "rpc.cancel", { id: 99 })), result(3, false));
    const stopped = server.stop();
    assert.equal((await idle.closed).code, 1001);
    assert.deepEqual(await busy.ask(request(2, "rpc.cancel", { id: 1 })), result(2, true));
    assert.equal((await busy.closed).code, 1001);
    await stopped;
  });
});

// A frame as sent on the wire: the first byte as given, the payload masked with zeros.
function frame(first, payload, masked = true) {
  const bytes = Buffer.from(payload, "latin1");
  const long = bytes.length > 125;
  const head = [first, (masked ? 0x80 : 0) | (long ? 126 : bytes.length)];
  if (long) head.push(bytes.length >> 8, bytes.length & 255);
  if (masked) head.push(0, 0, 0, 0);
  return Buffer.concat([Buffer.from(head), bytes]);
}

// Only the header of a text frame, with a 64-bit length.
function head(...length) {
  return Buffer.from([0x81, 0xff, ...length, 0, 0, 0, 0]);
}

describe("ws: protocol violations", () => {
  const [TEXT, CLOSE, PING] = [0x81, 0x88, 0x89];
  const table = [
    [1002, "a frame that is not masked", frame(TEXT, "{}", false)],
    [1002, "a reserved bit", frame(0xc1, "{}")],
    [1002, "an unknown kind of data", frame(0x83, "{}")],
    [1002, "an unknown kind of control", frame(0x8b, "")],
    [1002, "a ping in fragments", frame(0x09, "x")],
    [1002, "a ping of 126 bytes", frame(PING, "x".repeat(126))],
    [1002, "a continuation of nothing", frame(0x80, "x")],
    [1002, "a message within a message", Buffer.concat([frame(0x01, "["), frame(TEXT, "{}")])],
    [1002, "a close of one byte", frame(CLOSE, "\x03")],
    [1002, "a close with the code 1005", frame(CLOSE, "\x03\xed")],
    [1002, "a close with the code 999", frame(CLOSE, "\x03\xe7")],
    [1002, "a length of 64 bits with the highest set", head(0x80, 0, 0, 0, 0, 0, 0, 1)],
    [1007, "text that is not UTF-8", frame(TEXT, '"\xff"')],
    [1007, "text that ends within a character", frame(TEXT, '"\xc3')],
    [1007, "a close whose reason is not UTF-8", frame(CLOSE, "\x03\xe8\xff")],
    [1003, "binary", frame(0x82, "{}")],
    [1009, "a length beyond the limit, of which nothing comes", head(0, 0, 0, 0, 0, 2, 0, 0)],
  ];
  for (const [code, name, bytes] of table)
    test(`${name}: ${code}`, async () => {
      const [peer, other] = await Promise.all([Peer.open(), Peer.open()]);
      peer.socket.write(bytes);
      assert.equal((await peer.closed).code, code);
      await other.lives();
      await other.close();
    });

  test("sent by the client library: 1003, 1007, 1009", async () => {
    const text = JSON.stringify(request(1, "echo", ["x".repeat(99_000)]));
    function sendPart(bytes, i, { length }) {
      this.send(Buffer.from(bytes), { binary: false, fin: i === length - 1 });
    }
    const violations = [
      [1003, (ws) => ws.send(Buffer.from("{}"))],
      [1007, (ws) => ws.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false })],
      [1007, (ws) => [[0x22, 0xc3], [0x22]].forEach(sendPart, ws)],
      [1009, (ws) => ws.send(`${text}${" ".repeat(2000)}`)],
      [1009, (ws) => [1, 2].forEach(() => ws.send(text, { fin: false }))],
    ];
    for (const [code, violate] of violations) {
      const peer = await Peer.open();
      peer.ws.on("error", () => {}); // the server may close while the client still writes
      violate(peer.ws);
      assert.equal((await peer.closed).code, code, String(violate));
    }
    const peer = await Peer.open();
    peer.ws.send(text);
    assert.deepEqual(await peer.receive(), result(1, ["x".repeat(99_000)]));
    await peer.close();
  });

  test("invalid upgrade requests", async () => {
    assert.equal((await refused(open.ws.replace("/ws", "/healthz"))).status, 200);
    assert.equal((await refused(open.ws.replace("/ws", "/nowhere"))).status, 404);
    const { status, fields } = await refused(open.ws, { protocolVersion: 8 });
    assert.deepEqual([status, fields["sec-websocket-version"]], [426, "13"]);
  });
});

describe("ws: the upgrade", () => {
  test("the subprotocol is sent back", async () => {
    for (const protocols of [["mcp"], ["jsonrpc-2.0", "mcp"]]) {
      const peer = await Peer.open(open.ws, protocols);
      assert.equal(peer.ws.protocol, protocols[0]);
      await peer.lives();
      await peer.close();
    }
  });

  test("permessage-deflate is not accepted", async () => {
    const peer = await Peer.open(open.ws, [], { perMessageDeflate: true });
    assert.equal(peer.ws.extensions, "");
    assert.deepEqual(await peer.ask(request(1, "echo", ["x".repeat(5000)])), result(1, ["x".repeat(5000)]));
    await peer.close();
  });

  test("the token, in either field", async () => {
    const fields = [
      { Authorization: `Bearer ${token}` },
      { "x-claude-code-ide-authorization": token },
    ];
    for (const headers of fields) {
      const peer = await Peer.open(guarded.ws, [], { headers });
      await peer.lives();
      await peer.close();
    }
  });

  test("a wrong token is refused with 401, without effect on others", async () => {
    const headers = { Authorization: `Bearer ${token}` };
    const [peer, before] = [await Peer.open(guarded.ws, [], { headers }), await guarded.count("echo")];
    const wrong = [
      {},
      { Authorization: `Bearer ${token}x` },
      { Authorization: token },
      { "x-claude-code-ide-authorization": token.slice(1) },
      { Authorization: `Bearer ${token}`, "x-claude-code-ide-authorization": "another" },
    ];
    for (const [i, bad] of wrong.entries()) {
      const { status, fields } = await refused(guarded.ws, { headers: bad });
      assert.equal(status, 401, JSON.stringify(bad));
      assert.match(fields["www-authenticate"], /^Bearer/);
      await peer.lives();
      assert.equal((await guarded.count("echo")) - before, i + 1);
    }
    await peer.close();
  });

  test("another Origin or Host is refused with 403", async () => {
    const peer = await Peer.open(open.ws, [], { origin });
    for (const bad of ["http://evil.example", "null", `${origin}:81`, `https${origin.slice(4)}`])
      assert.equal((await refused(open.ws, { origin: bad })).status, 403, bad);
    const headers = { Host: `evil.example:${open.port}` };
    assert.equal((await refused(open.ws, { headers })).status, 403);
    await peer.lives();
    await peer.close();
  });

  test("over a Unix socket", async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "fumi-clients-"));
    await Server.startFor(t, "--listen", `unix:${directory}/socket`);
    t.after(() => rm(directory, { recursive: true }));
    const peer = await Peer.open(`ws+unix:${directory}/socket:/ws`);
    assert.deepEqual(await peer.ask(batch), batchAnswer);
    await peer.close();
  });
});

describe("rpc-websockets", () => {
  async function connect(url, options = {}) {
    const client = new Client(url, { reconnect: false, ...options });
    await once(client, "open");
    return client;
  }

  async function close(client) {
    client.close();
    assert.equal((await once(client, "close"))[0], 1000);
  }

  test("calls, many at once", async () => {
    const client = await connect(open.ws);
    assert.equal(await client.call("subtract", [42, 23]), 19);
    assert.equal(await client.call("subtract", { subtrahend: 23, minuend: 42 }), 19);
    assert.equal(await client.call("nothing"), null);
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const answers = await Promise.all(numbers.map((i) => client.call("slow_echo", [i])));
    assert.deepEqual(answers, numbers.map((i) => [i]));
    await close(client);
  });

  test("errors", async () => {
    const client = await connect(open.ws);
    await assert.rejects(client.call("missing"), (error) => {
      assert.deepEqual(error, notFound);
      return true;
    });
    await close(client);
  });

  test("notifications in both directions", async () => {
    const client = await connect(open.ws);
    const before = await open.count("notify_sum");
    await client.notify("notify_sum", [1, 2, 4]);
    const told = [];
    client.on("progress", ({ step }) => told.push(step));
    assert.equal(await client.call("progress", [5]), 5);
    assert.deepEqual(told, [1, 2, 3, 4, 5]);
    assert.equal((await open.count("notify_sum")) - before, 1);
    await close(client);
  });

  test("a token", async () => {
    const client = await connect(guarded.ws, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(await client.call("subtract", [3, 1]), 2);
    await close(client);
  });

  test("it reconnects after a restart of the server", async (t) => {
    const first = await Server.startFor(t);
    const options = { reconnect: true, reconnect_interval: 20, max_reconnects: 500 };
    const client = await connect(first.ws, options);
    client.on("error", () => {}); // attempts while the server is down
    const again = new Promise((resolve) => client.once("open", resolve));
    await first.stop();
    await Server.startFor(t, "--listen", `tcp:${first.host}`);
    await again;
    assert.equal(await client.call("subtract", [3, 1]), 2);
    await close(client);
  });
});

describe("jayson over WebSocket", () => {
  test("a call, an error, a batch, a notification", async () => {
    const client = jayson.Client.websocket({ url: open.ws });
    const ask = (...words) =>
      new Promise((resolve, reject) => {
        client.request(...words, (error, response) => (error ? reject(error) : resolve(response)));
      });
    await once(client.ws, "open");
    assert.equal((await ask("subtract", [42, 23])).result, 19);
    assert.deepEqual((await ask("missing", [])).error, notFound);
    assert.equal(await ask("update", [1], null), undefined);
    const calls = [client.request("subtract", [3, 1], 1), client.request("later", [2], 2)];
    assert.deepEqual(await ask(calls), [result(1, 2), result(2, [2])]);
    client.ws.close(1000);
    await once(client.ws, "close");
  });
});

describe("json-rpc-2.0 over WebSocket", () => {
  test("requests in both directions", async () => {
    const ws = new WebSocket(open.ws);
    await once(ws, "open");
    const both = new JSONRPCServerAndClient(
      new JSONRPCServer(),
      new JSONRPCClient((message) => ws.send(JSON.stringify(message))),
    );
    both.addMethod("question", ({ n }) => ({ answer: n * 2 }));
    ws.on("message", (bytes) => both.receiveAndSend(JSON.parse(bytes)));
    assert.equal(await both.request("subtract", [42, 23]), 19);
    assert.deepEqual(await both.request("ask_back", { n: 21 }), { answer: 42 });
    ws.close(1000);
    await once(ws, "close");
  });
});
