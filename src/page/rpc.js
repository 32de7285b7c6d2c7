// JSON-RPC 2.0 over one WebSocket, which is opened again when it was lost.

const KEY = "fumi.token";

// An error of the server, or of the connection (code 0).
export class CallError extends Error {
  constructor({ code, message, data }) {
    super(typeof data === "string" && data ? (code === -32602 || code === -32600 ? data : `${message}: ${data}`) : message);
    this.code = code;
    this.data = data;
  }
}

const lost = () => new CallError({ code: 0, message: "The connection to the server was lost. The page connects again by itself; then try again." });

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

// A call without the WebSocket, which cannot tell why it was refused. Resolves to the HTTP status and the
// result.
export async function post(method, params) {
  const headers = { "Content-Type": "application/json" };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch("rpc", { method: "POST", headers, body });
  const answer = response.ok ? await response.json() : {};
  return { status: response.status, reason: response.ok ? "" : await response.text(), result: answer.result };
}

// A subprotocol may not contain every character of a token.
function encoded(text) {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export class Connection {
  #socket;
  #calls = new Map();
  #last = 0;
  #delay = 250;

  // onState(connected) is called at each change, onNotice(method, params) for each notification, and
  // onRefused(), which may wait, before the next attempt after one that failed.
  constructor({ onState, onNotice, onRefused }) {
    Object.assign(this, { onState, onNotice, onRefused });
  }

  open() {
    const url = new URL("ws", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    const protocols = token.get() ? ["fumi", `base64url.bearer.${encoded(token.get())}`] : ["fumi"];
    const socket = new WebSocket(url, protocols);
    socket.onopen = () => {
      this.#delay = 250;
      this.#socket = socket;
      this.onState(true);
    };
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = () => this.#closed(this.#socket === socket);
  }

  get connected() {
    return Boolean(this.#socket);
  }

  // Resolves to the result. options.signal cancels the call.
  call(method, params, { signal } = {}) {
    if (!this.#socket) return Promise.reject(lost());
    const id = ++this.#last;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    signal?.addEventListener("abort", () => this.#cancel(id), { once: true });
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  #cancel(id) {
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", method: "rpc.cancel", params: { id } }));
    call.reject(new DOMException("The call was cancelled", "AbortError"));
  }

  #receive(message) {
    if (message.method && message.id === undefined) {
      this.onNotice(message.method, message.params ?? {});
      return;
    }
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.error) call?.reject(new CallError(message.error));
    else call?.resolve(message.result);
  }

  #closed(wasOpen) {
    const calls = [...this.#calls.values()];
    this.#socket = undefined;
    this.#calls.clear();
    for (const { reject } of calls) reject(lost());
    this.onState(false);
    setTimeout(async () => {
      if (!wasOpen) await this.onRefused();
      this.open();
    }, this.#delay);
    this.#delay = Math.min(this.#delay * 2, 4000);
  }
}
