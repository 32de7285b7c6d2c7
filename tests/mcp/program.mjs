// mcp-conformance or another server, on a free loopback port or over stdio, and the transports that connect to it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { createInterface } from "node:readline";

export const patience = 10_000;

// The value of `promise`; on timeout, an error that names what was awaited.
export async function within(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited too long for ${what}`)), patience);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

class Program {
  constructor(path, flags, stdio) {
    this.child = spawn(path, flags, { stdio });
    this.ended = once(this.child, "close");
    this.said = [];
    process.once("exit", this.kill);
  }

  kill = () => this.child.kill("SIGKILL");

  // Checks that it exits with status 0 and printed nothing.
  async ends() {
    const [status, signal] = await within("the end of the server", this.ended).catch((fault) => {
      this.kill();
      throw fault;
    });
    process.off("exit", this.kill);
    assert.deepEqual({ status, signal, said: this.said }, { status: 0, signal: null, said: [] });
  }
}

export class Listener extends Program {
  // `url` is that of /mcp.
  static async start(path, ...flags) {
    const server = new Listener(path, flags);
    await within("the server to listen", server.#listens());
    return server;
  }

  constructor(path, flags) {
    super(path, [...flags, "--listen", "tcp:127.0.0.1:0"], ["ignore", "inherit", "pipe"]);
  }

  get url() {
    return `http://localhost:${this.port}/mcp`;
  }

  stop() {
    this.child.kill("SIGTERM");
    return this.ends();
  }

  #listens() {
    return new Promise((resolve, reject) => {
      this.ended.then(() => reject(new Error(`the server ended: ${this.said.join("\n")}`)), reject);
      createInterface({ input: this.child.stderr }).on("line", (line) => {
        const [, port] = line.match(/^listening on tcp:.*:(\d+)$/) ?? [];
        if (!port) return this.said.push(line);
        this.port = Number(port);
        resolve();
      });
    });
  }
}

// A queue of received messages, for all transports.
export class Inbox {
  #messages = [];
  #waiting = [];
  #over = false;

  put(message) {
    const next = this.#waiting.shift();
    if (next) next(message);
    else this.#messages.push(message);
  }

  // undefined: the connection has ended.
  end() {
    this.#over = true;
    for (const next of this.#waiting.splice(0)) next(undefined);
  }

  next() {
    if (this.#messages.length > 0) return this.#messages.shift();
    if (this.#over) return undefined;
    return within("a message", new Promise((resolve) => this.#waiting.push(resolve)));
  }

  // All remaining messages.
  async rest() {
    const all = [];
    for (let message; (message = await this.next()) !== undefined; ) all.push(message);
    return all;
  }
}

export class Stdio extends Program {
  inbox = new Inbox();

  static async start(path) {
    return new Stdio(path);
  }

  constructor(path) {
    super(path, ["--stdio"], ["pipe", "pipe", "pipe"]);
    createInterface({ input: this.child.stderr }).on("line", (line) => this.said.push(line));
    const lines = createInterface({ input: this.child.stdout });
    lines.on("line", (line) => this.inbox.put(JSON.parse(line)));
    lines.on("close", () => this.inbox.end());
  }

  raw(text) {
    this.child.stdin.write(text);
  }

  send(message) {
    this.raw(`${JSON.stringify(message)}\n`);
  }

  close() {
    this.child.stdin.end();
    return this.ends();
  }
}

// A WebSocket connection with its own server.
export class Socket {
  inbox = new Inbox();

  static async start(path) {
    const socket = new Socket();
    socket.server = await Listener.start(path, "--auth", "none");
    socket.ws = new WebSocket(`ws://127.0.0.1:${socket.server.port}/mcp`, "mcp");
    socket.ws.addEventListener("message", ({ data }) => socket.inbox.put(JSON.parse(data)));
    socket.ws.addEventListener("close", () => socket.inbox.end());
    await within("the WebSocket", once(socket.ws, "open"));
    assert.equal(socket.ws.protocol, "mcp");
    return socket;
  }

  kill = () => this.server.kill();

  raw(text) {
    this.ws.send(text);
  }

  send(message) {
    this.raw(JSON.stringify(message));
  }

  // Unlike on stdio, the server must be stopped.
  close() {
    return this.server.stop();
  }
}

// An HTTP reply: its head at once, its messages as they arrive.
class Answer {
  inbox = new Inbox();

  constructor(response) {
    this.response = response;
    this.status = response.statusCode;
    this.headers = response.headers;
    this.type = (response.headers["content-type"] ?? "").split(";")[0];
    response.setEncoding("utf8");
    response.on("error", () => this.inbox.end());
  }

  // The body as text.
  async text() {
    let text = "";
    const all = (async () => {
      for await (const piece of this.response) text += piece;
    })();
    await within("the end of an answer", all);
    return text;
  }

  // Reads an event stream.
  listen() {
    let text = "";
    this.response.on("data", (piece) => {
      const events = (text + piece).split("\n\n");
      text = events.pop();
      for (const event of events) this.#take(event);
    });
    this.response.on("close", () => this.inbox.end());
    return this;
  }

  #take(event) {
    const lines = event.split("\n");
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
    if (data.join("") !== "") this.inbox.put(JSON.parse(data.join("\n")));
  }

  close() {
    this.response.destroy();
  }
}

const usual = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

// One request; a header that is undefined is not sent. Resolves when the head has arrived.
export function request(server, { method = "POST", path = "/mcp", headers = {}, body } = {}) {
  const all = Object.entries({ ...(method === "POST" ? usual : {}), ...headers });
  const options = {
    host: "127.0.0.1",
    port: server.port,
    path,
    method,
    agent: false,
    headers: Object.fromEntries(all.filter(([, value]) => value !== undefined)),
  };
  const head = new Promise((resolve, reject) => {
    const sent = http.request(options, (response) => resolve(new Answer(response)));
    sent.on("error", reject);
    sent.end(typeof body === "string" ? body : body && JSON.stringify(body));
  });
  return within("the head of an answer", head);
}

// The same with the whole reply: {status, headers, type, json or events, text}.
export async function exchange(server, options) {
  const answer = await request(server, options);
  const { status, headers, type } = answer;
  if (type === "text/event-stream") return { status, headers, type, events: await answer.listen().inbox.rest() };
  const text = await answer.text();
  return { status, headers, type, text, json: type === "application/json" ? JSON.parse(text) : undefined };
}
