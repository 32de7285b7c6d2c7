// The views of what was changed, by whom, and of what waits for review; for servers that have the methods.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { faultsOf, fresh, goTo, has, listed, openPage, skip, test as anyTest, texts } from "./fixture.mjs";
import { fumi, Server } from "./server.mjs";

const projectId = "p";

async function methodsOf() {
  if (skip) return [];
  const server = await Server.start();
  const { methods } = await server.call("rpc.discover");
  await server.stop();
  return methods.map(({ name }) => name);
}

const methods = await methodsOf();

// A test of a server that has these methods.
function test(name, needs, run) {
  if (needs.every((method) => methods.includes(method))) anyTest(name, run);
}

// Calls a tool as an agent does.
async function agent(server, name, args, client = { name: "tea-agent", version: "1.2" }) {
  const version = "2026-07-28";
  const prefix = "io.modelcontextprotocol/";
  const _meta = { [`${prefix}protocolVersion`]: version, [`${prefix}clientInfo`]: client, [`${prefix}clientCapabilities`]: {} };
  const response = await fetch(`${server.url}mcp`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta } }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { result } = JSON.parse(text.replace(/^data: /, ""));
  assert.ok(!result.isError, text);
  return result.structuredContent;
}

const focused = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);

const needsUndo = ["memory.history", "memory.undo"];

test("a deleted note is put back from the message", needsUndo, async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils." });
  const page = await openPage(t, of, { path: `#/notes?note=${id}` });
  await page.locator("#pane").getByRole("button", { name: "Delete" }).click();
  await page.locator("li.note", { hasText: "Kettle" }).waitFor({ state: "detached" });
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.locator("li.note", { hasText: "Kettle" }).waitFor();
  assert.equal((await of.call("memory.get", { id })).text, "It boils.");
});

test("the history shows who changed what, and puts it back", needsUndo, async (t) => {
  const of = await fresh(t);
  const { id } = await agent(of, "memory_add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils at 98 degrees." });
  const found = (await of.call("memory.list_recent", { projectId })).items[0].id;
  assert.ok(found.startsWith(id));
  await of.call("memory.update", { id: found, patch: { text: "It boils at 96 degrees." } });
  const page = await openPage(t, of, { path: `#/history?note=${found}` });
  const changes = page.locator("#pane .changes > li");
  await changes.nth(1).waitFor();
  assert.deepEqual(await texts(changes.first().locator("del, ins")), ["98", "96"]);
  await changes.nth(1).getByText("tea-agent 1.2").waitFor();
  await page.locator("main .changes > li").nth(1).waitFor();
  await changes.first().getByRole("button", { name: "Undo" }).click();
  await page.locator("#pane .body", { hasText: "98 degrees" }).waitFor();
  assert.equal((await of.call("memory.get", { id: found })).text, "It boils at 98 degrees.");
  await has(page, "1 change undone.");
});

test("the history is filtered by client, from a change or by name", needsUndo, async (t) => {
  const of = await fresh(t);
  const other = { name: "rice-agent", version: "3" };
  await agent(of, "memory_add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils at 98 degrees." });
  await agent(of, "memory_add_note", { projectId, groupId: "g", title: "Rice", text: "Wash it." }, other);
  const { items } = await of.call("memory.list_recent", { projectId });
  const { id } = items.find(({ title }) => title === "Kettle");
  await agent(of, "memory_update", { id, patch: { text: "It boils at 96 degrees." } });
  await agent(of, "memory_update", { id, patch: { text: "It boils at 80 degrees." } }, other);
  const page = await openPage(t, of, { path: "#/history" });
  const changes = page.locator("main .changes > li");
  const shown = (n) => page.waitForFunction((want) => document.querySelectorAll("main .changes > li").length === want, n);
  await shown(4);
  await changes.last().getByRole("link", { name: "tea-agent" }).click();
  await shown(2);
  const client = page.getByLabel("Client");
  assert.equal(await client.inputValue(), "tea-agent");
  assert.equal(await page.evaluate(() => document.activeElement.labels?.[0].textContent), "Client");
  assert.deepEqual(await texts(changes.first().locator("del, ins")), ["98", "96"]); // not "80", which the other client wrote
  await page.locator("#announce", { hasText: "2 changes by tea-agent" }).waitFor({ state: "attached" });
  assert.deepEqual(await faultsOf(page), []);
  await page.waitForFunction(() => [...document.querySelectorAll("datalist option")].map(({ value }) => value).join() === "rice-agent,tea-agent");
  await client.fill("rice-agent");
  await client.press("Enter");
  await changes.getByRole("link", { name: "Rice", exact: true }).waitFor();
  assert.deepEqual(await texts(changes.first().locator("del, ins")), ["96", "80"]);
  await client.fill("nobody");
  await client.press("Enter");
  await has(page, "No changes by nobody in this project");
  await page.getByRole("button", { name: "All clients" }).click();
  await shown(4);
});

