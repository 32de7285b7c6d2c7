// Debian's headless Chromium, controlled over two pipes (Chrome DevTools Protocol). It exits when
// they are closed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const patience = 60_000; // starting it may take more than 15 s while other tests run and files are not cached

export class Browser {
  #child;
  #ended;
  #directory;
  #last = 0;
  #waiting = new Map(); // by the id of the command
  #rest = "";

  static async start() {
    const directory = await mkdtemp(join(tmpdir(), "fumi-browser-"));
    const browser = new Browser(directory);
    await browser.#send("Browser.getVersion");
    return browser;
  }

  // It loads only test pages, so it needs no sandbox, which does not work as root or in containers.
  constructor(directory) {
    this.#directory = directory;
    const flags = [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-extensions",
      "--no-first-run",
      "--no-default-browser-check",
      "--no-proxy-server",
      "--remote-debugging-pipe",
      `--user-data-dir=${directory}`,
    ];
    this.#child = spawn("chromium", flags, {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: { ...process.env, HOME: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory },
      detached: true, // a group of its own, so that its helpers can be ended with it
    });
    this.#ended = once(this.#child, "exit");
    this.#ended.then(() => this.#fail(new Error("chromium ended")), (error) => this.#fail(error));
    this.#child.stdio[3].on("error", () => {});
    this.#child.stdio[4].setEncoding("utf8").on("data", (text) => this.#arrived(text));
    process.once("exit", this.#clean);
  }

  // Opens a URL; resolves to the page once it is loaded.
  async open(url) {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    await this.#send("Page.enable", {}, sessionId);
    const loaded = this.#wait(`load ${sessionId}`);
    await this.#send("Page.navigate", { url }, sessionId);
    await loaded;
    return new Page((method, params) => this.#send(method, params, sessionId));
  }

  async close() {
    const timer = setTimeout(this.#kill, patience);
    this.#child.stdio[3].end();
    await this.#ended;
    clearTimeout(timer);
    process.off("exit", this.#clean);
    this.#clean();
  }

  #clean = () => {
    this.#kill();
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };

  #kill = () => {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All processes have exited.
    }
  };

  #send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return this.#wait(id);
  }

  #wait(key) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("chromium does not answer")), patience);
      const settled = (settle) => (value) => (clearTimeout(timer), settle(value));
      this.#waiting.set(key, { resolve: settled(resolve), reject: settled(reject) });
    });
  }

  #arrived(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const { id, method, sessionId, result, error } of messages.map((one) => JSON.parse(one))) {
      const key = method === "Page.loadEventFired" ? `load ${sessionId}` : id;
      const waits = this.#waiting.get(key);
      this.#waiting.delete(key);
      if (error) waits?.reject(new Error(error.message));
      else waits?.resolve(result);
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

class Page {
  #send;

  constructor(send) {
    this.#send = send;
  }

  // Calls a function of the page with JSON values; resolves to the value of its promise.
  async run(name, ...values) {
    const { result, exceptionDetails } = await this.#send("Runtime.evaluate", {
      expression: `${name}(...${JSON.stringify(values)})`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
}
