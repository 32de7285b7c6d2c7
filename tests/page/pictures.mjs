// Makes the pictures of docs/images: node tests/page/pictures.mjs, after tests/page/run has installed the
// packages.
import { mkdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, visit } from "./browser.mjs";
import { notes, projectId } from "./notes.mjs";
import { Server } from "./server.mjs";

const to = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const most = 150_000;
const viewport = { width: 1200, height: 690 };

mkdirSync(to, { recursive: true });
const server = await Server.start();
const browser = await launch();

async function picture(name, path, colorScheme, then) {
  const page = await visit(browser, server.url + path, { colorScheme, viewport });
  await page.locator("h1").waitFor();
  await then(page);
  await page.waitForTimeout(300);
  const file = resolve(to, `${name}.png`);
  await page.screenshot({ path: file });
  if (statSync(file).size > most) throw new Error(`${file} has more than ${most} bytes`);
  if (page.faults.length) throw new Error(page.faults.join("\n"));
}

async function search(page) {
  await page.getByText("Why this note").first().click();
  await page.locator("li.note a.title").first().click();
  await page.locator("#pane .body").waitFor();
}

await server.call("memory.import", { projectId, notes: notes() });
await server.embedded();
await picture("page-light", "#/search?q=why+were+customers+charged+twice", "light", search);
await picture("page-dark", "#/notes", "dark", (page) => page.locator("li.note").nth(3).waitFor());
await picture("page-map", "#/map", "light", async (page) => {
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await page.evaluate(() => document.activeElement.blur());
});
await browser.close();
await server.stop();