test("the history has pages", needsUndo, async (t) => {
  const of = await fresh(t);
  const notes = Array.from({ length: 60 }, (_, i) => ({ groupId: "g", title: `Note ${i}`, text: `Text ${i}.` }));
  await of.call("memory.import", { projectId, notes });
  const { items } = await of.call("memory.list_recent", { projectId, limit: 60 });
  for (const { id } of items) await of.call("memory.update", { id, patch: { tags: ["seen"] } });
  const page = await openPage(t, of, { path: "#/history" });
  for (const n of [50, 100]) {
    await page.waitForFunction((want) => document.querySelectorAll("main .changes > li").length === want, n);
    await page.getByRole("button", { name: "Older changes" }).click();
  }
  assert.equal(await page.locator("main .changes > li").first().locator("ins").textContent(), "seen");
});

test("a note of an agent appears with the name of its client", ["memory.history"], async (t) => {
  const of = await fresh(t);
  await of.call("memory.add_note", { projectId, groupId: "g", text: "First." });
  const page = await openPage(t, of);
  await listed(page, 1);
  await agent(of, "memory_add_note", { projectId, groupId: "g", title: "Live", text: "From an agent." });
  await page.locator("#live", { hasText: "New: Live (tea-agent)" }).waitFor();
});

test("the open note keeps the focus when another note changes", ["memory.history"], async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils." });
  const page = await openPage(t, of, { path: `#/notes?note=${id}` });
  const pane = page.locator("#pane");
  await pane.locator(".changes > li").waitFor();
  await pane.getByRole("button", { name: "Edit" }).focus();
  await of.call("memory.add_note", { projectId, groupId: "h", title: "Bowl", text: "Whisks sell with bowls." });
  await page.locator("#live", { hasText: "New: Bowl" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Edit");
  await of.call("memory.update", { id, patch: { text: "It hisses." } });
  await pane.locator(".body", { hasText: "It hisses." }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Edit");
});

test("a note is replaced by a newer one", ["memory.history"], async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils at 98 degrees." });
  const page = await openPage(t, of, { path: `#/notes?note=${id}` });
  const pane = page.locator("#pane");
  await pane.getByRole("button", { name: "Replace" }).click();
  await pane.getByLabel("Text").fill("The new kettle boils at 80 degrees.");
  await pane.getByRole("button", { name: "Save" }).click();
  await pane.locator(".body", { hasText: "80 degrees" }).waitFor();
  await listed(page, 1);
  const old = await of.call("memory.get", { id });
  assert.equal(old.supersededBy, (await of.call("memory.list_recent", { projectId })).items[0].id);
  await page.evaluate((to) => { location.hash = `#/notes?note=${to}`; }, id);
  await has(page, "Superseded:");
});

// A page that compares two notes that differ in a number, reached from the older one.
async function compared(t, options) {
  const of = await fresh(t);
  const add = (title, degrees, createdAt) => of.call("memory.add_note", {
    projectId, groupId: "g", title, createdAt, text: `The kettle of the tea room boils at ${degrees} degrees.`,
  });
  const { id: older } = await add("Kettle", 98, "2026-01-01T00:00:00Z");
  const { id: newer } = await add("Boiler", 96, "2026-02-01T00:00:00Z");
  await of.embedded();
  const page = await openPage(t, of, { path: `#/notes?note=${older}`, ...options });
  const heading = page.getByRole("heading", { name: "Compare notes" });
  // On a busy machine the focus may move between the two steps of a press: the focus and the key.
  for (let i = 0; i < 5 && !(await heading.isVisible()); i++) {
    await page.locator("#pane").getByRole("link", { name: "Compare with Boiler" }).press("Enter", { timeout: 5000 }).catch(() => {});
    await heading.waitFor({ timeout: 5000 }).catch(() => {});
  }
  await heading.waitFor();
  await page.locator(".compared article").nth(1).waitFor();
  return { of, page, older, newer };
}

test("similar notes are compared, and the newer one replaces the older", needsUndo, async (t) => {
  const { of, page, older, newer } = await compared(t);
  const columns = page.locator(".compared article");
  assert.deepEqual(await columns.evaluateAll((all) => all.map(({ dataset }) => dataset.id)), [older, newer]);
  assert.deepEqual(await texts(columns.locator("mark")), ["98", "96"]);
  assert.equal(await columns.first().locator(".body").textContent(), "The kettle of the tea room boils at 98 degrees.");
  assert.deepEqual(await texts(columns.locator("p.hidden")), ["Only in this note: 98", "Only in this note: 96"]);
  await page.getByRole("button", { name: "Replace the older by the newer" }).click();
  await page.locator("#pane h2", { hasText: "Boiler" }).waitFor();
  await listed(page, 1);
  assert.equal((await of.call("memory.get", { id: older })).supersededBy, newer);
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await listed(page, 2);
  assert.equal((await of.call("memory.get", { id: older })).supersededBy, undefined);
});

test("changes made on the page name it", ["memory.history"], async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils." });
  const page = await openPage(t, of, { path: `#/notes?note=${id}` });
  await page.getByRole("button", { name: "Edit" }).click();
  await page.locator("#pane").getByLabel("Text").fill("It hisses.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#pane .changes").getByRole("link", { name: "Fumi page" }).waitFor();
  const { items } = await of.call("memory.history", { id });
  assert.deepEqual(items.map(({ by }) => by.claimed?.client), ["Fumi page", undefined]);
});

