// What an agent does is traced and put back by one command; what is forgotten leaves no byte behind.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sdk1, sdk2 } from "./clients.mjs";
import { command, fumi, patience, run, scratch, serverEnv, test } from "./server.mjs";
import { groupId, projectId, value } from "./talk.mjs";

const sorted = (notes) => notes.sort((a, b) => (a.id < b.id ? -1 : 1));

// Runs a command of fumi on the store of this directory; its JSON output.
async function ask(dir, ...args) {
  const { status, out, err } = await run(fumi, [...args, "--data-dir", join(dir, "store")], { env: serverEnv });
  assert.equal(status, 0, err);
  return out && JSON.parse(out);
}

// The text, tags and title of all notes.
async function contents(dir) {
  const { out } = await run(fumi, ["export", "--data-dir", join(dir, "store")], { env: serverEnv });
  const notes = out.split("\n").filter((line) => line.includes('"text"')).map((line) => JSON.parse(line));
  return sorted(notes.map(({ id, text, tags, title }) => ({ id, text, tags, title })));
}

// An agent that overwrites ten notes and deletes five others. Returns the session of the changes.
async function destroy(dir, client, ids) {
  for (const id of ids.slice(0, 10))
    await value(client, "memory_update", { id, patch: { text: `overwritten ${id}`, tags: ["gone"], title: "gone" } });
  for (const id of ids.slice(10, 15)) await value(client, "memory_delete", { id });
  const { items } = await ask(dir, "call", "memory.history", "--limit", "15");
  const sessions = new Set(items.map(({ by }) => by.session));
  assert.equal(sessions.size, 1);
  assert.deepEqual(items[0].by.claimed, { client: "fumi-tests", version: "1" });
  assert.equal(items[0].by.transport, "stdio");
  return [...sessions][0];
}

const clients = [
  ["legacy", (where) => sdk1(where)],
  ["modern", (where) => sdk2(where, "auto")],
];

for (const [era, connect] of clients)
  test(`${era}: ten notes overwritten and five deleted come back with one command`, async (context) => {
    const dir = scratch(context);
    const first = await connect({ stdio: command(dir) });
    const ids = [];
    for (let i = 0; i < 20; i++) {
      const note = { projectId, groupId, text: `Fact number ${i} of the harbour`, title: `Fact ${i}`, tags: ["rule"] };
      ids.push((await value(first, "memory_add_note", note)).id);
    }
    await first.close();
    const before = await contents(dir);
    const vandal = await connect({ stdio: command(dir) });
    const session = await destroy(dir, vandal, ids);
    const after = await contents(dir);
    assert.equal(after.length, 15);
    assert.equal(after.filter(({ text }) => text.startsWith("overwritten")).length, 10);

    const undone = await ask(dir, "undo", "--session", session, "-f", "json");
    assert.equal(undone.undone.length, 15);
    assert.equal(undone.conflicts, undefined);
    assert.deepEqual(await contents(dir), before);
    // The server that still runs finds them again, by words and, once embedded, by meaning.
    const { results } = await value(vandal, "memory_search", { projectId, query: "fact number 12 of the harbour" });
    assert.ok(results.some(({ text }) => text === "Fact number 12 of the harbour"), JSON.stringify(results));
    await vandal.close();

    const again = await ask(dir, "undo", String(undone.change), "-f", "json");
    assert.deepEqual(await contents(dir), after);
    await ask(dir, "undo", String(again.change), "-f", "json");
    assert.deepEqual(await contents(dir), before);
  });

test("everything since a time comes back, and an agent undoes its own change", async (context) => {
  const dir = scratch(context);
  const client = await sdk1({ stdio: command(dir) });
  const { id } = await value(client, "memory_add_note", { projectId, groupId, text: "The lighthouse is red." });
  const { change } = await value(client, "memory_update", { id, patch: { text: "The lighthouse is blue." } });
  assert.equal(typeof change, "number");
  await value(client, "memory_undo", { change });
  assert.equal((await value(client, "memory_get", { id })).text, "The lighthouse is red.");
  const { items } = await ask(dir, "call", "memory.history", "--limit", "1");
  await value(client, "memory_delete", { id });
  await client.close();
  const later = new Date(Date.parse(items[0].at) + 1).toISOString();
  await ask(dir, "undo", "--project", projectId, "--since", later, "-f", "json");
  assert.equal((await ask(dir, "get", id, "-f", "json")).text, "The lighthouse is red.");
});

