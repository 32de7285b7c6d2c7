// examples/math over HTTP: methods in a name space, single calls and batches, every reserved error code with HTTP 200, a
// bearer token, and a log line for each call.
//
//   node tests/math.mjs PROGRAM
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const token = "0123456789abcdef";
const program = spawn(process.argv[2], ["tcp:127.0.0.1:0"], {
  env: { ...process.env, MATH_TOKEN: token },
  stdio: ["ignore", "inherit", "pipe"],
});
process.once("exit", () => program.kill());
const log = [];
const address = await new Promise((found) =>
  createInterface({ input: program.stderr }).on("line", (line) => {
    log.push(line);
    const match = line.match(/^math: listening on tcp:(\S+)/);
    if (match) found(match[1]);
  }),
);

const send = (body, key) =>
  fetch(`http://${address}/rpc`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body,
  });
const post = (method, params, key) => send(JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }), key);

const calls = [
  ["add", [2, 3], 5],
  ["multiply", { a: 4, b: 2.5 }, 10],
  ["divide", [1, 4], 0.25],
];
for (const [name, params, result] of calls) {
  for (const method of [name, name[0].toUpperCase() + name.slice(1)]) {
    const answer = await (await post(`math.${method}`, params, token)).json();
    assert.deepEqual(answer, { jsonrpc: "2.0", result, id: 1 }, method);
  }
}
const zero = await (await post("math.Divide", [1, 0], token)).json();
assert.deepEqual(zero.error, { code: -32602, message: "Invalid params", data: "b must not be 0" });
assert.equal((await (await post("math.ADD", [2, 3], token)).json()).error.code, -32601);
assert.equal((await post("math.Add", [2, 3], "wrong")).status, 401);

// JSON-RPC errors have HTTP status 200.
const faults = [
  ['{"jsonrpc":"2.0","method"', -32700],
  ["not JSON", -32700],
  ["", -32700],
  ["[]", -32600],
  ["7", -32600],
  ['{"jsonrpc":"1.0","method":"math.add","params":[2,3],"id":1}', -32600],
  ['{"jsonrpc":"2.0","method":7,"id":1}', -32600],
  ['{"jsonrpc":"2.0","method":"math.power","params":[2,3],"id":1}', -32601],
  ['{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}', -32601],
  ['{"jsonrpc":"2.0","method":"math.add","params":[2],"id":1}', -32602],
  ['{"jsonrpc":"2.0","method":"math.add","params":[2,"3"],"id":1}', -32602],
  ['{"jsonrpc":"2.0","method":"math.add","params":{"a":2,"b":3,"c":4},"id":1}', -32602],
];
for (const [body, code] of faults) {
  const answer = await send(body, token);
  assert.equal(answer.status, 200, body);
  assert.equal((await answer.json()).error.code, code, body);
}

// Each call of a batch has an answer; notifications have none.
const batch = JSON.stringify([
  { jsonrpc: "2.0", method: "math.add", params: [2, 3], id: 1 },
  { jsonrpc: "2.0", method: "math.add", params: [2, 3] },
  { jsonrpc: "2.0", method: "math.divide", params: [1, 0], id: "zero" },
  1,
]);
const before = log.length;
const answers = await send(batch, token);
assert.equal(answers.status, 200);
assert.deepEqual(
  (await answers.json()).map((a) => [a.id, a.result ?? a.error.code]),
  [
    [1, 5],
    ["zero", -32602],
    [null, -32600],
  ],
);
const silent = await send('{"jsonrpc":"2.0","method":"math.add","params":[2,3]}', token);
assert.deepEqual([silent.status, await silent.text()], [204, ""]);
assert.equal((await send(batch, "wrong")).status, 401);

program.kill();
assert.deepEqual(await once(program, "close"), [0, null]);

// The log has a line for each call, including calls of a batch, and none for requests refused with 401.
const logged = log.slice(before).flatMap((line) => line.match(/method=(\S+).* code=(\S+)/)?.slice(1).join(" ") ?? []);
assert.deepEqual(logged, ["math.add 0", "math.add 0", "math.divide -32602", "math.add 0"]);
console.log("1 passed, 0 failed");
