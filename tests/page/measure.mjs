// Measures the page with 10,000 notes: node tests/page/measure.mjs, after tests/page/run has installed the
// packages. Takes about a minute, most of it for the vectors.
import { launch, visit } from "./browser.mjs";
import { notes, projectId } from "./notes.mjs";
import { Server } from "./server.mjs";

const count = 10_000;
const words = notes().flatMap(({ text }) => text.toLowerCase().match(/[a-z]{4,}/g));
let seed = 1;
const random = (n) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
const some = (n) => Array.from({ length: n }, () => words[random(words.length)]).join(" ");
const median = (numbers) => Math.round(numbers.sort((a, b) => a - b)[numbers.length >> 1]);

async function timed(run) {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

// From an event in the search field to the new results, without the pause that ends typing.
const typed = (page, query) => page.evaluate(async (text) => {
  const pause = 60;
  const box = document.getElementById("query");
  const began = performance.now();
  box.value = text;
  box.dispatchEvent(new Event("input"));
  await new Promise((resolve) => new MutationObserver(resolve).observe(document.querySelector(".results"), { childList: true }));
  return performance.now() - began - pause;
}, query);

const server = await Server.start();
const groups = ["lessons", "decisions", "runbook", "team"];
for (let i = 0; i < count; i += 1000) {
  const part = Array.from({ length: 1000 }, (_, k) => ({
    groupId: groups[(i + k) % 4], title: some(4), text: `${some(15)} ${i + k}`, createdAt: new Date(Date.now() - (i + k) * 600_000).toISOString(),
  }));
  await server.call("memory.import", { projectId, notes: part });
}
await server.embedded();
const browser = await launch();
const page = await visit(browser, server.url);
await page.locator("main li.note").nth(20).waitFor();
const scrolled = await timed(async () => {
  for (let i = 0; i < 10; i++) {
    const before = await page.locator("main li.note").count();
    await page.mouse.wheel(0, 100_000);
    await page.waitForFunction((n) => document.querySelectorAll("main li.note").length > n, before);
  }
});
await page.fill("#query", some(3));
await page.locator(".verdict").waitFor();
const searches = [];
for (let i = 0; i < 15; i++) searches.push(await typed(page, some(1 + (i % 3))));
const answers = [];
for (let i = 0; i < 5; i++) answers.push(await timed(() => server.call("memory.map", { projectId })));
const map = await timed(async () => {
  await page.evaluate(() => { location.hash = "#/map"; });
  await page.locator("canvas").waitFor();
});
console.log(`search: results ${median(searches)} ms after the pause in typing (median)`);
console.log(`list: 10 further pages in ${Math.round(scrolled)} ms`);
console.log(`map: answer in ${median(answers)} ms (median), shown in ${Math.round(map)} ms`);
await browser.close();
await server.stop();
process.exit(page.faults.length ? 1 : 0);
