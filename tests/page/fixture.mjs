// What the tests in Chromium share: one browser, pages on which nothing may go wrong, servers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test as plainTest } from "node:test";
import { hasBrowser, launch, visit } from "./browser.mjs";
import { Server } from "./server.mjs";

export const skip = hasBrowser ? false : "there is no chromium";

let browser; // a promise, once a test needs it
after(async () => {
  setTimeout(() => process.exit(1), 60_000).unref(); // what a failed test left behind must not keep the process running
  await (await browser)?.close();
});

// A test; what it starts is ended in the reverse order.
export const test = (name, run) => plainTest(name, { skip, timeout: 180_000 }, (t) => {
  const ends = [];
  t.ending = (end) => ends.unshift(end);
  t.after(async () => {
    for (const end of ends) await end();
  });
  return run(t);
});

// A page of a server. When the test ends, no error may have occurred on it, except the allowed ones.
export async function openPage(t, of, { path = "", allowed = /^$/, ...options } = {}) {
  browser ??= launch();
  const page = await visit(await browser, of.url + path, options);
  t.ending(async () => {
    await page.context().close();
    assert.deepEqual(page.faults.filter((fault) => !allowed.test(fault)), []);
  });
  await page.locator("main h1, dialog").first().waitFor();
  return page;
}

export async function fresh(t, ...flags) {
  const one = await Server.start(...flags);
  t.ending(() => one.stop());
  return one;
}

// Goes to a view, and waits until it is shown.
export async function goTo(page, path) {
  await page.evaluate((to) => location.hash === to || new Promise((done) => {
    addEventListener("hashchange", done, { once: true }); // after the page's own listener
    location.hash = to;
  }), `#/${path}`);
  await settled(page, path.split("?")[0]);
}

export const settled = (page, view) => page.waitForFunction((name) =>
  document.body.dataset.view === name && !document.querySelector("main").hasAttribute("aria-busy"), view);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The serious faults that axe finds in what is shown.
export async function faultsOf(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate("axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })");
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

export const texts = (locator) => locator.allTextContents();
export const has = (page, text) => page.getByText(text).first().waitFor();
export const listed = (page, n) =>
  page.waitForFunction((want) => document.querySelectorAll("main li.note").length === want, n);
