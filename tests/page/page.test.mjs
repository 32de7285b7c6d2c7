// The page in Chromium.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { faultsOf, fresh, goTo, has, listed, openPage, settled, skip, test, texts } from "./fixture.mjs";
import { notes, projectId } from "./notes.mjs";
import { Server } from "./server.mjs";

let server; // with the notes of the invented project; its tests leave it as it was
before(async () => {
  if (skip) return;
  server = await Server.start();
  await server.call("memory.import", { projectId, notes: notes() });
  await server.call("memory.upsert_global", { projectId, key: "global.project.conventions", value: { language: "TypeScript" } });
  await server.call("memory.group_create", { projectId, groupKey: "lessons", title: "Lessons", description: "What went wrong once." });
  await server.embedded();
});
after(() => server?.stop());

const open = (t, { of = server, ...options } = {}) => openPage(t, of, options);

test("the first visit to an empty store says what to do", async (t) => {
  const of = await fresh(t);
  const page = await open(t, { of });
  await has(page, "No notes yet");
  await has(page, "fumi setup");
  for (const name of await texts(page.locator("nav a"))) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await page.locator("h1", { hasText: name }).waitFor();
  }
  await page.getByRole("button", { name: "New note" }).click();
  await page.locator("#pane").getByLabel("Project").fill("demo");
  await page.getByLabel("Title").fill("The first");
  await page.getByLabel("Text").fill("A note that a person wrote.");
  await page.getByLabel("Tags").fill("one, two");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("li.note", { hasText: "The first" }).waitFor();
  const { items } = await of.call("memory.list_recent", { projectId: "demo" });
  assert.deepEqual(items.map(({ title, text, tags, groupId }) => ({ title, text, tags, groupId })),
    [{ title: "The first", text: "A note that a person wrote.", tags: ["one", "two"], groupId: "lessons" }]);
});

