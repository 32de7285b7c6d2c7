// A page in Chromium calls spec-server, from an allowed origin and from another one. Run by ./run.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { after, describe } from "node:test";
import { Browser } from "./browser.mjs";
import { batch, batchAnswer, notFound, notification, request, result, Server, test } from "./server.mjs";

const token = "0123456789abcdef";
const html = await readFile(new URL("page.html", import.meta.url));

const pages = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end(html);
});
pages.listen(0, "127.0.0.1");
await once(pages, "listening");

// Two names of one address are two origins.
const { port } = pages.address();
const [friend, stranger] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
const open = await Server.start("--metrics", "--origins", friend);
const guarded = await Server.start("--metrics", "--origins", friend, "--auth", "token", "--token", token);
const browser = await Browser.start();
const page = await browser.open(`${friend}/`);
const bad = await browser.open(`${stranger}/`);

after(async () => {
  pages.close();
  pages.closeAllConnections();
  await browser.close();
  await Promise.all([open.stop(), guarded.stop()]);
});

const call = request(1, "subtract", [42, 23]);

describe("WebSocket", () => {
  test("calls, a batch, notifications", async () => {
    const before = await open.count("notify_hello");
    const messages = [
      call,
      request("x", "echo", { text: "\u00e9\u{1f600}" }),
      request(2, "missing"),
      notification("notify_hello", [7]),
      [notification("notify_hello", [7])],
      [request(3, "echo", [3]), notification("update"), request(4, "nothing")],
    ];
    const { seen, code, wasClean } = await page.run("talk", open.ws, messages, 4);
    assert.deepEqual(seen, [
      result(1, 19),
      result("x", { text: "\u00e9\u{1f600}" }),
      { jsonrpc: "2.0", error: notFound, id: 2 },
      [result(3, [3]), result(4, null)],
    ]);
    assert.deepEqual([code, wasClean], [1000, true]);
    await open.counts("notify_hello", before + 2);
    assert.deepEqual((await page.run("talk", open.ws, [batch], 1)).seen, [batchAnswer]);
  });

  test("notifications before an answer", async () => {
    const { seen } = await page.run("talk", open.ws, [request(1, "progress", [3])], 4);
    const told = [1, 2, 3].map((step) => notification("progress", { step }));
    assert.deepEqual(seen, [...told, result(1, 3)]);
  });

  test("a subprotocol, and no compression", async () => {
    const { seen, protocol, extensions } = await page.run("talk", open.ws, [call], 1, ["mcp"]);
    assert.deepEqual([seen, protocol, extensions], [[result(1, 19)], "mcp", ""]);
  });

  test("many messages, and large ones", async () => {
    const many = Array.from({ length: 300 }, (_, i) => request(i, "echo", [i, "x".repeat(i * 100)]));
    const { seen } = await page.run("talk", open.ws, many, many.length);
    assert.deepEqual(seen, many.map(({ id, params }) => result(id, params)));
  });

  test("a message that is too long", async () => {
    const long = request(1, "echo", ["x".repeat(1_100_000)]);
    const { seen, code } = await page.run("talk", open.ws, [long], 1);
    assert.deepEqual({ seen, code }, { seen: [], code: 1009 });
  });

  test("not from another origin, nor without the token", async () => {
    const before = await open.count("subtract");
    for (const [from, url] of [[bad, open.ws], [page, guarded.ws]]) {
      const { seen, code } = await from.run("talk", url, [call], 1);
      assert.deepEqual({ seen, code }, { seen: [], code: 1006 });
    }
    assert.equal(await open.count("subtract"), before);
  });
});

describe("fetch", () => {
  test("calls, a batch, a notification", async () => {
    const { status, type, text } = await page.run("call", open.http, call);
    assert.deepEqual([status, type, JSON.parse(text)], [200, "cors", result(1, 19)]);
    const missing = await page.run("call", open.http, request(1, "missing"));
    assert.deepEqual([missing.status, JSON.parse(missing.text).error], [200, notFound]);
    const several = await page.run("call", open.http, batch);
    assert.deepEqual(JSON.parse(several.text), batchAnswer);
    const before = await open.count("notify_sum");
    const quiet = await page.run("call", open.http, notification("notify_sum", [1]));
    assert.deepEqual([quiet.status, quiet.text], [204, ""]);
    await open.counts("notify_sum", before + 1);
  });

  test("a stream of events", async () => {
    const headers = { Accept: "application/json, text/event-stream" };
    const { text } = await page.run("call", open.http, request(1, "progress", [2]), { headers });
    const events = text.split("\n\n").slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
    const told = [1, 2].map((step) => notification("progress", { step }));
    assert.deepEqual(events, [...told, result(1, 2)]);
  });

  test("the token, in either field", async () => {
    const fields = [
      { Authorization: `Bearer ${token}` },
      { "X-Claude-Code-Ide-Authorization": token },
    ];
    for (const headers of fields) {
      const { status, text } = await page.run("call", guarded.http, call, { headers });
      assert.deepEqual([status, JSON.parse(text)], [200, result(1, 19)]);
    }
  });

  test("the page can read why it was refused", async () => {
    const before = await guarded.count("subtract");
    const wrong = { headers: { Authorization: `Bearer ${token}x` } };
    for (const options of [{}, wrong])
      assert.equal((await page.run("call", guarded.http, call, options)).status, 401);
    assert.equal(await guarded.count("subtract"), before);
  });

  test("not from another origin, with or without a preflight", async () => {
    const before = await open.count("update");
    const message = notification("update", [1]);
    assert.deepEqual(await bad.run("call", open.http, message), { fault: "TypeError" });
    const plain = { headers: { "Content-Type": "text/plain" } };
    assert.deepEqual(await bad.run("call", open.http, message, plain), { fault: "TypeError" });
    const blind = await bad.run("call", open.http, message, { ...plain, mode: "no-cors" });
    assert.ok(blind.fault === "TypeError" || blind.type === "opaque", JSON.stringify(blind));
    assert.equal(await open.count("update"), before);
    await page.run("call", open.http, message);
    await open.counts("update", before + 1);
  });
});
