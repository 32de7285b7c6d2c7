// `fumi serve` with its own store: as a command for clients that start it, or listening on a free port.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { test as plainTest } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { groupId, projectId } from "./talk.mjs";

export const fumi = resolve(process.env.FUMI ?? "build/bin/fumi");
export const patience = 20_000; // for one step
const long = 100_000; // for a test, and for a program that is slow to start on a busy machine

// The environment of a program, with an empty home directory.
const { PATH, FUMI_MODEL } = process.env;
const HOME = mkdtempSync(join(tmpdir(), "fumi-mcp-home-"));
process.once("exit", () => rmSync(HOME, { recursive: true, force: true }));
export const serverEnv = { PATH, HOME, ...(FUMI_MODEL ? { FUMI_MODEL } : {}) };

// What a failed test left behind must not keep the process running.
setTimeout(() => process.exit(1), 3 * long).unref();

// A test with a timeout.
export function test(name, run) {
  return plainTest(name, { timeout: long }, run);
}

// What must be stopped before a directory is removed.
const tenants = new Map();

// A directory for one test. When the test ends, everything started in it is stopped, and no process that
// uses it may remain.
export function scratch(context) {
  const dir = mkdtempSync(join(tmpdir(), "fumi-mcp-"));
  tenants.set(dir, []);
  context.after(() => leave(dir));
  return dir;
}

export function endWith(dir, end) {
  tenants.get(dir).push(end);
}

async function leave(dir) {
  const ends = await Promise.allSettled(tenants.get(dir).map((end) => end()));
  const left = await leftAfter(dir);
  for (const pid of left) process.kill(pid, "SIGKILL");
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  assert.deepEqual(left, [], "processes were left behind");
  for (const { reason } of ends) if (reason) throw reason;
}

// The processes with an argument that begins with this text.
export function processesOf(word) {
  const mine = (pid) => {
    try {
      return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(word);
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && mine(name)).map(Number);
}

async function leftAfter(dir) {
  const end = Date.now() + patience / 4;
  let left;
  while ((left = processesOf(dir)).length && Date.now() < end) await wait(20);
  return left;
}

// Waits until no process uses this directory.
export async function gone(dir) {
  assert.deepEqual(await leftAfter(dir), []);
}

// The command that serves this directory on standard input and output.
export function command(dir, ...flags) {
  return { command: fumi, args: ["serve", "--data-dir", join(dir, "store"), ...flags], env: serverEnv };
}

// The same, but its exit status is written to a file. A client that ends the server with a signal ends
// the shell and leaves no status behind, so this shows that closing its input was enough.
export function watchedCommand(dir, ...flags) {
  const { command: program, args, env } = command(dir, ...flags);
  const script = 'status=$1; shift; "$@"; echo $? >"$status"';
  return { command: "/bin/sh", args: ["-c", script, "sh", statusFile(dir), program, ...args], env };
}

export function endedByItself(dir) {
  const file = statusFile(dir);
  return existsSync(file) && readFileSync(file, "utf8") === "0\n";
}

const statusFile = (dir) => join(dir, "status");

// Listens on a free port of 127.0.0.1 until its directory is removed.
export class Server {
  #child;
  #ended;
  #words = [];

  static async start(dir, ...flags) {
    const server = new Server(dir, flags);
    endWith(dir, () => server.stop());
    await server.#listens();
    return server;
  }

  constructor(dir, flags) {
    const { command: program, args, env } = command(dir, "--log", "error", "--listen", "tcp:127.0.0.1:0", ...flags);
    this.#child = spawn(program, args, { stdio: ["ignore", "inherit", "pipe"], env });
    this.#ended = once(this.#child, "close");
    process.once("exit", this.#kill);
  }

  get http() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  get ws() {
    return `ws://127.0.0.1:${this.port}/ws`;
  }

  // Stops it, and checks that it exits with status 0 and printed nothing.
  async stop() {
    const timer = setTimeout(this.#kill, patience);
    this.#child.kill("SIGTERM");
    const [status, signal] = await this.#ended;
    clearTimeout(timer);
    process.off("exit", this.#kill);
    assert.deepEqual({ status, signal, words: this.#words }, { status: 0, signal: null, words: [] });
  }

  #kill = () => this.#child.kill("SIGKILL");

  #listens() {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(this.#kill, patience);
      this.#ended.then(() => reject(new Error(`fumi ended: ${this.#words.join("\n")}`)), reject);
      createInterface({ input: this.#child.stderr }).on("line", (line) => {
        const [, port] = line.match(/^listening on tcp:.*:(\d+)$/) ?? [];
        if (!port) return this.#words.push(line);
        clearTimeout(timer);
        this.port = Number(port);
        resolve();
      });
    });
  }
}

// Runs a program until it exits, with a timeout; resolves to { status, out, err }.
export async function run(program, args, { env, cwd, input = "" } = {}) {
  const child = spawn(program, args, { env, cwd, timeout: 0.8 * long, killSignal: "SIGKILL" });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [status, signal] = await once(child, "close");
  return { status: signal ?? status, out, err };
}

// A store with notes that lack vectors, because there was no model when they were stored.
export async function fill(dir, n) {
  const texts = Array.from({ length: n }, (_, i) => `Note ${i} tells of the ${i}th voyage`);
  const input = texts.map((text) => JSON.stringify({ kind: "note", projectId, groupId, text })).join("\n");
  const env = { ...serverEnv, FUMI_MODEL: join(dir, "nothing") };
  const { status, err } = await run(fumi, ["import", "--data-dir", join(dir, "store")], { env, input });
  assert.equal(status, 0, err);
}

// Whether a local embedding model is available.
export const hasModel = async () => (await run(fumi, ["model"], { env: serverEnv })).status === 0;
