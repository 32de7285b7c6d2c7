// A fake model for agents: /v1/messages for Claude Code and /v1/responses for Codex, on a free
// loopback port. It calls one tool once and stops when it sees the result.
//
//   node fake-model.mjs TOOL ARGUMENTS       prints its address, then every request it receives
import { once } from "node:events";
import { createServer } from "node:http";

export class FakeModel {
  requests = []; // { path, body }
  #server = createServer((request, response) => this.#serve(request, response));

  static async startFor(context, tool, args) {
    const model = new FakeModel(tool, args);
    await model.#listen();
    context.after(() => model.stop());
    return model;
  }

  constructor(tool, args) {
    this.tool = tool; // its name in the tool list of the server
    this.args = args;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  // Every string in the requests, at any depth.
  get strings() {
    return this.requests.flatMap(({ body }) => stringsOf(body));
  }

  // The result of the tool as the model reads it; undefined if it was not called.
  get answer() {
    return this.requests.flatMap(({ body }) => [answerIn(body) ?? []].flat()).at(-1);
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #listen() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  async #serve(request, response) {
    const text = (await request.toArray()).join("");
    const path = request.url.split("?")[0];
    const play = plays[path];
    if (request.method !== "POST" || !play) return response.writeHead(404).end("{}");
    const body = JSON.parse(text);
    this.requests.push({ path, body });
    play(this, body, response);
  }
}

const plays = { "/v1/messages": playMessages, "/v1/responses": playResponses };

function stringsOf(value) {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(stringsOf);
}

// The tool's result in a request of either kind, as text.
function answerIn(body) {
  const blocks = (body.messages ?? []).flatMap((message) => (Array.isArray(message.content) ? message.content : []));
  const result = blocks.find((block) => block.type === "tool_result")?.content;
  const output = (body.input ?? []).find((item) => item.type === "function_call_output")?.output;
  const found = result ?? output;
  return found === undefined ? undefined : stringsOf(found).join("\n");
}

function sendEvents(response, events) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

// Whether to call the tool now: it is available under some prefix and was not called yet.
const offered = (model, body) => (body.tools ?? []).find((tool) => tool.name?.endsWith(`__${model.tool}`))?.name;

function playMessages(model, body, response) {
  const name = answerIn(body) === undefined && offered(model, body);
  const block = name
    ? { type: "tool_use", id: "toolu_1", name, input: model.args }
    : { type: "text", text: "Done." };
  const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, stop_sequence: null };
  const stop_reason = name ? "tool_use" : "end_turn";
  const usage = { input_tokens: 1, output_tokens: 1 };
  if (body.stream) return sendEvents(response, messageEvents({ ...message, usage }, block, stop_reason));
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...message, content: [block], stop_reason, usage }));
}

function messageEvents(message, block, stop_reason) {
  const call = block.type === "tool_use";
  const content_block = call ? { ...block, input: {} } : { ...block, text: "" };
  const delta = call
    ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
    : { type: "text_delta", text: block.text };
  return [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: message.usage },
    { type: "message_stop" },
  ];
}

function playResponses(model, body, response) {
  const space = (body.tools ?? []).find((tool) => tool.type === "namespace" && tool.name?.startsWith("mcp__"));
  const call = {
    type: "function_call", call_id: "call_1", name: offered(model, body) ?? model.tool,
    ...(space ? { namespace: space.name } : {}), arguments: JSON.stringify(model.args),
  };
  const words = { type: "message", role: "assistant", id: "msg_1", content: [{ type: "output_text", text: "Done." }] };
  const item = answerIn(body) === undefined ? call : words;
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  sendEvents(response, [
    { type: "response.created", response: { id: "resp_1" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "resp_1", usage } },
  ]);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [tool, args = "{}"] = process.argv.slice(2);
  const model = await FakeModel.startFor({ after: () => {} }, tool, JSON.parse(args));
  console.log(model.url);
  model.requests.push = (request) => console.log(JSON.stringify(request));
}
