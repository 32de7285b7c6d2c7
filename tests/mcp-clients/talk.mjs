// The steps that every client runs. A client is
//   { tools(): names, call(name, arguments, options): { value, text, isError }, close() }
// and, where it applies, also legacy (a handshake was made), sdk (the SDK's own Client), cancel (its
// calls take a signal), refuses: false (it cannot call an unknown tool), brief (its calls are slow).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

export const projectId = "mcp-clients";
export const groupId = "global";

export async function converse(client) {
  await lists(client);
  await remembers(client);
  await fails(client);
  if (client.cancel) await cancels(client);
  if (client.sdk) await browses(client.sdk);
  if (client.sdk && client.legacy) await client.sdk.ping();
}

async function lists(client) {
  const names = await client.tools();
  for (const name of ["memory_add_note", "memory_search", "memory_get"])
    assert.ok(names.includes(name), `${name} is not in ${names}`);
}

export async function remembers(client) {
  const text = `Ferries to the island leave at noon ${randomUUID()}`;
  const { id } = await value(client, "memory_add_note", { projectId, groupId, text });
  await finds(client, text, id);
}

export async function finds(client, text, id) {
  const { results } = await value(client, "memory_search", { projectId, query: text });
  const found = results.find((note) => note.text === text);
  assert.ok(found, `${text} is not in ${JSON.stringify(results)}`);
  if (id) assert.equal(found.id, id);
}

// The result of a tool, which must not fail. The text has the same content as the structured result.
export async function value(client, name, args, options) {
  const answer = await client.call(name, args, options);
  assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
  if (answer.value && answer.text) assert.deepEqual(JSON.parse(answer.text), answer.value);
  return answer.value ?? JSON.parse(answer.text);
}

async function fails(client) {
  const id = randomUUID();
  const missing = await client.call("memory_get", { id });
  assert.ok(missing.isError, JSON.stringify(missing));
  assert.match(missing.text, /not found/i);
  if (client.brief) return;
  const wrong = await client.call("memory_search", { projectId, query: "" });
  assert.ok(wrong.isError, JSON.stringify(wrong));
  assert.match(wrong.text, /query/);
  if (client.refuses !== false)
    await assert.rejects(client.call("memory_no_such_tool", {}), /memory_no_such_tool/);
}

// The call of the client is rejected, and both sides continue.
async function cancels(client) {
  const controller = new AbortController();
  const call = client.call("memory_search", { projectId, query: "anything" }, { signal: controller.signal });
  controller.abort(new Error("not wanted any more"));
  await assert.rejects(call);
  await remembers(client);
}

// Creates vectors, which takes a while; resolves to their number. Clients may drop the last progress
// notification, because they remove the handler when the response arrives.
export async function progresses(client) {
  const seen = [];
  const onprogress = ({ progress, total }) => seen.push({ progress, total });
  const { done, running } = await value(client, "memory_reembed", {}, { onprogress });
  assert.equal(running, false);
  assert.ok(seen.length > 0, "no progress was reported");
  for (let i = 1; i < seen.length; i++)
    assert.ok(seen[i].progress > seen[i - 1].progress, `${JSON.stringify(seen)} does not grow`);
  assert.ok(seen.at(-1).progress <= done && seen.at(-1).total === done, JSON.stringify(seen));
  return done;
}

async function browses(sdk) {
  await readsPrompts(sdk);
  await readsResources(sdk);
}

async function readsPrompts(sdk) {
  const { prompts } = await sdk.listPrompts();
  assert.ok(prompts.length > 0);
  for (const prompt of prompts) {
    const names = (prompt.arguments ?? []).filter((one) => one.required).map((one) => one.name);
    const args = Object.fromEntries(names.map((name) => [name, projectId]));
    const { messages } = await sdk.getPrompt({ name: prompt.name, arguments: args });
    assert.ok(messages.length > 0, prompt.name);
  }
  await assert.rejects(sdk.getPrompt({ name: "no_such_prompt", arguments: {} }));
}

async function readsResources(sdk) {
  const { resources } = await sdk.listResources();
  assert.ok(resources.length > 0);
  for (const { uri } of resources.slice(0, 8)) {
    const { contents } = await sdk.readResource({ uri });
    assert.ok(contents.length > 0 && contents.every((one) => typeof one.text === "string"), uri);
  }
  const { resourceTemplates } = await sdk.listResourceTemplates();
  assert.ok(resourceTemplates.some((one) => one.uriTemplate.endsWith("/recent")), JSON.stringify(resourceTemplates));
  await assert.rejects(sdk.readResource({ uri: "memory://no/such/thing" }), /memory:\/\/no\/such\/thing|not found/i);
}

// Calls every tool once, so that a client that validates output schemas sees all results.
export async function tour(client) {
  const names = new Set(await client.tools());
  const known = {};
  for (const [name, args] of stops) {
    if (!names.delete(name)) continue;
    known[name] = await value(client, name, args(known));
  }
  return [...names];
}

const note = (known) => known.memory_add_note.id;
const group = (known) => known.memory_group_create.id;
const key = "global.memory.tour";
const stops = [
  ["memory_add_note", () => ({ projectId, groupId, text: "a stop of the tour", title: "Tour", tags: ["tour"] })],
  ["memory_search", () => ({ projectId, query: "stop of the tour", tags: ["tour"], topK: 2 })],
  ["memory_get", (known) => ({ id: note(known) })],
  ["memory_update", (known) => ({ id: note(known), patch: { title: null, tags: ["tour", "done"] } })],
  ["memory_list_recent", () => ({ projectId, limit: 3 })],
  ["memory_upsert_global", () => ({ projectId, key, value: { any: ["thing"] } })],
  ["memory_get_global", () => ({ projectId, key })],
  ["memory_list_globals", () => ({ projectId })],
  ["memory_group_create", () => ({ projectId, groupKey: "tour", title: "Tour" })],
  ["memory_group_get", (known) => ({ id: group(known) })],
  ["memory_group_update", (known) => ({ id: group(known), patch: { title: "Tour 2" } })],
  ["memory_group_list", () => ({ projectId })],
  ["memory_group_delete", (known) => ({ id: group(known) })],
  ["memory_get_config", () => ({})],
  ["memory_import", () => ({ projectId, notes: [{ groupId, text: "One of several." }, { groupId, text: "Another of them.", tags: ["b"] }] })],
  ["memory_stats", () => ({})],
  ["memory_reembed", () => ({})],
  ["memory_delete", (known) => ({ id: note(known) })],
  ["memory_undo", (known) => ({ change: known.memory_delete.change })],
];