test("a search shows what was found and why", async (t) => {
  const page = await open(t);
  await page.getByRole("searchbox").pressSequentially("why were customers charged twice", { delay: 10 });
  await has(page, "Relevant notes found");
  await page.locator("li.note").first().getByText("Retries doubled the orders").waitFor();
  await page.locator("li.note").first().locator("mark", { hasText: "twice" }).first().waitFor(); // the whole query is answered
  await page.getByText("Why this note").first().click();
  const rows = await texts(page.locator("details.why[open] th"));
  assert.deepEqual(rows, ["Relevance", "Words", "Meaning", "Neighbours", "Date", "Score"]);
  await has(page, "Searched 20 of 20 notes");
  await page.getByText("Filters").click();
  await page.getByLabel("Group").selectOption("team");
  await has(page, "excluded 17 by group");
  assert.match(page.url(), /#\/search\?q=why.*group=team/);
});

test("a search without an answer says so", async (t) => {
  const page = await open(t);
  await page.getByRole("searchbox").fill("sourdough bread with raisins");
  await has(page, "Nothing relevant");
});

test("the answer to the latest query is shown", async (t) => {
  const page = await open(t);
  const box = page.getByRole("searchbox");
  for (const query of ["printer", "matcha", "time zones", "signing key"]) {
    await box.fill(query);
    await page.waitForFunction((q) => new URLSearchParams(location.hash.split("?")[1]).get("q") === q, query); // it is sent
  }
  await page.locator("li.note").first().getByText("Rotate the signing key").waitFor();
  assert.match(page.url(), /q=signing\+key/);
});

test("notes are browsed by group, tag and day", async (t) => {
  const page = await open(t);
  await has(page, "20 notes in tea-house");
  await listed(page, 20);
  await page.locator(".chips a.group", { hasText: "research" }).click();
  await listed(page, 3);
  await page.locator(".chips a.tag", { hasText: "stock" }).click();
  await listed(page, 1);
  await page.getByRole("link", { name: "Show all" }).click();
  await listed(page, 20);
  const day = page.locator(".timeline a").last();
  const [, count] = (await day.getAttribute("aria-label")).match(/: (\d+) note/);
  await day.click();
  await listed(page, Number(count));
});

test("notes of years are browsed by month and by day", async (t) => {
  const of = await fresh(t);
  const times = ["2024-02-29T12:00:00Z", "2024-03-01T12:00:00Z", "2026-10-30T12:00:00Z", "2026-10-31T12:00:00Z", "2026-10-31T13:00:00Z"];
  await of.call("memory.import", { projectId: "p", notes: times.map((createdAt, i) => ({ groupId: "g", text: `Note ${i}.`, createdAt })) });
  const page = await open(t, { of });
  const bars = () => page.locator(".timeline a").evaluateAll((all) => all.map((a) => a.getAttribute("aria-label")));
  await listed(page, 5);
  await page.getByRole("region", { name: "Notes per month" }).waitFor();
  assert.deepEqual(await bars(), ["2024-02: 1 note", "2024-03: 1 note", "2026-10: 3 notes"]);
  await page.getByRole("link", { name: "2026-10: 3 notes" }).click();
  await listed(page, 3);
  assert.deepEqual(await bars(), ["2026-10-30: 1 note", "2026-10-31: 2 notes"]);
  await page.getByRole("link", { name: "2026-10-31: 2 notes" }).click();
  await listed(page, 2);
  await page.getByRole("link", { name: "Show all" }).click();
  await listed(page, 5);
});

test("a note is edited, the edit is undone, and the note is deleted", async (t) => {
  const { id } = await server.call("memory.add_note", { projectId, groupId: "scratch", text: "The kettle boils at 98 degrees." });
  const page = await open(t, { path: `#/notes?group=scratch&note=${id}` });
  const pane = page.getByRole("complementary", { name: "Note" });
  await pane.getByRole("button", { name: "Edit" }).click();
  await pane.getByLabel("Text").fill("The kettle boils at 96 degrees.");
  await pane.getByLabel("Tags").fill("kettle");
  await pane.getByRole("button", { name: "Save" }).click();
  await pane.locator(".body", { hasText: "96 degrees" }).waitFor();
  assert.deepEqual((await server.call("memory.get", { id })).tags, ["kettle"]);
  await page.locator(".toast", { hasText: "Saved." }).getByRole("button", { name: "Undo" }).click();
  await pane.locator(".body", { hasText: "98 degrees" }).waitFor();
  const { text, tags } = await server.call("memory.get", { id });
  assert.deepEqual({ text, tags }, { text: "The kettle boils at 98 degrees.", tags: [] });
  await pane.getByRole("button", { name: "Move" }).click();
  await page.locator("dialog").getByLabel("Group").fill("kitchen");
  await page.locator("dialog").getByRole("button", { name: "Move" }).click();
  await pane.locator("a.group", { hasText: "kitchen" }).waitFor();
  await pane.getByRole("button", { name: "Delete" }).click();
  await has(page, "Deleted.");
  await assert.rejects(server.call("memory.get", { id }), /not found/i);
});

test("an edit that would overwrite another one asks first", async (t) => {
  const { id } = await server.call("memory.add_note", { projectId, groupId: "scratch", text: "One." });
  t.ending(() => server.call("memory.delete", { id }));
  const page = await open(t, { path: `#/notes?note=${id}` });
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Text").fill("Mine.");
  await server.call("memory.update", { id, patch: { text: "Theirs." } });
  await page.locator("main li.note", { hasText: "Theirs." }).waitFor();
  await page.locator("main li.note a.title", { hasText: "Retries doubled" }).click();
  await has(page, "Save or cancel the note that you edit first.");
  await page.getByRole("button", { name: "Save" }).click();
  await has(page, "The note has changed");
  await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal((await server.call("memory.get", { id })).text, "Theirs.");
  assert.equal(await page.getByLabel("Text").inputValue(), "Mine.");
});

test("errors of the server are shown as sentences", async (t) => {
  const page = await open(t);
  await page.getByRole("button", { name: "New note" }).click();
  await page.getByLabel("Title").fill("two\u202elines");
  await page.getByLabel("Text").fill("x");
  await page.getByRole("button", { name: "Save" }).click();
  await has(page, "title must be one line of visible text");
});

test("what another client stores appears without a reload", async (t) => {
  const page = await open(t);
  await has(page, "20 notes in");
  const { id } = await server.call("memory.add_note", { projectId, groupId: "team", title: "From elsewhere", text: "Another client wrote this." });
  await page.locator("li.note", { hasText: "From elsewhere" }).waitFor();
  await page.locator("#live", { hasText: "From elsewhere" }).waitFor();
  await server.call("memory.update", { id, patch: { title: "Changed elsewhere" } });
  await page.locator("li.note", { hasText: "Changed elsewhere" }).waitFor();
  await server.call("memory.delete", { id });
  await page.locator("li.note", { hasText: "elsewhere" }).waitFor({ state: "detached" });
});

test("markup, bidirectional controls and 日本語 in notes are text", async (t) => {
  const of = await fresh(t);
  const title = "<img src=x onerror=alert(1)>";
  const text = "<script>alert(1)</script>&lt;b&gt; \u202Egnp.exe\u202C \u2067שלום\u2069 日本語のメモ\n{{7*7}} javascript:alert(1)";
  const { id } = await of.call("memory.add_note", { projectId: "<b>p</b>", groupId: "g", title, text, tags: ["<i>t</i>"] });
  await of.call("memory.upsert_global", { projectId: "<b>p</b>", key: "global.x", value: "<u>v</u>" });
  const page = await open(t, { of });
  assert.equal(await page.locator("li.note a.title").textContent(), title);
  await page.locator("li.note a.title").click();
  const pane = page.locator("#pane");
  await pane.locator(".body").waitFor();
  assert.equal(await pane.locator(".body").textContent(), text);
  await page.getByRole("searchbox").fill("日本語 <script>");
  await page.locator("li.note mark").first().waitFor();
  assert.equal(await page.locator("li.note a.title").first().textContent(), title);
  for (const view of ["map", "globals", "groups", "projects"]) {
    await page.goto(`${of.url}#/${view}?note=${id}`);
    await page.locator("h1").waitFor();
    await pane.locator(".body").waitFor();
  }
  assert.equal(await page.locator("main :is(img, script, i, u), #pane :is(img, script, i, u), :is(.title, .text, .body, .value, .tag) b").count(), 0);
});

// In the page: the pixels of a canvas, from a copy, because Chromium warns of repeated reading.
function pixelsInPage() {
  window.pixels = (canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, canvas.width, canvas.height).data;
  };
}

