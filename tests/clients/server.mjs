// spec-server on free ports of the loopback.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test as plainTest } from "node:test";

const path = process.env.SERVER;
const patience = 10_000;

// Whatever a failed test left behind must not keep the process for ever.
setTimeout(() => process.exit(1), 12 * patience).unref();

// A test that ends.
export function test(name, run) {
  return plainTest(name, { timeout: 2 * patience }, run);
}

export class Server {
  #child;
  #ended;
  #wanted;
  #stopped;
  #words = []; // what it said beside its addresses
  addresses = []; // as the server says them, in the order of --listen

  // For one test, at whose end it is stopped, if not before.
  static async startFor(context, ...flags) {
    const server = await Server.start(...flags);
    context.after(() => server.stop());
    return server;
  }

  // Listens on a free port of 127.0.0.1 and asks nobody for a token, unless the flags say otherwise.
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

  // How often a method was called, with whatever result; for servers with --metrics.
  async count(method) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const text = await (await fetch(this.page("/metrics"), { headers })).text();
    const begin = `fumi_calls_total{method="${method}"`;
    const lines = text.split("\n").filter((line) => line.startsWith(begin));
    assert.ok(lines.length > 0, `/metrics says nothing of ${method}`);
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  // Sees that a method is called so often in the end; for notifications, which nobody answers.
  async counts(method, n) {
    let count;
    while ((count = await this.count(method)) < n);
    assert.equal(count, n);
  }

  // Asks it to end, and sees that it ends well and said nothing.
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

// A call, or without an id a notification.
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

// A batch that has something of everything, and its answer.
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
