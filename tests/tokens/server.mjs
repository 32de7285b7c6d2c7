// `fumi serve` on standard input and output, with a store of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Server {
  #id = 0;
  #waiting = new Map(); // callbacks by request id
  #dir = mkdtempSync(join(tmpdir(), "fumi-tokens-"));
  #child;

  constructor(...flags) {
    this.#child = spawn(process.env.FUMI, ["serve", "--data-dir", this.#dir, "--log", "error", ...flags],
      { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const { id, result, error } = JSON.parse(line);
      this.#waiting.get(id)?.({ result, error, line });
      this.#waiting.delete(id);
    });
    this.ended = once(this.#child, "close").then(() => {
      for (const resolve of this.#waiting.values()) resolve({ error: { message: "the server has ended" } });
    });
  }

  ask(method, params) {
    const id = ++this.#id;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer;
  }

  async call(method, params) {
    const { result, error } = await this.ask(method, params);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  initialize() {
    return this.call("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } });
  }

  // The object and the text that a tool returns.
  async tool(name, args) {
    const { structuredContent, content, isError } = await this.call("tools/call", { name, arguments: args });
    if (isError) throw new Error(content[0].text);
    return { object: structuredContent, text: content[0].text };
  }

  async end() {
    this.#child.stdin.end();
    await this.ended;
    rmSync(this.#dir, { recursive: true });
  }
}
