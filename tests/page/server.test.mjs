// The routes of the page, the token and memory.watch, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "node:net";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { Server, fumi } from "./server.mjs";

const TOKEN = "a-token/of+the+tests=~";
const encoded = Buffer.from(TOKEN).toString("base64url");
const timeout = 180_000;
const json = { "Content-Type": "application/json" };

async function serve(context, ...flags) {
  const server = await Server.start(...flags);
  context.after(() => server.stop());
  return server;
}

test("the files of the page are served with a strict policy", { timeout }, async (t) => {
  const server = await serve(t);
  const html = await (await fetch(server.url)).text();
  const paths = [...html.matchAll(/(?:src|href)="(page\/[^"]+)"/g)].map(([, path]) => path);
  assert.ok(paths.includes("page/main.js") && paths.includes("page/page.css"));
  const seen = new Set(["", ...paths]);
  let size = 0;
  for (const path of seen) {
    const response = await fetch(server.url + path);
    const text = await response.text();
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("content-type"), /; charset=utf-8$/);
    assert.match(response.headers.get("content-security-policy"), /^default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    assert.doesNotMatch(response.headers.get("content-security-policy"), /unsafe|https?:|\*/);
    size += Buffer.byteLength(text);
    for (const [, name] of text.matchAll(/from "\.\/([a-z]+\.js)"/g)) seen.add(`page/${name}`);
  }
  assert.ok(seen.size > 15);
  assert.ok(size < 200 * 1024, `${size} bytes`);
  assert.equal((await fetch(`${server.url}page/none.js`)).status, 404);
  assert.equal((await fetch(server.url, { method: "POST", body: "x" })).status, 405);
});

test("a file that has not changed is not sent again", { timeout }, async (t) => {
  const server = await serve(t);
  const first = await fetch(`${server.url}page/main.js`);
  const tag = first.headers.get("etag");
  const length = (await first.text()).length;
  const ask = (headers, method = "GET") => fetch(`${server.url}page/main.js`, { method, headers });
  const again = await ask({ "If-None-Match": `"other", ${tag}` });
  assert.deepEqual([again.status, await again.text(), again.headers.get("content-length")], [304, "", null]);
  assert.equal(again.headers.get("etag"), tag);
  const other = await ask({ "If-None-Match": '"other"' });
  assert.deepEqual([other.status, (await other.text()).length], [200, length]);
  const head = await ask({}, "HEAD");
  assert.deepEqual([head.status, await head.text(), head.headers.get("etag")], [200, "", tag]);
  assert.equal(Number(head.headers.get("content-length")) >= length, true);
});

// The head of the response to an upgrade with these fields.
async function upgrade(server, path, ...fields) {
  const socket = connect(server.port, "127.0.0.1");
  const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, "Connection: Upgrade", "Upgrade: websocket",
    "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", ...fields, "", ""];
  socket.end(lines.join("\r\n"));
  let text = "";
  for await (const part of socket) text += part;
  return text.split("\r\n\r\n")[0];
}

test("with a token the page is open and its calls are not", { timeout }, async (t) => {
  const server = await serve(t, "--auth", "token", "--token", TOKEN);
  assert.equal((await fetch(server.url)).status, 200);
  assert.equal((await fetch(`${server.url}page/main.js`)).status, 200);
  const call = { method: "POST", headers: json, body: '{"jsonrpc":"2.0","id":1,"method":"memory.stats"}' };
  assert.equal((await fetch(`${server.url}rpc`, call)).status, 401);
  assert.equal((await fetch(`${server.url}rpc`, { ...call, headers: { ...json, Authorization: `Bearer ${TOKEN}` } })).status, 200);
  for (const path of ["/", "/ws", "/rpc"]) {
    assert.match(await upgrade(server, path), /^HTTP\/1\.1 401 /, path);
    assert.match(await upgrade(server, path, "Sec-WebSocket-Protocol: fumi, base64url.bearer.eHh4"), /^HTTP\/1\.1 401 /, path);
    const head = await upgrade(server, path, `Sec-WebSocket-Protocol: fumi, base64url.bearer.${encoded}`);
    assert.match(head, /^HTTP\/1\.1 101 /, path);
    assert.match(head, /Sec-WebSocket-Protocol: fumi$/m);
    assert.ok(!head.includes(encoded));
  }
  assert.doesNotMatch(await upgrade(server, "/ws", `Sec-WebSocket-Protocol: base64url.bearer.${encoded}`), /Sec-WebSocket-Protocol/);
});

