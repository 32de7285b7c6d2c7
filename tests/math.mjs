// examples/math over HTTP: each method by both of its names, and the token.
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
const address = await new Promise((found) =>
  createInterface({ input: program.stderr }).on("line", (line) => {
    const match = line.match(/^math: listening on tcp:(\S+)/);
    if (match) found(match[1]);
  }),
);

const post = (method, params, key) =>
  fetch(`http://${address}/rpc`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }),
  });

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
program.kill();
assert.deepEqual(await once(program, "exit"), [0, null]);
console.log("1 passed, 0 failed");
