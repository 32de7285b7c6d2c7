// spec-server on free ports of the loopback.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test as plainTest } from "node:test";

const path = process.env.SERVER;
const patience = 10_000;

// Leftovers of a failed test must not keep the process running.
setTimeout(() => process.exit(1), 12 * patience).unref();

// A test with a timeout.
export function test(name, run) {
  return plainTest(name, { timeout: 2 * patience }, run);
}

export class Server {
  #child;
  #ended;
  #wanted;
  #stopped;
  #words = []; // output other than the addresses
  addresses = []; // as printed by the server, in the order of --listen

  // For one test; stopped at its end at the latest.
  static async startFor(context, ...flags) {
    const server = await Server.start(...flags);
    context.after(() => server.stop());
    return server;
  }

  // Listens on a free port of 127.0.0.1 and requires no token, unless the flags say otherwise.
  static async start(...flags) {
    const auth = flags.includes("--auth") ? [] : ["--auth", "none"];
    const listen = flags.includes("--listen") ? [] : ["--listen", "tcp:127.0.0.1:0"];
    const server = new Server([...listen, ...auth, ...flags]);
    await server.#listens();
    return server;
  }

  constructor(flags) {
    this.#child = spawn(path, flags, { stdio: ["ignore", "inherit", "pipe"] });
    this.#ended = once(this.#child, "close");
    this.#wanted = flags.filter((flag) => flag === "--listen").length;
    this.token = flags.includes("--token") ? flags[flags.indexOf("--token") + 1] : undefined;
    process.once("exit", this.#kill);
  }

  // "127.0.0.1:PORT"
  get host() {
    return this.addresses.find((address) => address.startsWith("tcp:")).slice(4);
  }

  get port() {
    return Number(this.host.split(":").at(-1));
  }

  get http() {
    return `http://${this.host}/rpc`;
  }

  get ws() {
    return `ws://${this.host}/ws`;
  }

  page(name) {
    return `http://${this.host}${name}`;
  }

  // Number of calls of a method, with any result; for servers with --metrics.
  async count(method) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const text = await (await fetch(this.page("/metrics"), { headers })).text();
    const begin = `fumi_calls_total{method="${method}"`;
    const lines = text.split("\n").filter((line) => line.startsWith(begin));
    assert.ok(lines.length > 0, `/metrics does not contain ${method}`);
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  // Waits until a method was called that often; for notifications, which have no answer.
  async counts(method, n) {
    let count;
    while ((count = await this.count(method)) < n);
    assert.equal(count, n);
  }

  // Stops the server; it must exit with status 0 and without output.
  stop() {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop() {
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
      this.#ended.then(() => reject(new Error(`spec-server ended: ${this.#words.join("\n")}`)), reject);
      createInterface({ input: this.#child.stderr }).on("line", (line) => {
        const [, address] = line.match(/^listening on (.*)$/) ?? [];
        if (address) this.addresses.push(address);
        else this.#words.push(line);
        if (this.addresses.length < this.#wanted) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

// A request; without an id a notification.
export function request(id, method, params) {
  return { jsonrpc: "2.0", id, method, params };
}

export function notification(method, params) {
  return { jsonrpc: "2.0", method, params };
}

export function result(id, value) {
  return { jsonrpc: "2.0", result: value, id };
}

export const notFound = { code: -32601, message: "Method not found", data: "missing" };

// A batch with every kind of element, and its answer.
export const batch = [
  request("a", "subtract", [20, 5]),
  notification("update", [1]),
  request("b", "missing"),
  request("c", "later", { x: 1 }),
  request("d", "nothing"),
];
export const batchAnswer = [
  result("a", 15),
  { jsonrpc: "2.0", error: notFound, id: "b" },
  result("c", { x: 1 }),
  result("d", null),
];
