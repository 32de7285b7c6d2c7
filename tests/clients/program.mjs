// A program that is controlled over stdio, one message per line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class Program {
  #child;
  #waiting = [];
  #lines = [];

  constructor(path) {
    this.#child = spawn(path, { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#arrived(line));
  }

  get stdin() {
    return this.#child.stdin;
  }

  get stdout() {
    return this.#child.stdout;
  }

  send(text) {
    this.#child.stdin.write(text + "\n");
  }

  // Calls back for each line from now on, instead of keeping it for `receive`.
  onLine(callback) {
    this.#arrived = callback;
  }

  receive() {
    if (this.#lines.length > 0) return Promise.resolve(this.#lines.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  // Closes the input; resolves to the exit status and the unread lines.
  async close() {
    this.#child.stdin.end();
    const [status] = await once(this.#child, "close");
    return { status, unexpected: this.#lines };
  }

  #arrived = (line) => {
    const resolve = this.#waiting.shift();
    if (resolve) resolve(line);
    else this.#lines.push(line);
  };
}
