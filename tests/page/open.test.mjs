// fumi open: finds the server of a store or becomes one, and opens the browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fumi, Server } from "./server.mjs";

const timeout = 180_000;

async function serve(context, ...flags) {
  const server = await Server.start(...flags);
  context.after(() => server.stop());
  return server;
}

// A desktop whose browser writes the address to a file.
function desktop(server) {
  const bin = join(server.dir, "bin");
  const seen = join(server.dir, "opened");
  if (!existsSync(bin)) mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" >${seen}.part && mv ${seen}.part ${seen}\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  return { env: { ...server.env, PATH: `${bin}:/usr/bin:/bin` }, seen };
}

async function appears(file) {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
  return readFileSync(file, "utf8");
}

async function output(args, env) {
  const child = spawn(fumi, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part) => (text += part));
  const [status] = await once(child, "close");
  return { status, text };
}

test("fumi open finds the server of its store", { timeout }, async (t) => {
  const server = await serve(t);
  const { env, seen } = desktop(server);
  assert.deepEqual(await output(["open", "--print", "--data-dir", server.store], env), { status: 0, text: `${server.url}\n` });
  assert.ok(!existsSync(seen));
  assert.deepEqual(await output(["open", "--data-dir", server.store], env), { status: 0, text: `${server.url}\n` });
  assert.equal(await appears(seen), server.url);
});

test("fumi open starts a server if none serves its store", { timeout }, async (t) => {
  const server = await serve(t);
  const { env, seen } = desktop(server);
  const child = spawn(fumi, ["open", "--port", "0", "--data-dir", server.store, "--db", join(server.dir, "other.db")],
    { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  t.after(() => child.kill("SIGKILL"));
  let log = "";
  child.stderr.on("data", (part) => (log += part));
  const url = await appears(seen);
  assert.notEqual(url, server.url);
  assert.equal((await fetch(url)).status, 200);
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  assert.match(log, /^listening on tcp:127\.0\.0\.1:\d+\nopening http:\/\/127\.0\.0\.1:\d+\/\n$/);
});
