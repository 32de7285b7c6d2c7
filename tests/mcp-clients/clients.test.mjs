// Published MCP clients over every transport they support: list, call, errors, resources, notifications, cancel,
// ping, close.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { aiSdk, inspector, langChain, mcporter, sdk1, sdk2 } from "./clients.mjs";
import { Server, command, endedByItself, fill, gone, hasModel, scratch, test, watchedCommand } from "./server.mjs";
import { converse, progresses, remembers, tour } from "./talk.mjs";

// Over stdio a client ends the server in one of two ways when it closes. mcporter closes the input and sends SIGTERM
// 700 ms later, which a server on a busy machine may see before it has ended.
const byInput = watchedCommand;
const bySignal = command;

async function overStdio(context, start, connect) {
  const dir = scratch(context);
  const client = await connect({ stdio: start(dir) });
  await converseAndClose(client);
  await gone(dir);
  if (start === byInput) assert.ok(endedByItself(dir), "it did not end by itself when its input was closed");
  return client;
}

async function overNet(context, kind, connect) {
  const server = await Server.start(scratch(context));
  const client = await connect({ [kind]: server[kind] });
  await converseAndClose(client);
  return client;
}

async function converseAndClose(client) {
  try {
    await converse(client);
    await client.transport?.terminateSession?.();
  } finally {
    await client.close();
  }
}

describe("clients", { concurrency: 4 }, () => {
  test("SDK 1.32, stdio", (context) => overStdio(context, byInput, sdk1));
  test("SDK 1.32, HTTP", (context) => overNet(context, "http", sdk1));
  test("SDK 1.32, WebSocket", (context) => overNet(context, "ws", sdk1));

  const ladder = { "sdk-1.0.4": bySignal, "sdk-1.10.2": bySignal, "sdk-1.11.5": bySignal, "sdk-1.17.5": bySignal };
  for (const [library, start] of Object.entries(ladder)) {
    test(`${library}, stdio`, (context) => overStdio(context, start, (where) => sdk1(where, library)));
    if (library !== "sdk-1.0.4") // it does not support Streamable HTTP
      test(`${library}, HTTP`, (context) => overNet(context, "http", (where) => sdk1(where, library)));
  }

  const modes = [ // with the negotiated revision
    ["default", undefined, "2025-11-25"],
    ["auto", "auto", "2026-07-28"],
    ["pinned", { pin: "2026-07-28" }, "2026-07-28"],
  ];
  for (const [name, mode, version] of modes) {
    test(`SDK 2.4 ${name}, stdio`, async (context) => {
      const client = await overStdio(context, byInput, (where) => sdk2(where, mode));
      assert.equal(client.version, version);
    });
    test(`SDK 2.4 ${name}, HTTP`, async (context) => {
      const client = await overNet(context, "http", (where) => sdk2(where, mode));
      assert.equal(client.version, version);
    });
  }

  test("AI SDK, stdio", (context) => overStdio(context, bySignal, aiSdk));
  test("AI SDK, HTTP", (context) => overNet(context, "http", aiSdk));
  test("LangChain, stdio", (context) => overStdio(context, byInput, langChain));
  test("LangChain, HTTP", (context) => overNet(context, "http", langChain));
  test("mcporter, stdio", (context) => overStdio(context, bySignal, mcporter));
  test("mcporter, HTTP", (context) => overNet(context, "http", mcporter));

  for (const era of ["legacy", "modern"]) {
    test(`inspector ${era}, stdio`, (context) => overStdio(context, bySignal, (where) => inspector(where, era)));
    test(`inspector ${era}, HTTP`, (context) => overNet(context, "http", (where) => inspector(where, era)));
  }

  test("the inspector's strict lint finds nothing", async (context) => {
    const { status, out, err } = await inspector({ stdio: command(scratch(context)) }, "auto").lint();
    assert.equal(status, 0, out + err);
  });

  const watchers = [
    ["SDK 1.32, stdio", (dir) => sdk1({ stdio: command(dir) })],
    ["SDK 1.32, HTTP", async (dir) => sdk1({ http: (await Server.start(dir)).http })],
    ["SDK 1.32, WebSocket", async (dir) => sdk1({ ws: (await Server.start(dir)).ws })],
    ["SDK 2.4 auto, stdio", (dir) => sdk2({ stdio: command(dir) }, "auto")],
    ["SDK 2.4 auto, HTTP", async (dir) => sdk2({ http: (await Server.start(dir)).http }, "auto")],
  ];
  for (const [name, connect] of watchers)
    test(`${name}: progress of a long call, and its cancellation`, async (context) => {
      if (!(await hasModel())) return context.skip("there is no model");
      const dir = scratch(context);
      await fill(dir, 100);
      const client = await connect(dir);
      const controller = new AbortController();
      const onprogress = () => controller.abort(new Error("seen enough"));
      await assert.rejects(client.call("memory_reembed", {}, { onprogress, signal: controller.signal }));
      assert.equal(await progresses(client), 100);
      await client.close();
    });

  for (const [name, connect] of [["SDK 1.32", sdk1], ["SDK 2.4", (where) => sdk2(where, "auto")]])
    test(`${name}: the result of every tool matches its output schema`, async (context) => {
      const client = await connect({ stdio: command(scratch(context)) });
      assert.deepEqual(await tour(client), [], "tools that the tour leaves out");
      await client.close();
    });

  test("a legacy and a modern client share one HTTP server", async (context) => {
    const server = await Server.start(scratch(context));
    const { http, ws } = server;
    const clients = await Promise.all([sdk1({ http }), sdk2({ http }, "auto"), sdk1({ ws })]);
    await Promise.all(clients.map(remembers));
    await Promise.all(clients.map((client) => client.close()));
  });
});
