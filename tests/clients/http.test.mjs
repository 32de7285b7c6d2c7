// curl and the published clients jayson and json-rpc-2.0 talk to spec-server over HTTP, on TCP and on
// a Unix socket. Run by ./run.
import assert from "node:assert/strict";
import http from "node:http";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import jayson from "jayson";
import jsonRpc from "json-rpc-2.0";
import { batch, batchAnswer, notFound, notification, request, result, Server, test } from "./server.mjs";

const { JSONRPCClient } = jsonRpc;
const token = "0123456789abcdef";
const json = ["-H", "Content-Type: application/json"];

const directory = await mkdtemp(join(tmpdir(), "fumi-clients-"));
const socketPath = join(directory, "socket");
const listen = ["--listen", "tcp:127.0.0.1:0", "--listen", `unix:${socketPath}`];
const open = await Server.start("--metrics", ...listen);
const origin = "http://friend.example";
const guard = ["--auth", "token", "--token", token, "--origins", origin];
const guarded = await Server.start("--metrics", ...guard);

after(async () => {
  try {
    await Promise.all([open.stop(), guarded.stop()]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

// Runs curl for several transfers, each a list of arguments; resolves to its output and to its report
// on each transfer.
async function curl(transfers, input = "") {
  const report = '%{stderr}\x1e{"info":%{json},"fields":%{header_json}}';
  const common = ["-sS", "--noproxy", "*", "--max-time", "20", "-w", report];
  const words = transfers.flatMap((own, i) => [...(i ? ["--next"] : ["-q"]), ...common, ...own]);
  const child = spawn("curl", words);
  const [out, err] = [[], []];
  child.stdout.on("data", (bytes) => out.push(bytes));
  child.stderr.on("data", (bytes) => err.push(bytes));
  child.stdin.on("error", () => {}); // a refused upload is not read to its end
  child.stdin.end(input);
  const [status] = await once(child, "close");
  const [said, ...reports] = Buffer.concat(err).toString().split("\x1e");
  assert.deepEqual({ status, said }, { status: 0, said: "" });
  return { text: Buffer.concat(out).toString(), reports: reports.map((text) => JSON.parse(text)) };
}

// One transfer: status, header fields by lower-case name, body.
async function one(words, input) {
  const { text, reports } = await curl([words], input);
  const [{ info, fields }] = reports;
  return { status: info.http_code, fields, text, info };
}

function post(url, value, ...words) {
  const isText = typeof value === "string" || Buffer.isBuffer(value);
  const body = isText ? value : JSON.stringify(value);
  return one([...json, "--data-binary", "@-", ...words, url], body);
}

// Several transfers in sequence.
function posted(value, ...words) {
  return [...json, "-d", JSON.stringify(value), ...words, open.http];
}

const large = JSON.stringify(request(1, "echo", ["x".repeat(900_000)]));
const largeAnswer = JSON.stringify(result(1, ["x".repeat(900_000)]));
const tooLarge = JSON.stringify(request(1, "echo", ["x".repeat(2_000_000)]));

describe("curl", () => {
  test("a call", async () => {
    const call = request(1, "subtract", { minuend: 42, subtrahend: 23 });
    const { status, fields, text } = await post(open.http, call);
    assert.equal(status, 200);
    assert.deepEqual(fields["content-type"], ["application/json"]);
    assert.deepEqual(JSON.parse(text), result(1, 19));
  });

  test("errors of JSON-RPC are HTTP 200", async () => {
    const missing = await post(open.http, request(7, "missing"));
    assert.equal(missing.status, 200);
    assert.deepEqual(JSON.parse(missing.text), { jsonrpc: "2.0", error: notFound, id: 7 });
    const table = [
      ["{", -32700],
      ["", -32700],
      [Buffer.from('"\xff"', "latin1"), -32700],
      ["1", -32600],
      ["[]", -32600],
    ];
    for (const [body, code] of table) {
      const { status, text } = await post(open.http, body);
      const { error, id } = JSON.parse(text);
      assert.deepEqual([status, error.code, id], [200, code, null], String(body));
    }
  });

  test("a batch, answered in its order", async () => {
    const { status, text } = await post(open.http, batch);
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text), batchAnswer);
  });

  test("a notification is run and answered with 204", async () => {
    const before = await open.count("notify_hello");
    const hello = notification("notify_hello", [7]);
    for (const body of [hello, [hello, hello]]) {
      const { status, fields, text } = await post(open.http, body);
      assert.deepEqual([status, text], [204, ""]);
      assert.equal(fields["content-length"], undefined);
      assert.equal(fields["content-type"], undefined);
    }
    await open.counts("notify_hello", before + 3);
  });

  test("several requests on one connection", async () => {
    const { text, reports } = await curl([
      posted(request(1, "subtract", [3, 1])),
      posted(notification("update", [])),
      [open.page("/nowhere"), "-o", "/dev/null"],
      posted(request(2, "slow_echo", [5])),
    ]);
    assert.equal(text, JSON.stringify(result(1, 2)) + JSON.stringify(result(2, [5])));
    assert.deepEqual(reports.map(({ info }) => info.http_code), [200, 204, 404, 200]);
    assert.deepEqual(reports.map(({ info }) => info.num_connects), [1, 0, 0, 0]);
  });

  test("browser-only headers are sent only to browsers", async () => {
    const call = request(1, "subtract", [42, 23]);
    const hello = notification("notify_hello", [7]);
    const browser = ["-H", `Origin: ${new URL(open.http).origin}`];
    const friend = ["-H", `Authorization: Bearer ${token}`, "-H", `Origin: ${origin}`];
    const whole = [
      ["call, own page", await post(open.http, call, ...browser)],
      ["notification, own page", await post(open.http, hello, ...browser)],
      ["call, allowed origin", await post(guarded.http, call, ...friend)],
      ["page", await one([open.page("/healthz")])],
      ["no such path", await one([open.page("/nowhere")])],
      ["wrong type", await post(open.http, call, "-H", "Content-Type: text/plain")],
      ["no token", await post(guarded.http, call)],
    ];
    const brief = [
      ["call", await post(open.http, call)],
      ["last call", await post(open.http, call, "-H", "Connection: close")],
      ["notification", await post(open.http, hello)],
    ];
    for (const [name, { fields }] of [...whole, ...brief]) {
      assert.deepEqual(fields["x-content-type-options"], ["nosniff"], name);
      assert.equal(fields.date.length, 1, name);
    }
    const names = ["x-frame-options", "referrer-policy", "content-security-policy",
      "cross-origin-resource-policy", "cache-control"];
    const said = [["DENY"], ["no-referrer"], ["default-src 'none'; frame-ancestors 'none'"],
      ["same-origin"], ["no-store"]];
    for (const [name, { fields }] of whole)
      assert.deepEqual(names.map((field) => fields[field]), said, name);
    for (const [name, { fields }] of brief)
      assert.deepEqual(names.filter((field) => fields[field]), [], name);
  });

  test("a connection that a browser and others share", async () => {
    const call = posted(request(1, "subtract", [42, 23]));
    const browser = ["-H", `Origin: ${new URL(open.http).origin}`];
    const { reports } = await curl([call, call, [...browser, ...call], call, [...browser, ...call]]);
    assert.deepEqual(reports.map(({ info }) => info.num_connects), [1, 0, 0, 0, 0]);
    assert.deepEqual(reports.map(({ fields }) => "x-frame-options" in fields), [false, false, true, false, true]);
  });

  test("Expect: 100-continue", async () => {
    const { text } = await post(open.http, large, "-i", "-H", "Expect: 100-continue");
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    assert.equal(text.split("\r\n\r\n").at(-1), largeAnswer);
  });

  test("a body that is too large is refused before it is sent", async () => {
    const expected = await post(open.http, tooLarge, "-H", "Expect: 100-continue");
    assert.deepEqual([expected.status, expected.info.size_upload], [413, 0]);
    assert.equal((await post(open.http, tooLarge, "-H", "Expect:")).status, 413);
  });

  test("HTTP/1.0 closes unless it is asked not to", async () => {
    const call = request(1, "subtract", [3, 1]);
    const plain = await curl([posted(call, "--http1.0"), posted(call, "--http1.0")]);
    assert.deepEqual(plain.reports.map(({ info }) => info.num_connects), [1, 1]);
    assert.deepEqual(plain.reports[0].fields.connection, ["close"]);
    const words = ["--http1.0", "-H", "Connection: keep-alive"];
    const kept = await curl([posted(call, ...words), posted(call, ...words)]);
    assert.deepEqual(kept.reports.map(({ info }) => info.num_connects), [1, 0]);
    assert.equal(kept.text, JSON.stringify(result(1, 2)).repeat(2));
  });

  test("chunked uploads", async () => {
    const words = [...json, "-X", "POST", "-T", "-", open.http];
    const small = await one(words, JSON.stringify(batch));
    assert.deepEqual([small.status, JSON.parse(small.text)], [200, batchAnswer]);
    const big = await one(words, large);
    assert.deepEqual([big.status, big.text === largeAnswer], [200, true]);
    assert.equal((await one([...words, "-H", "Expect:"], tooLarge)).status, 413);
    assert.equal((await one(words, "")).status, 200);
  });

  test("a large answer", async () => {
    const { text } = await post(open.http, request(1, "too_big", [5_000_000]));
    assert.equal(JSON.parse(text).result.length, 5_000_000);
  });

  test("HEAD and OPTIONS", async () => {
    const health = await one([open.page("/healthz")]);
    const head = await one(["-I", open.page("/healthz")]);
    assert.deepEqual([health.status, head.status], [200, 200]);
    assert.deepEqual(head.fields["content-length"], [String(health.text.length)]);
    assert.equal(head.info.size_download, 0);
    const options = await one(["-X", "OPTIONS", open.http]);
    assert.equal(options.status, 200);
    assert.deepEqual(options.fields.allow, ["POST, OPTIONS"]);
  });

  test("statuses of HTTP itself", async () => {
    const call = JSON.stringify(request(1, "subtract", [3, 1]));
    const table = [
      [405, [open.http]],
      [405, ["-I", open.http]],
      [405, ["-X", "PUT", "-d", call, open.http]],
      [404, ["-d", call, open.page("/rpc/")]],
      [411, ["-X", "POST", open.http]],
      [415, ["-d", call, open.http]], // curl sends application/x-www-form-urlencoded
      [200, ["-d", call, "-H", "Content-Type:", open.http]],
      [200, ["-d", call, "-H", "Content-Type: application/json-rpc; charset=utf-8", open.http]],
      [200, ["-d", call, "-H", "Content-Type: Application/JSONRequest", open.http]],
      [403, [...json, "-d", call, "-H", `Host: evil.example:${open.port}`, open.http]],
      [403, [...json, "-d", call, "-H", "Origin: http://evil.example", open.http]],
      [431, [...json, "-d", call, "-H", `X: ${"x".repeat(17_000)}`, open.http]],
      [426, [open.page("/ws")]],
    ];
    for (const [status, words] of table)
      assert.equal((await one(words)).status, status, words.join(" ").slice(0, 200));
    assert.deepEqual((await one([open.http])).fields.allow, ["POST, OPTIONS"]);
  });

  test("an answer that becomes a stream of events", async () => {
    const accept = ["-N", "-H", "Accept: application/json, text/event-stream"];
    const { fields, text } = await post(open.http, request(1, "progress", [3]), ...accept);
    assert.deepEqual(fields["content-type"], ["text/event-stream"]);
    const told = [1, 2, 3].map((step) => notification("progress", { step }));
    const events = text.split("\n\n").slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
    assert.deepEqual(events, [...told, result(1, 3)]);
    const plain = await post(open.http, request(1, "progress", [3]));
    assert.deepEqual(JSON.parse(plain.text), result(1, 3));
  });

  test("a Unix socket", async () => {
    assert.equal((await stat(socketPath)).mode & 0o777, 0o600);
    const words = ["--unix-socket", socketPath];
    const call = await post("http://localhost/rpc", batch, ...words);
    assert.deepEqual([call.status, JSON.parse(call.text)], [200, batchAnswer]);
    const quiet = await post("http://localhost/rpc", notification("update", []), ...words);
    assert.deepEqual([quiet.status, quiet.text], [204, ""]);
  });

  test("a token", async () => {
    const call = request(1, "get_data");
    const before = await guarded.count("get_data");
    for (const words of [[], ["-H", `Authorization: Bearer ${token}x`], ["-u", `me:${token}`]]) {
      const { status, fields } = await post(guarded.http, call, ...words);
      assert.equal(status, 401);
      assert.match(fields["www-authenticate"][0], /^Bearer/);
    }
    assert.equal(await guarded.count("get_data"), before);
    for (const field of [`Authorization: Bearer ${token}`, `x-claude-code-ide-authorization: ${token}`]) {
      const { status, text } = await post(guarded.http, call, "-H", field);
      assert.deepEqual([status, JSON.parse(text).result], [200, ["hello", 5]]);
    }
    assert.equal((await one([guarded.page("/healthz")])).status, 200);
    assert.equal((await one([guarded.page("/metrics")])).status, 401);
  });

  test("a browser's preflight, which carries no token", async () => {
    const ask = (from) => {
      const lines = [
        `Origin: ${from}`,
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization, content-type",
      ];
      return one(["-X", "OPTIONS", ...lines.flatMap((line) => ["-H", line]), guarded.http]);
    };
    const { status, fields } = await ask(origin);
    assert.equal(status, 204);
    assert.deepEqual(fields["access-control-allow-origin"], [origin]);
    assert.match(fields["access-control-allow-methods"][0], /POST/);
    assert.match(fields["access-control-allow-headers"][0], /Authorization/i);
    assert.match(fields.vary[0], /Origin/);
    for (const from of ["http://evil.example", `${origin}.evil.example`, "null"]) {
      const refused = await ask(from);
      assert.equal(refused.status, 403);
      assert.equal(refused.fields["access-control-allow-origin"], undefined);
    }
  });
});

function asker(client) {
  return (...words) =>
    new Promise((resolve, reject) => {
      client.request(...words, (error, response) => (error ? reject(error) : resolve(response)));
    });
}

// Everything that jayson does, over any transport.
async function jaysonTalks(client) {
  const ask = asker(client);
  assert.equal((await ask("subtract", [42, 23])).result, 19);
  const odd = { text: "\u00e9\u{1f600}" };
  assert.deepEqual(await ask("later", odd, "x"), result("x", odd));
  assert.equal((await ask("nothing", [])).result, null);
  assert.deepEqual((await ask("missing", [])).error, notFound);
  assert.deepEqual((await ask("fail_custom", [])).error.data, { why: "custom" });
  const before = await open.count("update");
  assert.equal(await ask("update", [1], null), undefined);
  const answers = await ask([
    client.request("subtract", [20, 5], 1),
    client.request("update", [3, 2], null),
    client.request("missing", [], 2),
  ]);
  assert.deepEqual(answers, [result(1, 15), { jsonrpc: "2.0", error: notFound, id: 2 }]);
  await open.counts("update", before + 2);
}

describe("jayson", () => {
  test("over HTTP", () => jaysonTalks(jayson.Client.http(open.http)));

  test("over HTTP, on a connection that is kept", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    await jaysonTalks(jayson.Client.http({ host: "127.0.0.1", port: open.port, path: "/rpc", agent }));
    agent.destroy();
  });

  test("over HTTP on a Unix socket", () =>
    jaysonTalks(jayson.Client.http({ socketPath, path: "/rpc", host: "localhost" })));

  test("over lines on a Unix socket", () => jaysonTalks(jayson.Client.tcp({ path: socketPath })));

  test("a batch of notifications", async () => {
    const client = jayson.Client.http(open.http);
    const quiet = () => client.request("update", [], null);
    assert.equal(await asker(client)([quiet(), quiet()]), undefined);
  });

  test("many calls at once", async () => {
    const ask = asker(jayson.Client.http(open.http));
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const answers = await Promise.all(numbers.map((i) => ask(i % 2 ? "slow_echo" : "later", [i])));
    assert.deepEqual(answers.map((answer) => answer.result[0]), numbers);
  });

  test("a token", async () => {
    const at = { host: "127.0.0.1", port: guarded.port, path: "/rpc" };
    const headers = { Authorization: `Bearer ${token}` };
    assert.equal((await asker(jayson.Client.http({ ...at, headers }))("subtract", [3, 1])).result, 2);
    await assert.rejects(asker(jayson.Client.http(at))("subtract", [3, 1]), { code: 401 });
  });
});

describe("json-rpc-2.0 over fetch", () => {
  function connect(server, headers = {}) {
    const client = new JSONRPCClient(async (message) => {
      const response = await fetch(server.http, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(message),
      });
      if (response.status === 200) client.receive(await response.json());
      else if (response.status !== 204) throw new Error(`HTTP ${response.status}`);
    });
    return client;
  }

  test("calls by position and by name", async () => {
    const client = connect(open);
    assert.equal(await client.request("subtract", [42, 23]), 19);
    assert.equal(await client.request("subtract", { subtrahend: 23, minuend: 42 }), 19);
    assert.deepEqual(await client.request("slow_echo", { a: [1.5, null] }), { a: [1.5, null] });
  });

  test("errors carry code, message and data", async () => {
    await assert.rejects(connect(open).request("missing"), notFound);
    await assert.rejects(connect(open).request("subtract", [1]), {
      code: -32602,
      message: "Invalid params",
      data: "expected two numeric parameters: [minuend, subtrahend]",
    });
    await assert.rejects(connect(open).request("fail_internal"), {
      code: -32603,
      message: "Internal error",
    });
  });

  test("notifications", async () => {
    const before = await open.count("notify_sum");
    await connect(open).notify("notify_sum", [1, 2, 4]);
    await open.counts("notify_sum", before + 1);
  });

  test("a batch", async () => {
    assert.deepEqual(await connect(open).requestAdvanced(batch), batchAnswer);
  });

  test("a token", async () => {
    const fields = { "x-claude-code-ide-authorization": token };
    assert.equal(await connect(guarded, fields).request("subtract", [3, 1]), 2);
    await assert.rejects(connect(guarded).request("subtract", [3, 1]), /HTTP 401/);
  });
});