test("one of two similar notes is deleted, and put back", needsUndo, async (t) => {
  const { of, page, older, newer } = await compared(t);
  await page.getByRole("button", { name: "Keep both" }).click();
  await page.locator("#pane h2", { hasText: "Kettle" }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Delete the newer" }).click();
  await page.locator("#pane h2", { hasText: "Kettle" }).waitFor();
  await assert.rejects(of.call("memory.get", { id: newer }), /not found/i);
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await listed(page, 2);
  await page.goto(`${of.url}#/compare?a=${older}&b=00000000-0000-4000-8000-000000000000`);
  await page.getByRole("alert").filter({ hasText: /not found/i }).waitFor();
});

test("narrow screens show one compared note above the other", needsUndo, async (t) => {
  const { page } = await compared(t, { viewport: { width: 360, height: 640 } });
  const [first, second] = await page.locator(".compared article").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.ok(second.top >= first.bottom && first.left === second.left);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
});

test("a note that waits for review is accepted or rejected", ["memory.review"], async (t) => {
  const of = await fresh(t);
  await of.call("memory.upsert_global", { projectId, key: "global.memory.review", value: true });
  for (const title of ["Good", "Better", "Bad"]) await agent(of, "memory_add_note", { projectId, groupId: "g", title, text: `${title} text.` });
  const page = await openPage(t, of, { path: "#/review" });
  await listed(page, 3);
  assert.deepEqual(await faultsOf(page), []);
  await page.getByRole("button", { name: "Accept Good" }).press("Enter");
  await listed(page, 2);
  assert.equal(await focused(page), "Accept Better"); // which took its place
  await page.getByRole("button", { name: "Change Better" }).click();
  await page.locator("dialog textarea").fill("Best text.");
  await page.locator("dialog").getByRole("button", { name: "Accept" }).click();
  await listed(page, 1);
  await page.getByRole("button", { name: "Reject Bad" }).click();
  await page.locator("dialog").getByRole("button", { name: "Reject" }).click();
  await has(page, "Nothing waits for review");
  const stored = async () => (await of.call("memory.list_recent", { projectId })).items.map(({ text }) => text).sort();
  assert.deepEqual(await stored(), ["Best text.", "Good text."]);
  await page.locator(".toast", { hasText: "Accepted." }).first().getByRole("button", { name: "Undo" }).click();
  await has(page, "Undone.");
  assert.deepEqual(await stored(), ["Best text."]);
});

test("what was given to which session is shown", ["memory.injections"], async (t) => {
  const of = await fresh(t);
  const add = (title) => of.call("memory.add_note", { projectId, groupId: "global", title, text: `${title} text.` });
  const ids = [await add("Kettle"), await add("Bowl")].map(({ id }) => id);
  execFileSync(fumi, ["hook", "session-start", "--format", "json", "-p", projectId, "--data-dir", of.store], { env: of.env, input: '{"session_id":"monday"}' });
  await of.call("memory.delete", { id: ids[1] });
  const page = await openPage(t, of, { path: "#/given" });
  const row = page.locator("main .changes > li");
  await row.filter({ hasText: /in session monday got 2 notes \(session-start\)/ }).waitFor();
  await row.getByText(`a deleted note ${ids[1].slice(0, 8)}`).waitFor();
  assert.deepEqual(await faultsOf(page), []);
  await row.getByRole("link", { name: "Kettle" }).click();
  await page.locator("#pane .body", { hasText: "Kettle text." }).waitFor();
});

test("a list keeps the focus when something else changes", needsUndo, async (t) => {
  const of = await fresh(t);
  await of.call("memory.upsert_global", { projectId, key: "global.b", value: 1 });
  await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "It boils." });
  const page = await openPage(t, of, { path: "#/globals" });
  await page.getByRole("button", { name: "Change global.b" }).focus();
  await of.call("memory.upsert_global", { projectId, key: "global.a", value: 2 });
  await listed(page, 2);
  assert.equal(await focused(page), "Change global.b");
  await goTo(page, "history");
  const changes = page.locator("main .changes > li");
  await changes.last().getByRole("button", { name: "Undo" }).focus();
  const of_ = await page.evaluate(() => document.activeElement.closest("li").dataset.change);
  await of.call("memory.add_note", { projectId, groupId: "g", title: "Bowl", text: "Whisks sell with bowls." });
  await changes.filter({ hasText: "Bowl" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.closest("li")?.dataset.change), of_);
});

