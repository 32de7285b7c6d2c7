// A minimal MCP client: starts a server as a child process and shows every message, one per line.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { command, endWith, patience } from "./server.mjs";

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "lines", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

// The params of a modern request (2026-07-28).
export function modern(params = {}) {
  return { ...params, _meta: { ...meta, ...params._meta } };
}

export class Lines {
  #id = 0;
  #rest = ""; // of a line that is not complete yet
  #waiting = new Map(); // callbacks by request id
  #watching = []; // { fits, resolve }
  lines = []; // the whole output
  notifications = []; // received so far

  // Ends at the latest when its directory is removed.
  static start(dir, ...flags) {
    return Lines.startIn(dir, dir, ...flags);
  }

  // The same, with another working directory.
  static startIn(cwd, dir, ...flags) {
    const lines = new Lines(dir, flags, cwd);
    endWith(dir, () => lines.end());
    return lines;
  }

  constructor(dir, flags = [], cwd = dir) {
    const { command: program, args, env } = command(dir, ...flags);
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env, cwd });
    this.child.stdin.on("error", () => {});
    this.child.stderr.resume();
    this.ended = once(this.child, "close");
    this.child.stdout.setEncoding("utf8").on("data", (text) => this.#read(text));
    this.ended.then(() => this.#lost());
  }

  // Only a line feed ends a line.
  #read(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    lines.forEach((line) => this.#take(line));
  }

  #take(line) {
    this.lines.push(line);
    const message = JSON.parse(line);
    if (message.method) this.#onNotification(message);
    else this.#waiting.get(message.id)?.resolve({ ...message, line });
  }

  #onNotification(message) {
    this.notifications.push(message);
    this.#watching.filter((watch) => watch.fits(message)).forEach((watch) => watch.resolve(message));
  }

  #lost() {
    this.#waiting.forEach((one) => one.reject(new Error("the server has ended")));
  }

  write(message) {
    this.child.stdin.write(typeof message === "string" ? `${message}\n` : `${JSON.stringify(message)}\n`);
  }

  notify(method, params) {
    this.write({ jsonrpc: "2.0", method, params });
  }

  // Resolves to the whole response, with an error or a result, and its line.
  ask(method, params, id = ++this.#id) {
    const answer = bounded(method, (resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.write({ jsonrpc: "2.0", id, method, params });
    return answer;
  }

  async result(method, params) {
    const { result, error } = await this.ask(method, params);
    assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
    return result;
  }

  // A notification that was received already, or the next one.
  notification(method, fits = () => true) {
    const right = (message) => message.method === method && fits(message.params ?? {});
    const old = this.notifications.find(right);
    return old ?? bounded(method, (resolve) => this.#watching.push({ fits: right, resolve }));
  }

  async initialize(protocolVersion = "2025-11-25") {
    const clientInfo = { name: "lines", version: "1" };
    const result = await this.result("initialize", { protocolVersion, capabilities: {}, clientInfo });
    this.notify("notifications/initialized");
    return result;
  }

  // The result of a tool, which must not fail.
  async call(name, args, wrap = (params) => params) {
    const result = await this.result("tools/call", wrap({ name, arguments: args }));
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    return result.structuredContent;
  }

  // Closes its input or sends a signal; resolves to its exit status.
  async end(signal) {
    const timer = setTimeout(() => this.child.kill("SIGKILL"), patience);
    if (signal) this.child.kill(signal);
    else this.child.stdin.end();
    const [status, killed] = await this.ended;
    clearTimeout(timer);
    assert.equal(this.#rest, "", "its last line is not complete");
    return killed ?? status;
  }
}

// A promise that rejects on timeout; it need not be awaited.
export function bounded(what, start) {
  const promise = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`waited in vain: ${what}`)), patience);
    const done = (then) => (value) => {
      clearTimeout(timer);
      then(value);
    };
    start(done(resolve), done(reject));
  });
  promise.catch(() => {});
  return promise;
}