// A rare word of random letters, and parts of it as the index stores them.
const rare = () => Array.from({ length: 16 }, () => "bcdfghjklmnpqrtvwxz"[Math.floor(Math.random() * 19)]).join("");

function filesWith(dir, words) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath ?? file.path, file.name))
    .filter((file) => words.some((word) => readFileSync(file).includes(word)));
}

test("what is forgotten leaves no byte in any file", async (context) => {
  const dir = scratch(context);
  const words = Array.from({ length: 6 }, rare);
  const client = await sdk1({ stdio: command(dir) });
  const note = { projectId, groupId, text: `Secret ${words[0]} and ${words[1]}`, title: words[2], tags: [words[3]] };
  const { id } = await value(client, "memory_add_note", note);
  await value(client, "memory_add_note", { projectId, groupId, text: "This one stays." });
  await value(client, "memory_search", { projectId, query: words[0] });
  await value(client, "memory_update", { id, patch: { text: `Changed ${words[4]}`, source: words[5] } });
  const { change } = await value(client, "memory_delete", { id });
  await value(client, "memory_undo", { change });
  await value(client, "memory_delete", { id });
  assert.notDeepEqual(filesWith(dir, words), []);
  // The id of a deleted note must be given in full; the history has it.
  const { items } = await ask(dir, "call", "memory.history", "--limit", "1");
  const { notes, copies } = await ask(dir, "forget", items[0].id, "-f", "json");
  assert.equal(notes, 1);
  assert.deepEqual(copies, []);
  await client.close();
  await run(fumi, ["backup", join(dir, "copy.db"), "--data-dir", join(dir, "store")], { env: serverEnv });
  assert.ok(existsSync(join(dir, "copy.db")));
  assert.deepEqual(filesWith(dir, words), []);
  const { items: left } = await ask(dir, "call", "memory.history", "--id", items[0].id);
  assert.deepEqual(left.map(({ op, before }) => [op, before]), [["forget", undefined], ["add", undefined]]);
  assert.equal((await ask(dir, "list", "-p", projectId, "-f", "json")).items.length, 1);
});

test("a backup that has the note is named", async (context) => {
  const dir = scratch(context);
  const client = await sdk1({ stdio: command(dir) });
  const { id } = await value(client, "memory_add_note", { projectId, groupId, text: "Kept in a backup." });
  await client.close();
  await run(fumi, ["backup", join(dir, "copy.db"), "--data-dir", join(dir, "store")], { env: serverEnv });
  const { copies } = await ask(dir, "forget", id, "-f", "json");
  assert.deepEqual(copies, [join(dir, "copy.db")]);
});

test("the hook records what it gave, and to which session", async (context) => {
  const dir = scratch(context);
  const client = await sdk1({ stdio: command(dir) });
  await value(client, "memory_add_note", { projectId, groupId, text: "Given at the start.", tags: ["rule"] });
  await client.close();
  const args = ["hook", "session-start", "-p", projectId, "-f", "json", "--data-dir", join(dir, "store")];
  const { status } = await run(fumi, args, { env: serverEnv, input: JSON.stringify({ session_id: "session-7" }) });
  assert.equal(status, 0);
  const { items } = await ask(dir, "call", "memory.injections", "--session", "session-7");
  assert.equal(items.length, 1);
  assert.equal(items[0].kind, "session-start");
  assert.equal(items[0].ids.length, 1);
});

test("the history is as long as its settings say", async (context) => {
  const dir = scratch(context);
  const client = await sdk1({ stdio: command(dir) });
  for (let i = 0; i < 5; i++) await value(client, "memory_add_note", { projectId, groupId, text: `Fact ${i}` });
  await client.close();
  assert.equal((await ask(dir, "call", "memory.history")).items.length, 5);
  writeFileSync(join(dir, "store", "config.json"), JSON.stringify({ history: { bytes: 1 } }));
  const again = await sdk1({ stdio: command(dir) });
  const end = Date.now() + patience;
  let left;
  do ({ items: left } = await ask(dir, "call", "memory.history"));
  while (left.length && Date.now() < end);
  assert.deepEqual(left, []);
  assert.equal((await ask(dir, "list", "-p", projectId, "-f", "json")).items.length, 5);
  await again.close();
});
