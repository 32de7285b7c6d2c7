// A server for the tests of one file, and helpers that check its HTTP replies.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { exchange, Listener, request } from "./program.mjs";
import { call, initialize, initialized, mirror } from "./words.mjs";

export let server;
before(async () => {
  server = await Listener.start(process.env.SERVER, "--auth", "none");
});
after(() => server.stop());

export const post = (body, headers = {}) => exchange(server, { body, headers });

// A modern message with the headers it needs; `more` replaces some of them.
export const send = (message, more = {}) => post(message, { ...mirror(message), ...more });

// Checks an error reply: status, code and id, and no other top-level members.
export function refused(answer, status, code, id) {
  assert.deepEqual(
    { status: answer.status, code: answer.json?.error?.code, id: answer.json?.id },
    { status, code, id },
    answer.text,
  );
  const members = ["jsonrpc", ...(id === undefined ? [] : ["id"]), "error"];
  assert.deepEqual(Object.keys(answer.json).sort(), members.sort());
  assert.equal(typeof answer.json.error.message, "string");
  return answer.json.error;
}

export function accepted(answer, id) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.type, "application/json");
  assert.deepEqual(Object.keys(answer.json).sort(), ["id", "jsonrpc", "result"], answer.text);
  assert.strictEqual(answer.json.id, id);
  return answer.json.result;
}

export async function taken(answer) {
  assert.equal(answer.status, 202);
  assert.equal(answer.text, "");
}

export class Session {
  static async open(version, capabilities, { ready = true } = {}) {
    const answer = await post(initialize(0, version, capabilities));
    const session = new Session();
    session.result = accepted(answer, 0);
    session.headers = { "Mcp-Session-Id": answer.headers["mcp-session-id"] };
    if (ready) await taken(await session.post(initialized));
    return session;
  }

  post(body, more = {}) {
    return post(body, { ...this.headers, ...more });
  }

  async call(method, params) {
    return accepted(await this.post(call("c", method, params)), "c");
  }

  open(options) {
    return request(server, { ...options, headers: { ...this.headers, ...options.headers } });
  }

  get() {
    return this.open({ method: "GET", headers: { Accept: "text/event-stream" } });
  }

  async delete() {
    const answer = await exchange(server, { method: "DELETE", headers: this.headers });
    return answer.status;
  }
}