// The changes that memory.watch reports, as they arrive.
async function watch(server) {
  const response = await fetch(`${server.url}rpc`, {
    method: "POST", headers: { ...json, Accept: "text/event-stream" }, body: '{"jsonrpc":"2.0","id":1,"method":"memory.watch"}',
  });
  const events = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  return {
    end: () => events.cancel(),
    next: async () => {
      for (;;) {
        const [, event, after] = rest.match(/^data: (.*)\n\n([^]*)$/m) ?? [];
        if (event) {
          rest = after;
          return JSON.parse(event);
        }
        const { value, done } = await events.read();
        if (done) return undefined;
        rest += value.replaceAll(":\n\n", "");
      }
    },
  };
}

test("memory.watch reports the changes of all clients", { timeout }, async (t) => {
  const server = await serve(t);
  const changes = await watch(server);
  const first = await changes.next();
  assert.equal(first.method, "memory.changed");
  const { change } = await server.call("memory.health");
  assert.equal(first.params.change, change);
  await server.call("memory.add_note", { projectId: "p", groupId: "global", text: "New." });
  let now;
  do now = await changes.next(); while (now.params.change < change + 1);
  assert.ok(now.params.change > change);
  await changes.end();
});

test("memory.health says how large the vector cache is", { timeout }, async (t) => {
  const server = await serve(t);
  const { cacheBytes: none } = await server.call("memory.health");
  assert.equal(none, 0);
  await server.call("memory.add_note", { projectId: "p", groupId: "global", text: "Tea at four." });
  await server.embedded();
  await server.call("memory.search", { projectId: "p", query: "tea" });
  let health;
  do health = await server.call("memory.health"); while (!health.cacheBytes || health.cacheBuilding);
  assert.equal(health.cacheBytes, statSync(join(server.store, "memory.db.vec")).size);
});

test("memory.health says when the last backup was made", { timeout }, async (t) => {
  const server = await serve(t);
  const { lastBackup: none, now: before } = await server.call("memory.health");
  assert.equal(none, undefined);
  execFileSync(fumi, ["backup", "--data-dir", server.store, join(server.dir, "copy.db")], { env: server.env, stdio: "pipe" });
  const { lastBackup, now } = await server.call("memory.health");
  assert.ok(before <= lastBackup && lastBackup <= now, `${before} ${lastBackup} ${now}`);
});

// Calls over one WebSocket.
async function socket(t, server) {
  const ws = new WebSocket(`${server.url.replace("http", "ws")}ws`);
  await new Promise((done, fail) => Object.assign(ws, { onopen: done, onerror: fail }));
  t.after(() => ws.close());
  const waiting = new Map();
  let watching;
  const notified = new Promise((done) => (watching = done));
  ws.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.method) watching();
    else waiting.get(message.id)(message);
  };
  let last = 0;
  const call = (method, params) => new Promise((done) => {
    waiting.set(++last, done);
    ws.send(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }));
  });
  return { call, notified };
}

test("memory.watch names a connection, and no other", { timeout }, async (t) => {
  const server = await serve(t);
  const [named, other] = [await socket(t, server), await socket(t, server)];
  const add = async (client, text) => (await client.call("memory.add_note", { projectId: "p", groupId: "g", text })).result.id;
  const nameOf = async (id) => (await server.call("memory.history", { id })).items[0].by.claimed?.client;
  for (const [client, fault] of [["two\nlines", /client/], ["x".repeat(129), /client/], [5, /client/]])
    assert.match((await named.call("memory.watch", { client })).error.data, fault);
  named.call("memory.watch", { client: "茶 viewer" });
  await named.notified;
  assert.equal(await nameOf(await add(named, "Mine.")), "茶 viewer");
  assert.equal(await nameOf(await add(other, "Not mine.")), undefined);
});

test("memory.watch ends when the server ends, and refuses clients that cannot be notified", { timeout }, async (t) => {
  const server = await serve(t);
  const changes = await watch(server);
  await changes.next();
  await assert.rejects(server.call("memory.watch"), /notifications/);
  await server.end();
  assert.deepEqual(await changes.next(), { jsonrpc: "2.0", result: null, id: 1 });
  await server.run();
});
