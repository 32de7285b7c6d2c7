// Checks what the MCP registry requires of server.json (schema 2025-12-11) and of the npm package that it names:
//   node registry.mjs SERVER.JSON PACKAGE.JSON VERSION
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [server, npm] = process.argv.slice(2, 4).map((path) => JSON.parse(readFileSync(path, "utf8")));
const version = process.argv[4];

const text = (value, name, least, most) => {
  assert.equal(typeof value, "string", `${name} is missing`);
  assert.ok(value.length >= least && value.length <= most, `${name} has ${value.length} characters`);
};
assert.equal(server.$schema, "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json");
text(server.name, "name", 3, 200);
assert.match(server.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
text(server.title, "title", 1, 100);
text(server.description, "description", 1, 100);
assert.equal(server.version, version);
assert.equal(server.packages.length, 1);

const [entry] = server.packages;
assert.equal(entry.registryType, "npm");
assert.equal(entry.identifier, npm.name);
assert.equal(entry.version, version);
assert.deepEqual(entry.transport, { type: "stdio" });
for (const argument of entry.packageArguments) {
  assert.equal(argument.type, "positional");
  text(argument.value, "packageArguments.value", 1, 100);
}
for (const variable of entry.environmentVariables) {
  text(variable.name, "environmentVariables.name", 1, 100);
  assert.ok([undefined, "string", "number", "boolean", "filepath"].includes(variable.format));
}

// The registry compares these to see that one publisher owns both.
assert.equal(npm.mcpName, server.name);
assert.equal(npm.version, version);
assert.deepEqual([npm.os, npm.cpu, npm.libc], [["linux"], ["x64"], ["glibc"]]);