test("the map shows notes, and is used with the keyboard and with the mouse", async (t) => {
  const page = await open(t, { path: "#/map", first: pixelsInPage });
  await has(page, "20 notes, near each other");
  const canvas = page.getByRole("application");
  // The view is built again when the counts arrive, and a canvas has no size before the first layout.
  await page.waitForFunction(() => {
    const element = document.querySelector("canvas");
    if (!element?.width) return false;
    const data = window.pixels(element);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 150) seen.add(`${data[i] >> 5},${data[i + 1] >> 5},${data[i + 2] >> 5}`);
    return seen.size >= 6; // colors
  });
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  const label = page.locator(".label");
  const first = await label.textContent();
  const walked = new Set([first]);
  for (const key of ["ArrowLeft", "ArrowDown", "ArrowLeft", "ArrowUp"]) {
    await page.keyboard.press(key);
    walked.add(await label.textContent());
  }
  assert.ok(walked.size > 2);
  const [name] = (await label.textContent()).split(" · ");
  // A change that does not concern the map leaves it as it is.
  const { id } = await server.call("memory.add_note", { projectId: "elsewhere", groupId: "g", text: "Not on this map." });
  const elsewhere = page.locator("#project option", { hasText: "elsewhere" });
  await elsewhere.waitFor({ state: "attached" });
  await server.call("memory.delete", { id });
  await elsewhere.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "CANVAS");
  await page.keyboard.press("+");
  await page.keyboard.press("Enter");
  await page.locator("#pane h2", { hasText: name }).waitFor();
  // With the mouse: the label of the note under it, and its text.
  await page.keyboard.press("0");
  await page.locator("#pane").getByRole("button", { name: "Close the note" }).click();
  await page.waitForFunction(() => document.querySelector("#pane").hidden);
  await page.waitForFunction(() => Math.abs(document.querySelector("canvas").width - document.querySelector("canvas").clientWidth) < 2);
  const dot = await canvas.evaluate((element) => {
    const { width, height } = element;
    const data = window.pixels(element);
    const solid = (x, y) => [0, 1, 2].every((i) => [0, 1, 2].every((k) => data[4 * ((y + k) * width + x + i) + 3] > 190));
    for (let y = 0; y < height - 2; y++)
      for (let x = 0; x < width - 2; x++) if (solid(x, y)) return { x: x + 1, y: y + 1 };
    return null;
  });
  await canvas.hover({ position: dot });
  await page.locator(".label:not(:empty)").waitFor();
  const [under] = (await label.textContent()).split(" · ");
  await canvas.click({ position: dot });
  await page.locator("#pane h2", { hasText: under }).waitFor();
  const lessons = page.getByRole("button", { name: /lessons/ });
  await lessons.click();
  assert.equal(await lessons.getAttribute("aria-pressed"), "false");
});