test("memory tests are run from their file", [], async (t) => {
  const of = await fresh(t);
  const teas = ["Sencha", "Hojicha", "Genmaicha", "Gyokuro", "Bancha", "Kukicha", "Matcha"];
  const ids = new Map();
  for (const tea of teas) ids.set(tea, (await of.call("memory.add_note", { projectId, groupId: "g", title: tea, text: `${tea} is a tea.` })).id);
  await of.embedded();
  const file = join(of.dir, "fumi-tests.jsonl");
  const cli = (...args) => execFileSync(fumi, ["test", ...args, "--file", file, "-p", projectId, "--data-dir", of.store], { env: of.env, encoding: "utf8" });
  cli("add", "what is Sencha?", ids.get("Sencha"));
  cli("add", "what is Bancha?", ids.get("Bancha"));
  await of.call("memory.delete", { id: ids.get("Bancha") });
  const { results } = await of.call("memory.search", { projectId, query: "what is Matcha?", topK: 100 });
  const last = results.at(-1);
  const more = [
    { question: "what is Matcha?", notes: [{ id: last.id, rank: 1, text: last.title }] },
    { question: "what is Kukicha?", notes: [{ id: ids.get("Kukicha"), rank: 0, text: "Kukicha" }] },
  ];
  writeFileSync(file, more.map((line) => `${JSON.stringify(line)}\n`).join(""), { flag: "a" });
  const page = await openPage(t, of, { path: "#/tests" });
  const choose = async () => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByLabel("File").click();
    await (await chooser).setFiles(file);
  };
  await choose();
  await has(page, "4 questions: 1 ok, 1 better, 1 worse, 1 lost.");
  assert.deepEqual(await faultsOf(page), []);
  const rows = page.locator("main li.note");
  assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => [row.querySelector("h3").textContent, row.dataset.state, row.querySelector(".facts").textContent])), [
    ["what is Sencha?", "ok", "rank 1, was 1"],
    ["what is Bancha?", "lost", "deleted, was 1"],
    ["what is Matcha?", "worse", `rank ${results.length}, was 1`],
    ["what is Kukicha?", "better", "rank 1, was not found"],
  ]);
  await rows.first().getByRole("link", { name: "Sencha" }).click();
  await page.locator("#pane h2", { hasText: "Sencha" }).waitFor();
  writeFileSync(file, '{"question":"x"}\nnonsense\n');
  await choose();
  await page.locator("main .error", { hasText: /line 1: notes must be a list.*line 2: / }).waitFor();
});

