// The benchmark of the memory over MCP; started by bench/bench_memory.
import { copyFileSync, constants, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { endAll, load, output, pipe } from "./load.mjs";
import { freshDirectory, programs } from "./servers.mjs";
import { head, median, problem, row, showTargets, target } from "./table.mjs";
import { note, query } from "./texts.mjs";

const rounds = 10, adds = 50, together = 100, processes = 16, million = 1_000_000;
const unlimited = 1_000_000_000;
const here = dirname(fileURLToPath(import.meta.url));
const [build, ...flags] = process.argv.slice(2);
const { BEFORE: before, BEFORE_FILL: beforeFills, KEEP: keep } = process.env;
const tools = { build: resolve(build), root: mkdtempSync(join(process.env.TMPDIR ?? "/var/tmp", "bench-memory-")) };
const store = join(tools.build, "bench/memory_store");
const all = programs({ build: tools.build, before, beforeFills });
const ours = all.filter((one) => one.synced);
let failed = false;

process.on("exit", () => {
  endAll();
  rmSync(tools.root, { recursive: true, force: true, maxRetries: 5 });
});
for (const [name, status] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) process.on(name, () => process.exit(status));

const range = (first, n, make) => Array.from({ length: n }, (_, i) => make(first + i));
const count = (n) => n.toLocaleString("en-US");
const errorsOf = (found) => (found.errors ? `; ${found.errors} errors` : "");
// Each add of the whole run has a number, and therefore a text and a name, of its own.
let next = 2 * million;
const notes = (n) => range((next += n) - n, n, note);
const addParams = (program, n) => range((next += n) - n, n, (i) => program.add(note(i), i));
const searchParams = (program) => range(0, 1000, (i) => program.search(query(i)));

async function attempt(title, name, step) {
  try {
    return await step();
  } catch (error) {
    problem(title, name, error);
    failed = true;
  }
}

async function bareInserts(dir, n, seconds) {
  const text = notes(n).join("\n") + "\n";
  const out = await output([store, "insert", join(dir, "bare.db"), `${seconds}`], {}, (input) => input.end(text));
  return out.trim().split("\n").map((us) => us / 1000);
}

// In turn, because other load on the machine changes from second to second; the bare insert before and after the others. A
// ratio is the median of the rounds' ratios.
async function addsAlone() {
  const title = "add, 1 process";
  const seen = new Map(all.map((one) => [one, { ms: [], starts: [], kb: [], p50: [], acknowledged: 0, errors: 0 }]));
  const dirs = new Map(all.map((one) => [one, freshDirectory(tools.root, `alone-${one.name}`)]));
  const bare = { dir: freshDirectory(tools.root, "alone-bare"), ms: [], p50: [] };
  for (let i = 0; i < rounds; i++) {
    const ms = await bareInserts(bare.dir, adds, 10);
    for (const [one, sum] of i % 2 ? [...seen].reverse() : [...seen]) {
      const good = await attempt(title, one.name, async () => {
        const flags = { warm: 5, calls: adds, limit: 10 };
        const found = await load(tools, one, dirs.get(one), addParams(one, adds + 5), flags).done;
        for (const key of ["ms", "starts", "kb"]) sum[key].push(...found[key]);
        sum.p50.push(median(found.ms));
        sum.acknowledged += found.acknowledged;
        sum.errors += found.errors;
        return true;
      });
      if (!good) seen.delete(one);
    }
    ms.push(...(await bareInserts(bare.dir, adds, 10)));
    bare.ms.push(...ms);
    bare.p50.push(median(ms));
  }
  for (const [one, sum] of seen) {
    row("start to the first answer", one.name, sum.starts, { text: `${(median(sum.kb) / 1024).toFixed(0)} MB after adds` });
  }
  row(title, "bare insert", bare.ms, { bare: 1 });
  for (const [one, sum] of seen) {
    const ratio = median(sum.p50.map((p50, i) => p50 / bare.p50[i]));
    row(title, one.name, sum.ms, { bare: ratio, text: `${kept(title, one, dirs.get(one), sum)}${errorsOf(sum)}` });
    if (one.name === "fumi") target(ratio <= 2, `add, 1 process: p50 at most 2 x a bare insert: ${ratio.toFixed(2)}`);
  }
}

function kept(title, one, dir, found) {
  const n = one.count(dir);
  if (one.name === "fumi") target(n >= found.acknowledged, `${title}: all acknowledged notes are kept: ${n} of ${found.acknowledged}`);
  return `kept ${n} of ${found.acknowledged}${one.synced ? "" : ", not synced"}`;
}

const perSecond = (calls) => {
  const began = Math.min(...calls.map((call) => call.at));
  return (calls.length * 1000) / (Math.max(...calls.map((call) => call.at + call.ms)) - began);
};

async function addsTogether() {
  const title = `add, ${processes} processes`;
  const seconds = 6;
  const dir = freshDirectory(tools.root, "together-bare");
  await bareInserts(dir, 1, 1); // creates the table
  const began = performance.now();
  const bare = (await Promise.all(range(0, processes, () => bareInserts(dir, together, seconds)))).flat();
  row(title, "bare insert", bare, { text: `${count(Math.round((bare.length * 1000) / (performance.now() - began)))}/s` });
  for (const one of all) {
    await attempt(title, one.name, async () => {
      const dir = freshDirectory(tools.root, `together-${one.name}`);
      const flags = { clients: processes, warm: 1, calls: together, limit: seconds };
      const found = await load(tools, one, dir, addParams(one, processes * (together + 1)), flags).done;
      const text = `${count(Math.round(perSecond(found.calls)))}/s, ${kept(title, one, dir, found)}${errorsOf(found)}`;
      row(title, one.name, found.ms, { text });
    });
  }
}

// A store of n generated notes for each program; one that fills with the same program is filled once and copied. With KEEP,
// the filled stores are kept in that directory for the next run.
const filled = new Map();
async function storeOf(one, n) {
  const key = `notes-${n}-${one.fills === store ? "now" : "before"}.db`;
  const file = join(keep ? resolve(keep) : tools.root, key);
  if (!existsSync(file)) {
    const began = performance.now();
    await pipe([process.execPath, join(here, "texts.mjs"), "0", `${n}`], [one.fills, "fill", `${file}.part`], {
      env: { ...process.env, FUMI_MODEL: one.model },
    });
    renameSync(`${file}.part`, file);
    filled.set(n, (performance.now() - began) / 1000);
  }
  const dir = freshDirectory(tools.root, `${n}-${one.name}`);
  copyFileSync(file, one.file(dir), constants.COPYFILE_FICLONE);
  return dir;
}

function dropStores(n) {
  if (keep) return;
  for (const kind of ["now", "before"]) rmSync(join(tools.root, `notes-${n}-${kind}.db`), { force: true });
}

// Another process that adds 20 notes per second, until it is stopped.
function adder(one, dir) {
  return load(tools, one, dir, addParams(one, 5000), { warm: 1, calls: unlimited, gap: 50, limit: 240 });
}

async function withAdds(one, dir, flags) {
  const adding = adder(one, dir);
  try {
    const searched = await load(tools, one, dir, searchParams(one), flags).done;
    adding.stop();
    return [searched, await adding.done];
  } finally {
    adding.stop();
  }
}

async function measureSearches(n, one, dir, text) {
  const title = `search, ${count(n)} notes, with adds`;
  const [searched, added] = await withAdds(one, dir, { warm: 10, calls: 300, seconds: 5, limit: 20 });
  const words = searched.calls.filter((call) => call.state === "pending").length;
  const more = [`${searched.ms.length} searches`, words && `${words} while vectors were pending`, text].filter(Boolean);
  const spread = row(title, one.name, searched.ms, { text: `${more.join(", ")}${errorsOf(searched)}` });
  if (one.name === "fumi") target(spread <= 5, `${title}: p99 at most 5 x p50: ${spread.toFixed(1)}`);
  return () => row(`the adds, ${count(n)} notes`, one.name, added.ms, { text: `${added.ms.length} adds${errorsOf(added)}` });
}

async function fillByCalls(one, dir, n) {
  const found = await load(tools, one, dir, range(0, n, (i) => one.add(note(i), i)), { calls: n, limit: 60 }).done;
  return found.acknowledged;
}

async function searches(n, which) {
  const title = `search, ${count(n)} notes, with adds`;
  const after = [];
  for (const one of which) {
    await attempt(title, one.name, async () => {
      let have = n;
      let dir;
      if (one.synced) {
        dir = await storeOf(one, n);
        // Until the vector cache is complete.
        await load(tools, one, dir, searchParams(one), { calls: unlimited, gap: 20, limit: 60, complete: true }).done;
      } else {
        dir = freshDirectory(tools.root, `${n}-${one.name}`);
        have = one.fill ? one.fill(dir, n) : await fillByCalls(one, dir, n);
      }
      after.push(await measureSearches(n, one, dir, have < n && `only ${have} notes`));
      rmSync(dir, { recursive: true });
    });
  }
  after.forEach((show) => show());
  dropStores(n);
}

// Without a vector cache: the first answer, the adds meanwhile, and the time until the cache is complete.
async function withoutCache(one, dir) {
  const title = `search, ${count(million)} notes, no cache`;
  const [searched, added] = await withAdds(one, dir, { calls: unlimited, gap: 20, limit: 200, complete: true });
  const [first, last] = [searched.calls[0], searched.calls.at(-1)];
  const state = { ok: "complete", pending: "by words", error: "error" }[first.state];
  const seconds = ((last.at + last.ms - first.at) / 1000).toFixed(1);
  const end = last.state === "ok" ? `cache complete after ${seconds} s` : `cache not complete after ${seconds} s`;
  row(title, one.name, [first.ms], { text: `the first answer, ${state}; ${end}` });
  if (searched.ms.length > 1) row(title, one.name, searched.ms, { text: `${searched.ms.length} searches until then${errorsOf(searched)}` });
  row(title, one.name, added.ms, { text: `${added.ms.length} adds meanwhile${errorsOf(added)}` });
  if (one.name === "fumi") target(first.state === "pending", `${title}: the first answer comes by words: ${first.ms.toFixed(0)} ms`);
}

async function aMillion() {
  const title = `search, ${count(million)} notes, with adds`;
  for (const one of ours) {
    await attempt(title, one.name, async () => {
      const dir = await storeOf(one, million);
      await withoutCache(one, dir);
      (await measureSearches(million, one, dir))();
      rmSync(dir, { recursive: true });
    });
  }
  dropStores(million);
}

console.log("memory over MCP (stdio), notes of 50 words; only fumi has a model and finds by meaning");
for (const one of ours) await attempt("the model", one.name, one.check);
head();
await addsAlone();
await addsTogether();
await searches(10_000, all);
await searches(100_000, ours);
if (flags.includes("--all")) await aMillion();
for (const [n, seconds] of filled) console.log(`filling a store of ${count(n)} notes took ${seconds.toFixed(0)} s`);
showTargets();
process.exit(failed ? 1 : 0);