test("globals, groups and projects are changed", async (t) => {
  const of = await fresh(t);
  await of.call("memory.add_note", { projectId: "p", groupId: "g", text: "x" });
  await of.call("memory.add_note", { projectId: "q", groupId: "g", text: "y" });
  await of.call("memory.add_note", { projectId: "q", groupId: "g", text: "z" });
  const page = await open(t, { of, path: "#/globals" });
  const dialog = page.locator("dialog");
  assert.equal(await page.getByLabel("Project", { exact: true }).inputValue(), "q"); // the largest one
  await page.getByRole("button", { name: "New global" }).click();
  await dialog.getByLabel("Key").fill("global.project.style");
  await dialog.getByLabel("Value").fill('{"width": 100}');
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.locator("li.note", { hasText: "global.project.style" }).waitFor();
  assert.deepEqual((await of.call("memory.get_global", { projectId: "q", key: "global.project.style" })).value, { width: 100 });
  await page.getByRole("button", { name: "Delete global.project.style" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.locator("li.note", { hasText: "global.project.style" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Groups" }).click();
  await page.getByRole("button", { name: "Describe g" }).click();
  await dialog.getByLabel("Title").fill("Good things");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.locator("li.note", { hasText: "Good things" }).waitFor();
  await page.getByRole("button", { name: "Delete g" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Describe g" }).waitFor();
  await page.locator(".toast", { hasText: "Deleted." }).last().getByRole("button", { name: "Undo" }).click();
  await page.locator("li.note", { hasText: "Good things" }).waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await page.locator(".changes > li", { hasText: "created a group g" }).last().waitFor();
  await page.locator(".changes > li", { hasText: "deleted a global global.project.style" }).waitFor();
  await page.getByRole("link", { name: "Projects" }).click();
  await page.getByRole("button", { name: "p", exact: true }).click();
  await has(page, "1 note in p");
});

test("a lost connection is shown and mended", async (t) => {
  const of = await fresh(t);
  await of.call("memory.add_note", { projectId: "p", groupId: "g", text: "before" });
  const page = await open(t, { of, allowed: /ERR_CONNECTION|WebSocket connection/ });
  await page.locator("li.note", { hasText: "before" }).waitFor();
  await of.end();
  await page.getByRole("alert").filter({ hasText: "The connection to the server is lost" }).waitFor();
  await of.run();
  await of.call("memory.add_note", { projectId: "p", groupId: "g", text: "after" });
  await page.locator("li.note", { hasText: "after" }).waitFor();
  assert.equal(await page.locator("#banner").isVisible(), false);
});

test("a view that is chosen while the connection is lost is shown when it is mended", async (t) => {
  const of = await fresh(t);
  await of.call("memory.add_note", { projectId: "p", groupId: "g", title: "Kettle", text: "It boils at 98 degrees." });
  await of.embedded();
  const pages = [];
  for (const path of ["globals", "groups", "search?q=kettle", "notes?group=g", "history"]) {
    const page = await open(t, { of, allowed: /ERR_CONNECTION|WebSocket connection/ });
    await settled(page, "notes");
    pages.push([page, path]);
  }
  await of.end();
  for (const [page, path] of pages) {
    await page.locator("#banner").waitFor();
    await goTo(page, path);
    await page.locator("main .error").waitFor();
  }
  await of.run();
  for (const [page, path] of pages) {
    await page.locator("#banner").waitFor({ state: "hidden" });
    await page.locator("main .error").waitFor({ state: "detached" });
    await page.locator("main", { hasText: { globals: "No globals", groups: "1 note", history: "stored" }[path] ?? "98 degrees" }).waitFor();
  }
});

test("a view that is chosen before the page knows the projects is shown", async (t) => {
  const first = () => {
    const Real = WebSocket;
    window.WebSocket = class extends Real {
      constructor(...args) {
        super(...args);
        dispatchEvent(new Event("hashchange"));
      }
    };
  };
  const page = await open(t, { first });
  await listed(page, 20);
  assert.equal(await page.getByText("No notes yet").count(), 0);
});

test("a server with a token asks for it once", async (t) => {
  const token = "a-token/of+the+tests=~";
  const of = await fresh(t, "--auth", "token", "--token", token);
  const page = await open(t, { of, allowed: /status of 401|ERR_CONNECTION|WebSocket connection/ });
  await page.getByRole("textbox", { name: "Token" }).fill("wrong-wrong-wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await has(page, "That was not the token.");
  await page.getByRole("textbox", { name: "Token" }).fill(token);
  await page.getByRole("button", { name: "Continue" }).click();
  await has(page, "No notes yet");
  await page.reload();
  await has(page, "No notes yet");
  assert.equal(await page.locator("dialog").count(), 0);
  const kept = await page.evaluate(() => [Object.values(sessionStorage), Object.values(localStorage), document.cookie]);
  assert.deepEqual(kept, [[token], [], ""]);
  await of.end();
  await page.locator("#banner").waitFor();
  await of.run("--auth", "token", "--token", "another-token-of-the-tests");
  await page.getByRole("textbox", { name: "Token" }).fill("another-token-of-the-tests");
  assert.deepEqual(await faultsOf(page), []);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator("#banner").waitFor({ state: "hidden" });
});

test("a server of one project shows that project", async (t) => {
  const of = await fresh(t);
  await of.call("memory.add_note", { projectId: "other", groupId: "g", text: "Not for this page." });
  await of.end();
  await of.run("--project", "mine");
  const page = await open(t, { of });
  await has(page, "No notes yet");
  await page.getByRole("button", { name: "New note" }).click();
  assert.equal(await page.locator("#pane").getByLabel("Project").inputValue(), "mine");
  await page.getByLabel("Text").fill("The first of mine.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("main li.note", { hasText: "The first of mine." }).waitFor();
  assert.deepEqual(await texts(page.locator("#project option")), ["mine"]);
});

test("a read-only server offers nothing that writes", async (t) => {
  const of = await fresh(t);
  const { id } = await of.call("memory.add_note", { projectId: "p", groupId: "g", text: "x" });
  await of.end();
  await of.run("--read-only");
  const page = await open(t, { of, path: `#/notes?note=${id}` });
  await page.locator("#pane .body").waitFor();
  assert.deepEqual(await texts(page.locator("#pane button")), ["×"]);
  assert.equal(await page.getByRole("button", { name: "New note" }).count(), 0);
  await page.goto(`${of.url}#/globals`);
  await has(page, "No globals");
  assert.equal(await page.locator("main button").count(), 0);
});

const viewsOf = async (page) => {
  await settled(page, "notes");
  return page.locator("nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href").slice(2)));
};
const inView = (element) => {
  const { left, right } = element.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
};
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

test("narrow screens and 200 % zoom need no scrolling to the side", async (t) => {
  const { results: [{ id }, { id: other }] } = await server.call("memory.search", { projectId, query: "printer" });
  for (const viewport of [{ width: 320, height: 640 }, { width: 640, height: 400 }]) {
    const page = await open(t, { viewport });
    for (const path of [...(await viewsOf(page)), `notes?note=${id}`, "search?q=printer", `compare?a=${id}&b=${other}`]) {
      await goTo(page, path);
      assert.ok((await overflow(page)) <= 0, `${path} at ${viewport.width}`);
      if (!/note=|compare/.test(path)) assert.ok(await page.locator("nav a[aria-current]").evaluate(inView), `the link to ${path} at ${viewport.width}`);
    }
    await goTo(page, "search?q=label+printer");
    await page.locator("li.note a.title").first().click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Close the note" }).click();
    await page.locator("li.note").first().waitFor();
  }
});

for (const viewport of [{ width: 1280, height: 800 }, { width: 640, height: 400 }])
  test(`search, edit and undo need no mouse at ${viewport.width} pixels`, (t) => withoutMouse(t, viewport));

async function withoutMouse(t, viewport) {
  const { id } = await server.call("memory.add_note", { projectId, groupId: "scratch", title: "Zanzibar", text: "Cloves come from Zanzibar." });
  t.ending(() => server.call("memory.delete", { id }));
  const page = await open(t, { viewport });
  const press = (key) => page.keyboard.press(key);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);
  const tabTo = async (text, key = "Tab") => {
    for (let i = 0; i < 60; i++) {
      await press(key);
      if ((await focused()) === text) return;
    }
    assert.fail(`${text} is not reached`);
  };
  await press("Tab");
  assert.equal(await focused(), "Skip to the content");
  await press("/");
  await page.keyboard.type("cloves zanzibar");
  await page.locator("li.note", { hasText: "Zanzibar" }).first().waitFor();
  await tabTo("Zanzibar");
  await press("Enter");
  await page.locator("#pane h2", { hasText: "Zanzibar" }).waitFor();
  await tabTo("Edit");
  await press("Enter");
  await page.locator("#pane textarea").waitFor();
  await press("Control+End");
  await page.keyboard.type(" And Madagascar.");
  await press("Control+Enter");
  await page.locator("#pane .body", { hasText: "And Madagascar." }).waitFor();
  await tabTo("Undo");
  await press("Enter");
  await page.locator("#pane .body", { hasText: /^Cloves come from Zanzibar\.$/ }).waitFor();
  await press("Escape");
  await page.locator("#pane").waitFor({ state: "hidden" });
  assert.equal(await focused(), "Zanzibar");
}

const luminance = (page) => page.evaluate(() => {
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  return (r + g + b) / 3;
});

test("it follows the light and dark setting", async (t) => {
  const light = await open(t, { colorScheme: "light" });
  const dark = await open(t, { colorScheme: "dark" });
  assert.ok((await luminance(light)) > 200);
  assert.ok((await luminance(dark)) < 50);
});

test("axe finds no serious fault on any view", async (t) => {
  const { results: [{ id }, { id: other }] } = await server.call("memory.search", { projectId, query: "printer" });
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(t, { colorScheme });
    const views = await viewsOf(page);
    assert.ok(views.length >= 11);
    for (const path of [...views, "search?q=charged+twice", `compare?a=${id}&b=${other}`, `notes?note=${id}`]) {
      await goTo(page, path);
      if (path.includes("note=")) await page.locator("#pane .changes").waitFor();
      assert.deepEqual(await faultsOf(page), [], `${path} in ${colorScheme}`);
    }
    await page.getByRole("button", { name: "Edit" }).click();
    await page.locator("#pane textarea").waitFor();
    assert.deepEqual(await faultsOf(page), [], `the form in ${colorScheme}`);
  }
});
