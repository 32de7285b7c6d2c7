// The runs of tests/mcp/conformance, which installs what this needs.
//
//   node conformance.mjs mcp-conformance|fumi PROGRAM
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Listener } from "./program.mjs";

const [kind, program] = process.argv.slice(2);
const patience = 240_000; // for a whole run of the suite
const scratch = mkdtempSync(join(tmpdir(), "fumi-conformance-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const now = { suite: "conformance", name: "0.2.0-alpha.12" };
const old = { suite: "conformance-old", name: "0.1.16" };

// The scenarios that need no fixtures, by revision. A few checks of server-stateless do: no-fixtures.yml lists them.
const plain = {
  "2025-11-25": [
    "server-initialize", "server-session-lifecycle", "ping", "logging-set-level", "tools-list", "resources-list",
    "prompts-list", "server-sse-multiple-streams", "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "caching",
    "sep-2164-resource-not-found", "http-header-validation", "dns-rebinding-protection",
    "input-required-result-unsupported-methods",
  ],
};
const excuses = { "server-stateless": ["--expected-failures", "no-fixtures.yml"] };
const alone = (scenario, version) => ({
  ...now, flags: ["--scenario", scenario, "--spec-version", version, ...(excuses[scenario] ?? [])],
});

const kinds = {
  "mcp-conformance": {
    flags: ["--auth", "none"],
    workers: 1,
    runs: [
      { ...now, flags: ["--requirements", "2025-11-25"] },
      { ...now, flags: ["--requirements", "2026-07-28"] },
      { ...old, flags: ["--suite", "active"] },
    ],
  },
  fumi: {
    flags: ["serve", "--log", "silent", "--data-dir", join(scratch, "data")],
    workers: 2,
    runs: Object.entries(plain).flatMap(([version, all]) => all.map((scenario) => alone(scenario, version))),
  },
};

// Runs a process until it exits; returns its status and output.
async function finish(args) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), patience);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const [status] = await once(child, "close");
  clearTimeout(timer);
  return { status, said };
}

// The checks of every scenario, from the files that the suite writes.
function results(directory) {
  return readdirSync(directory, { recursive: true })
    .filter((path) => path.endsWith("checks.json"))
    .flatMap((path) => {
      const scenario = path.replace(/-\d{4}-\d\d-\d\dT.*/, "").replace(/^server-/, "");
      return JSON.parse(readFileSync(join(directory, path), "utf8")).map((check) => ({ ...check, scenario }));
    });
}

const count = (checks, status) => checks.filter((check) => check.status === status).length;

function show(run, status, said, checks) {
  const scenarios = new Set(checks.map((check) => check.scenario)).size;
  const words = `${scenarios} scenarios, ${count(checks, "SUCCESS")} checks passed, ` +
    `${count(checks, "FAILURE")} failed, ${count(checks, "WARNING")} warnings`;
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${run.name} ${run.flags.join(" ")}: ${words}`);
  const unscored = new Set(checks.filter((check) => check.status === "FAILURE").map((check) => check.scenario));
  if (status === 0 && unscored.size > 0) console.log(`       failed, but not scored, or excused: ${[...unscored].join(", ")}`);
  for (const check of checks.filter((one) => one.status === "WARNING"))
    console.log(`       warning: ${check.scenario} ${check.id}: ${check.errorMessage ?? check.description}`);
  if (status === 0) return;
  for (const check of checks.filter((one) => one.status === "FAILURE"))
    console.log(`  ${check.scenario} ${check.id}: ${check.errorMessage ?? check.description}`);
  if (unscored.size === 0) console.log(said);
}

async function play(run, url) {
  const directory = mkdtempSync(join(scratch, "results-"));
  const script = join("node_modules", run.suite, "dist", "index.js");
  const { status, said } = await finish([script, "server", "--url", url, "-o", directory, ...run.flags]);
  show(run, status, said, results(directory));
  return status === 0;
}

// Workers that run in parallel until all runs are done.
async function work(runs, url) {
  let failed = 0;
  for (let run; (run = runs.shift()); ) if (!(await play(run, url))) failed++;
  return failed;
}

const { flags, runs, workers } = kinds[kind];
const total = runs.length;
const server = await Listener.start(program, ...flags);
let failed;
try {
  const counts = await Promise.all(Array.from({ length: workers }, () => work(runs, server.url)));
  failed = counts.reduce((sum, n) => sum + n);
} finally {
  await server.stop();
}
console.log(`${total - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
