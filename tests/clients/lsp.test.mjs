// vscode-jsonrpc, the library of LSP clients, talks to spec-server with Content-Length headers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { Server, test } from "./server.mjs";

const path = process.env.SERVER;

function connect(input, output) {
  const errors = [];
  const connection = createMessageConnection(new StreamMessageReader(input), new StreamMessageWriter(output));
  connection.onError((error) => errors.push(error));
  connection.onRequest("question", (params) => `you asked ${JSON.stringify(params)}`);
  return { connection, errors };
}

async function talk({ connection, errors }) {
  const steps = [];
  connection.onNotification("progress", (params) => steps.push(params));
  connection.listen();
  assert.equal(await connection.sendRequest("subtract", 42, 23), 19);
  assert.equal(await connection.sendRequest("subtract", { minuend: 42, subtrahend: 23 }), 19);
  assert.deepEqual(await connection.sendRequest("echo", "é文\n😀"), ["é文\n😀"]);
  await connection.sendNotification("update", 1, 2);
  assert.equal(await connection.sendRequest("progress", 3), 3);
  assert.equal(steps.length, 3);
  assert.equal(await connection.sendRequest("ask_back", { a: 1 }), 'you asked {"a":1}');
  await assert.rejects(connection.sendRequest("missing"), { code: -32601 });
  const many = Array.from({ length: 200 }, (_, i) => connection.sendRequest("subtract", i, 1));
  assert.deepEqual(await Promise.all(many), many.map((_, i) => i - 1));
  const long = "x".repeat(500_000);
  assert.deepEqual(await connection.sendRequest("echo", long), [long]);
  assert.deepEqual(errors, []);
}

test("vscode-jsonrpc over stdio", async () => {
  for (const flags of [[], ["--framing", "headers"]]) {
    const child = spawn(path, ["--stdio", ...flags], { stdio: ["pipe", "pipe", "inherit"] });
    const peer = connect(child.stdout, child.stdin);
    await talk(peer);
    child.stdin.end();
    assert.deepEqual(await once(child, "exit"), [0, null]);
    peer.connection.dispose();
  }
});

test("vscode-jsonrpc over a Unix socket", async (context) => {
  const dir = mkdtempSync(join(tmpdir(), "fumi-lsp-"));
  context.after(() => rmSync(dir, { recursive: true }));
  await Server.startFor(context, "--listen", `unix:${join(dir, "s")}`);
  const socket = net.connect(join(dir, "s"));
  await once(socket, "connect");
  const peer = connect(socket, socket);
  await talk(peer);
  peer.connection.dispose();
  socket.destroy();
});