// A provider of embeddings that answers texts once `release` is called; the test of a new embedder at once.
async function provider(t) {
  let release;
  const released = new Promise((done) => (release = done));
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { input } = JSON.parse(body);
    const texts_ = [input].flat();
    if (texts_.some((text) => text.includes("kettle"))) await released;
    const data = texts_.map((text, index) => ({ index, embedding: Array.from({ length: 8 }, (_, i) => 1 + ((text.length * (i + 3)) % 7)) }));
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ data }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.ending(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}/v1`, release };
}

test("health shows the settings without secrets, and the progress of embedding again", [], async (t) => {
  const key = "sk-a-key-that-no-client-may-see";
  const { url, release } = await provider(t);
  t.ending(release);
  const of = await fresh(t);
  for (const n of [1, 2, 3]) await of.call("memory.add_note", { projectId, groupId: "g", text: `The kettle has number ${n}.` });
  await of.embedded();
  await of.call("memory.set_config", { embedder: { provider: "openai", model: "tea-1", baseUrl: url, apiKey: key } });
  const page = await openPage(t, of, { path: "#/health" });
  await has(page, "0 of 3 notes have vectors (0 %)");
  assert.deepEqual(await faultsOf(page), []);
  await has(page, "Vectors are being computed");
  const health = page.locator(".health");
  for (const text of ["tea-1", url, "set, never shown", of.store, "Vector cache"]) await health.getByText(text).first().waitFor();
  release();
  await has(page, "3 of 3 notes have vectors (100 %)");
  await has(page, "All is well.");
  assert.ok(!(await page.content()).includes(key));
  assert.ok(page.heard.length > 5 && !page.heard.join().includes(key));
});

test("a note is erased from the history", [...needsUndo, "memory.forget"], async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId, groupId: "g", title: "Kettle", text: "Secret tea." });
  await of.call("memory.add_note", { projectId, groupId: "g", text: "Another." });
  await of.call("memory.delete", { id });
  const page = await openPage(t, of, { path: "#/history" });
  await page.getByRole("button", { name: "Erase" }).click();
  await page.locator("dialog").getByRole("button", { name: "Erase" }).click();
  await has(page, "Erased.");
  await page.locator("main", { hasText: "Secret tea" }).waitFor({ state: "detached" });
  assert.doesNotMatch(JSON.stringify(await of.call("memory.history", {})), /Secret tea/);
});

test("projects are renamed, merged, deleted and put back", [...needsUndo, "memory.project_merge"], async (t) => {
  const of = await fresh(t);
  for (const name of ["one", "two"]) await of.call("memory.add_note", { projectId: name, groupId: "g", text: `Note of ${name}.` });
  const page = await openPage(t, of, { path: "#/projects" });
  const dialog = page.locator("dialog");
  await page.getByRole("button", { name: "Rename one" }).click();
  await dialog.getByLabel("New name").fill("three");
  assert.deepEqual(await faultsOf(page), []);
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("button", { name: "Merge three" }).click();
  await dialog.getByRole("combobox").selectOption("two");
  await dialog.getByRole("button", { name: "Merge" }).click();
  await page.locator("main li.note", { hasText: "2 notes" }).waitFor();
  await page.getByRole("button", { name: "Delete two" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await has(page, "Deleted.");
  await page.locator(".toast", { hasText: "Deleted." }).getByRole("button", { name: "Undo" }).click();
  await has(page, "Undone.");
  await page.locator("main li.note", { hasText: "2 notes" }).waitFor();
  assert.equal((await of.call("memory.list_recent", { projectId: "two" })).items.length, 2);
});
