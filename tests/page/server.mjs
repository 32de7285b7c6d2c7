// `fumi serve` with its own store on a free port, and a JSON-RPC client for a test's own calls.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

export const fumi = resolve(process.env.FUMI ?? "build/bin/fumi");
const { PATH, FUMI_MODEL } = process.env;

export class Server {
  #child;
  #ended;
  #id = 0;
  words = [];

  constructor(dir) {
    this.dir = dir ?? mkdtempSync(join(tmpdir(), "fumi-page-"));
    this.store = join(this.dir, "store");
  }

  get env() {
    return { PATH, HOME: this.dir, ...(FUMI_MODEL ? { FUMI_MODEL } : {}) };
  }

  static async start(...flags) {
    const server = new Server();
    await server.run(...flags);
    return server;
  }

  // Also starts it again after `end`, on the same port.
  async run(...flags) {
    const args = ["serve", "--data-dir", this.store, "--log", "error", "--listen", `tcp:127.0.0.1:${this.port ?? 0}`, ...flags];
    this.#child = spawn(fumi, args, { stdio: ["ignore", "ignore", "pipe"], env: this.env });
    this.#ended = once(this.#child, "close");
    const lines = createInterface({ input: this.#child.stderr });
    await new Promise((done, fail) => {
      this.#ended.then(() => fail(new Error(`fumi ended: ${this.words.join("\n")}`)), fail);
      lines.on("line", (line) => {
        const [, port] = line.match(/^listening on tcp:.*:(\d+)$/) ?? [];
        if (!port) return this.words.push(line);
        this.port = Number(port);
        done();
      });
    });
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async call(method, params, headers = {}) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params });
    const response = await fetch(`${this.url}rpc`, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body });
    assert.equal(response.status, 200);
    const { result, error } = await response.json();
    if (error) throw new Error(JSON.stringify(error));
    return result;
  }

  // Waits until all notes have vectors.
  async embedded() {
    while ((await this.call("memory.stats")).embedding.pending) await new Promise((done) => setTimeout(done, 50));
  }

  async end() {
    this.#child.kill("SIGTERM");
    const [status] = await this.#ended;
    assert.equal(status, 0);
  }

  async stop() {
    await this.end();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
    assert.deepEqual(this.words, []);
  }
}
