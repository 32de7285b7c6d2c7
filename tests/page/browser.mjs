// Debian's Chromium, with an empty profile. Each page records what must not happen: errors on the console,
// requests to other origins.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const program = "/usr/bin/chromium";
export const hasBrowser = existsSync(program);

export const launch = () => chromium.launch({
  executablePath: program,
  headless: true,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

// Opens the page of a server in a new profile, after the script `first` has run in it; page.faults collects what
// went wrong, page.heard what the server sent over WebSocket.
export async function visit(browser, url, { first, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", timezoneId: "UTC", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000);
  page.faults = [];
  page.heard = [];
  if (first) await page.addInitScript(first);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.faults.push(`exception: ${error.message}`));
  const { host } = new URL(url);
  const check = (to) => new URL(to).host === host || page.faults.push(`request: ${to}`);
  page.on("request", (request) => check(request.url()));
  page.on("websocket", (socket) => {
    check(socket.url());
    socket.on("framereceived", ({ payload }) => page.heard.push(String(payload)));
  });
  await page.goto(url);
  return page;
}
