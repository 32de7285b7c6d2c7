// The MCP App in the published host code, in Chromium: the host speaks MCP over HTTP with `fumi serve`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import axe from "axe-core";
import { build } from "esbuild";
import { launch } from "./browser.mjs";
import { fresh, test, texts } from "./fixture.mjs";

const STRANGE = 'Ports <img src="http://192.0.2.1/x" onerror="parent.hacked=1"> \u202eabc\u202c 日本語 </script>';

async function bundle() {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [new URL("app-host.js", import.meta.url).pathname], bundle: true, write: false, format: "esm", platform: "browser",
  });
  return text;
}

// The origin of the host.
async function serveHost(t) {
  const script = await bundle();
  const server = createServer(({ url }, response) => {
    const [type, text] = url === "/" ? ["text/html", "<!doctype html><title>host</title><script type=module src=host.js></script>"]
      : url === "/host.js" ? ["text/javascript", script] : ["image/x-icon", ""];
    response.writeHead(200, { "Content-Type": `${type}; charset=utf-8` }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.ending(() => new Promise((done) => {
    server.close(done);
    server.closeAllConnections();
  }));
  return `http://127.0.0.1:${server.address().port}`;
}

// A page with the host; the app must send no request and cause no error.
async function openHost(t, origin, of) {
  const browser = await launch();
  t.ending(() => browser.close());
  const page = await (await browser.newContext({ locale: "en-GB", timezoneId: "UTC" })).newPage();
  const faults = [];
  page.setDefaultTimeout(45_000);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => request.frame() !== page.mainFrame() && faults.push(request.url()));
  t.ending(() => assert.deepEqual(faults, []));
  await page.goto(origin);
  await page.waitForFunction(() => window.host);
  await page.evaluate((url) => window.host.open(url), `${of.url}mcp`);
  return page;
}

async function setUp(t, ...flags) {
  const origin = await serveHost(t);
  const server = await fresh(t, "--origins", origin, ...flags);
  const page = await openHost(t, origin, server);
  return { server, page, app: page.frameLocator("iframe") };
}

const show = (page, args, theme = "light") => page.evaluate(([given, of]) => window.host.show("memory_search", given, of), [args, theme]);
const notes = (app) => app.locator("#list > li");
const status = (app, text) => app.locator("#status").filter({ hasText: text }).waitFor();

test("an app in a published host searches and opens notes", async (t) => {
  const { server, page, app } = await setUp(t);
  const add = (projectId, title, text) => server.call("memory.add_note", { projectId, groupId: "global", title, text, tags: ["net"] });
  await add("/srv/gate", "Port", `The gateway listens on port 8765.\n${STRANGE}`);
  await add("/srv/other", "Rain", "The port of the weather station is 9999.");
  await server.embedded();
  const shown = await show(page, { projectId: "/srv/gate", query: "gateway port" });
  assert.equal(shown.name, "fumi");
  await status(app, "1 note found");
  assert.equal(await app.locator("#query").inputValue(), "gateway port");
  await app.getByRole("button", { name: "Port" }).click();
  const text = await app.locator("#note .text").textContent();
  assert.ok(text.includes(STRANGE), text);
  assert.equal(await app.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await app.getByRole("button", { name: "Back to the list" }).click();
  assert.equal(await notes(app).count(), 1);

  await app.locator("#query").fill("weather station port");
  await app.getByLabel("Project").fill("");
  await app.locator("#go").click();
  await app.getByRole("button", { name: "Rain" }).waitFor();
  assert.deepEqual((await texts(app.locator("#projects option"))).length, 2);
  await app.getByLabel("Project").fill("x".repeat(5000));
  await app.locator("#query").press("Enter");
  await app.locator("#status.error").waitFor();
  assert.match(await app.locator("#status").textContent(), /projectId/);
  await page.evaluate(() => window.host.close());
});

test("a person accepts and rejects notes of the review queue in the app", async (t) => {
  const { server, page, app } = await setUp(t);
  await server.call("memory.upsert_global", { projectId: "p", key: "global.memory.review", value: true });
  const { forApp, plain } = await page.evaluate(() => window.host.names());
  assert.deepEqual(forApp, ["memory_review", "memory_review_accept", "memory_review_reject"]);
  assert.deepEqual(plain.filter((name) => name.includes("review")), []);
  await assert.rejects(page.evaluate(() => window.host.call("memory_review_accept", { ids: ["x"] })), /Unknown tool/);
  for (const text of ["The kiln fires at 1280 degrees.", "The kiln is blue."])
    await page.evaluate((of) => window.host.call("memory_add_note", { projectId: "p", groupId: "global", text: of }), text);
  await show(page, { projectId: "p", query: "how hot is the kiln" });
  await status(app, "Nothing relevant");
  await app.getByRole("button", { name: "Review" }).click();
  await status(app, "2 notes to review");
  assert.match(await notes(app).first().textContent(), /app-host/);
  await notes(app).filter({ hasText: "1280" }).getByRole("button", { name: "Accept" }).click();
  await status(app, "Accepted.");
  const blue = notes(app).filter({ hasText: "blue" });
  await blue.getByRole("button", { name: "Reject" }).click();
  await blue.getByRole("button", { name: "Really reject" }).click();
  await status(app, "Rejected. Nothing waits for review.");
  assert.deepEqual((await server.call("memory.review", {})).items, []);
  await server.embedded();
  await app.getByRole("button", { name: "Search" }).first().click();
  await app.locator("#query").press("Enter");
  await status(app, "1 note found");
  const { results } = await server.call("memory.list_recent", { projectId: "p" }).then((r) => ({ results: r.items ?? r.results }));
  assert.deepEqual(results.map((note) => note.text), ["The kiln fires at 1280 degrees."]);
});

test("an app follows the theme of the host, and is accessible", async (t) => {
  const { server, page, app } = await setUp(t);
  await server.call("memory.add_note", { projectId: "p", groupId: "global", text: "Tea at four." });
  await server.embedded();
  await show(page, { projectId: "p", query: "tea" });
  await status(app, "1 note found");
  const paper = () => app.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
  assert.equal(await paper(), "rgb(250, 248, 244)");
  await page.evaluate(() => window.host.theme("dark"));
  await app.locator("html[style*=dark]").waitFor();
  assert.equal(await paper(), "rgb(23, 21, 19)");
  for (const theme of ["dark", "light"]) {
    await page.evaluate((of) => window.host.theme(of), theme);
    await app.locator(`html[style*=${theme}]`).waitFor();
    const { violations } = await app.locator("body").evaluate(`${axe.source}; axe.run()`);
    assert.deepEqual(violations.map(({ id, impact }) => `${id} (${impact})`), []);
  }
});

test("an app of a read-only server says why it does not accept", async (t) => {
  const { server, page, app } = await setUp(t);
  await server.call("memory.upsert_global", { projectId: "p", key: "global.memory.review", value: true });
  await page.evaluate(() => window.host.call("memory_add_note", { projectId: "p", groupId: "global", text: "Tea at four." }));
  await page.evaluate(() => window.host.leave());
  await server.end();
  await server.run("--origins", new URL(page.url()).origin, "--read-only");
  await page.evaluate((url) => window.host.open(url), `${server.url}mcp`);
  await show(page, { projectId: "p", query: "tea" });
  await status(app, "Nothing relevant");
  await app.getByRole("button", { name: "Review" }).click();
  await status(app, "1 note to review");
  await app.getByRole("button", { name: "Accept" }).click();
  await app.locator("#status.error").filter({ hasText: "read-only" }).waitFor();
  assert.equal((await server.call("memory.review", {})).items.length, 1);
});
