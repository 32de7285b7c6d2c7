// Several servers on one store, and how a server ends: by signal, by end of input, or when its parent process ends.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { sdk1, sdk2 } from "./clients.mjs";
import { Lines, bounded, modern } from "./lines.mjs";
import { Server, command, fill, gone, hasModel, processesOf, scratch, test } from "./server.mjs";
import { groupId, projectId } from "./talk.mjs";

const note = (text) => ({ projectId, groupId, text });
const plain = (params) => params;

async function isThere(dir, id, text) {
  const lines = Lines.start(dir);
  await lines.initialize();
  assert.equal((await lines.call("memory_get", { id })).text, text);
  assert.equal(await lines.end(), 0);
}

for (const signal of ["SIGINT", "SIGTERM", undefined])
  test(`${signal ?? "closed input"} ends it, and nothing is lost`, async (context) => {
    const dir = scratch(context);
    const text = `kept in spite of ${signal}`;
    const lines = Lines.start(dir);
    await lines.initialize();
    const { id } = await lines.call("memory_add_note", note(text));
    const begin = Date.now();
    assert.equal(await lines.end(signal), 0);
    context.diagnostic(`ended after ${Date.now() - begin} ms`);
    await isThere(dir, id, text);
  });

test("it ends when its parent dies, and nothing is lost", async (context) => {
  const dir = scratch(context);
  const text = "kept in spite of kill -9";
  const { command: program, args, env } = command(dir);
  const parent = spawn(process.execPath, [new URL("parent.mjs", import.meta.url).pathname, program, ...args], { env });
  context.after(() => parent.kill("SIGKILL"));
  const answers = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
  const ask = async (message) => {
    parent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...message })}\n`);
    return JSON.parse((await answers.next()).value).result;
  };
  await ask({ method: "server/discover", params: modern() });
  const { structuredContent } = await ask({
    method: "tools/call", params: modern({ name: "memory_add_note", arguments: note(text) }),
  });
  assert.equal(processesOf(join(dir, "store")).length, 2);
  parent.kill("SIGKILL");
  await gone(dir);
  await isThere(dir, structuredContent.id, text);
});

// Whether the server has opened a descriptor of its parent process, which is the end of its start.
function watchesParent(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).includes("pidfd"));
  } catch {
    return false; // a descriptor was closed meanwhile, or the process has ended
  }
}

// Another process keeps the input open, so only the end of the parent process can end the server.
test("it ends when its parent dies although its input stays open", async (context) => {
  const dir = scratch(context);
  const { command: program, args, env } = command(dir);
  execFileSync("mkfifo", [join(dir, "input")]);
  const script = 'sleep 60 >"$0" & "$@" <"$0" & echo up; wait';
  const parent = spawn("bash", ["-c", script, join(dir, "input"), program, ...args], { env, stdio: ["ignore", "pipe", "ignore"], detached: true });
  context.after(() => process.kill(-parent.pid, "SIGKILL")); // ends the sleep, which is still running
  await createInterface({ input: parent.stdout })[Symbol.asyncIterator]().next();
  const end = Date.now() + 60000;
  while (!processesOf(dir).some(watchesParent) && Date.now() < end) await new Promise((go) => setTimeout(go, 20));
  parent.kill("SIGKILL");
  await gone(dir);
});

test("a call that is open when the input is closed is answered", async (context) => {
  const lines = Lines.start(scratch(context));
  await lines.initialize();
  const call = lines.call("memory_add_note", note("the last words"));
  assert.equal(await lines.end(), 0);
  assert.ok((await call).id);
});

test("a cancelled call is not answered, and the server goes on", async (context) => {
  if (!(await hasModel())) return context.skip("there is no model");
  const dir = scratch(context);
  await fill(dir, 100);
  const lines = Lines.start(dir);
  await lines.initialize();
  const params = { name: "memory_reembed", arguments: {}, _meta: { progressToken: "t" } };
  for (const [id, wrap] of [["old", plain], ["new", modern]]) {
    lines.ask("tools/call", wrap({ ...params, _meta: { progressToken: id } }), id);
    await lines.notification("notifications/progress", (params) => params.progressToken === id);
    lines.notify("notifications/cancelled", { requestId: id, reason: "seen enough" });
  }
  lines.notify("notifications/cancelled", { requestId: "nobody" });
  const { done } = await lines.call("memory_reembed", {}, () => params);
  assert.equal(done, 100);
  assert.equal(await lines.end(), 0);
  const answered = lines.lines.map((line) => JSON.parse(line).id);
  assert.ok(!answered.includes("old") && !answered.includes("new"), `${answered}`);
});

test("20 copies started at once on a missing store do no harm", async (context) => {
  const dir = scratch(context);
  const copies = Array.from({ length: 20 }, () => Lines.start(dir));
  await Promise.all(copies.map(async (copy, i) => {
    if (i % 2) await copy.result("server/discover", modern());
    else await copy.initialize();
    await copy.call("memory_add_note", note(`from copy ${i}`), i % 2 ? modern : plain);
  }));
  for (const copy of copies) {
    const { items } = await copy.call("memory_list_recent", { projectId, limit: 50 }, modern);
    assert.equal(items.length, 20);
  }
  for (const status of await Promise.all(copies.map((copy) => copy.end()))) assert.equal(status, 0);
});

test("20 servers that only answer a discovery request do not disturb another one", async (context) => {
  const dir = scratch(context);
  const worker = Lines.start(dir);
  await worker.initialize();
  for (let round = 0; round < 4; round++) {
    const probes = Array.from({ length: 5 }, () => Lines.start(dir));
    const asked = probes.map((probe) => probe.result("server/discover", modern()));
    await worker.call("memory_add_note", note(`round ${round}`));
    await Promise.all(asked);
    for (const status of await Promise.all(probes.map((probe, i) => probe.end(i % 2 ? "SIGTERM" : undefined))))
      assert.equal(status, 0);
  }
  assert.equal((await worker.call("memory_list_recent", { projectId })).items.length, 4);
});

// Another process that writes to the store.
async function another(dir) {
  const lines = Lines.start(dir);
  await lines.initialize();
  return { add: (text) => lines.call("memory_add_note", note(text)) };
}

// The resource with the newest notes of our project, which must exist.
function recentOf(resources) {
  const found = resources.find(({ uri }) => uri.includes(projectId) && uri.endsWith("/recent"));
  assert.ok(found, `no recent notes in ${JSON.stringify(resources)}`);
  return found.uri;
}

async function findsNext(client, text) {
  const { results } = await client.call("memory_search", { projectId, query: text }, client.wrap);
  assert.ok(results.some((one) => one.text === text), JSON.stringify(results));
}

test("two processes, legacy, stdio: a note of the other is notified and found", async (context) => {
  const dir = scratch(context);
  const other = await another(dir);
  await other.add("the first");
  const lines = Lines.start(dir);
  await lines.initialize();
  const uri = recentOf((await lines.result("resources/list")).resources);
  assert.deepEqual(await lines.result("resources/subscribe", { uri }), {});
  await other.add("zebras cross the river");
  await findsNext(lines, "zebras cross the river");
  await lines.notification("notifications/resources/updated", (params) => params.uri === uri);
  assert.deepEqual(await lines.result("resources/unsubscribe", { uri }), {});
});

test("two processes, modern, stdio: a note of the other is notified and found", async (context) => {
  const dir = scratch(context);
  const other = await another(dir);
  await other.add("the first");
  const lines = Lines.start(dir);
  const uri = recentOf((await lines.result("resources/list", modern())).resources);
  const listen = lines.ask("subscriptions/listen", modern({ notifications: { resourceSubscriptions: [uri] } }), "subscription");
  const mine = (params) => params._meta?.["io.modelcontextprotocol/subscriptionId"] === "subscription";
  await lines.notification("notifications/subscriptions/acknowledged", mine);
  await other.add("zebras cross the river");
  await findsNext(Object.assign(lines, { wrap: modern }), "zebras cross the river");
  await lines.notification("notifications/resources/updated", (params) => mine(params) && params.uri === uri);
  assert.equal(await lines.end("SIGTERM"), 0);
  assert.equal((await listen).result.resultType, "complete");
});

// Subscribes to a resource with the client of an SDK.
const subscribeLegacy = async ({ sdk }, uri, onUpdate) => {
  const { ResourceUpdatedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  sdk.setNotificationHandler(ResourceUpdatedNotificationSchema, onUpdate);
  await sdk.subscribeResource({ uri });
};
const subscribeModern = async ({ sdk }, uri, onUpdate) => {
  sdk.setNotificationHandler("notifications/resources/updated", onUpdate);
  const { honoredFilter } = await sdk.listen({ resourceSubscriptions: [uri] });
  assert.deepEqual(honoredFilter.resourceSubscriptions, [uri]);
};

const kinds = [
  ["legacy", "http", sdk1, subscribeLegacy],
  ["legacy", "ws", sdk1, subscribeLegacy],
  ["modern", "http", (where) => sdk2(where, "auto"), subscribeModern],
];
for (const [era, kind, connect, listen] of kinds)
  test(`two processes, ${era}, ${kind}: a note of the other is notified and found`, async (context) => {
    const dir = scratch(context);
    const other = await another(dir);
    await other.add("the first");
    const server = await Server.start(dir);
    const client = await connect({ [kind]: server[kind] });
    const uri = recentOf((await client.sdk.listResources()).resources);
    let updated;
    const change = bounded(`a change of ${uri}`, (resolve) => (updated = resolve));
    await listen(client, uri, ({ params }) => params.uri === uri && updated());
    await other.add("zebras cross the river");
    await findsNext(valueOf(client), "zebras cross the river");
    await change;
    await client.close();
  });

const valueOf = (client) => ({ call: async (name, args) => (await client.call(name, args)).value });

test("standard output has only protocol messages, with all logging on", async (context) => {
  const lines = Lines.start(scratch(context), "--log", "debug", "--log-calls", "--access-log");
  await lines.initialize();
  lines.write("this is no JSON");
  lines.write("");
  lines.write('{"jsonrpc":"2.0","id":null,"method":"ping"}');
  lines.write("[]");
  lines.notify("notifications/nobody/knows", { a: 1 });
  await lines.ask("no/such/method");
  await lines.ask("tools/call", { name: "no_such_tool" });
  await lines.ask("tools/call", { name: "memory_search", arguments: { projectId } });
  await lines.ask("logging/setLevel", { level: "debug" });
  await lines.call("memory_add_note", note("a line\nand another\u2028and one more"));
  await lines.call("memory_search", { projectId, query: "line" });
  await lines.result("tools/list", modern({ _meta: { "io.modelcontextprotocol/logLevel": "debug" } }));
  assert.equal(await lines.end("SIGINT"), 0);
  const members = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
  for (const line of lines.lines) {
    const message = JSON.parse(line);
    assert.equal(message.jsonrpc, "2.0", line);
    assert.ok(Object.keys(message).every((name) => members.has(name)), line);
  }
});
