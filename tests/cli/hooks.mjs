// The hooks of fumi: node tests/cli/hooks.mjs FUMI. Which prompts are given notes, how much, how often, and what is
// recorded of it. Real agents run the hooks in tests/cli-setup/clients.mjs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const fumi = resolve(process.argv[2] ?? "build/bin/fumi");
const hasModel = spawnSync(fumi, ["model"]).status === 0;

// Each note, a prompt that it answers, and a prompt to which the memory has no answer.
const cases = [
  ["Access tokens expire after one hour; the login form then asks again.", "why does the login form ask again after an hour?", "write a haiku about autumn leaves"],
  ["The nightly backup runs on the host db2 at 03:00 UTC.", "when does the nightly backup run and on which host?", "what is the capital of Mongolia?"],
  ["Invoices are rendered to PDF by the service papyrus, written in Rust.", "which service renders invoices to PDF?", "recommend a recipe for lentil soup"],
  ["The staging cluster is reset every Monday morning.", "when is the staging cluster reset?", "zebra migration in Kenya"],
  ["Use pnpm instead of npm in the frontend repository.", "should I use npm or pnpm in the frontend repository?", "explain photosynthesis to a child"],
  ["Feature flags are stored in the table toggles and cached for 30 seconds.", "where are feature flags stored and how long are they cached?", "who won the chess olympiad in 1972?"],
  ["The payment gateway rejects amounts with more than two decimals.", "why does the payment gateway reject amounts with three decimals?", "translate good morning into Portuguese"],
  ["Database migrations are applied by the job migrate-prod after approval.", "how are database migrations applied in production?", "tell me a joke about penguins"],
  ["Retries use exponential backoff starting at 200 milliseconds.", "what backoff do retries use, starting at how many milliseconds?", "how tall is Mount Kilimanjaro?"],
  ["The search index is rebuilt with make reindex, which takes about an hour.", "how is the search index rebuilt?", "compose a birthday poem for my aunt"],
  ["Log lines must never contain e-mail addresses of customers.", "may log lines contain e-mail addresses of customers?", "what do owls eat in winter?"],
  ["The mobile app supports Android 9 and later.", "which Android versions does the mobile app support?", "summarize the plot of Hamlet"],
  ["Translations live in the directory locales and are checked by the script lint-locales.", "where do translations live and which script checks them?", "best time to plant tulips"],
  ["The rate limit of the public API is 100 requests per minute for each key.", "what is the rate limit of the public API?", "how do I train for a marathon?"],
  ["Ada prefers small pull requests with one commit each.", "what kind of pull requests does Ada prefer?", "name three moons of Jupiter"],
  ["The websocket server drops clients that miss two heartbeats.", "why does the websocket server drop clients?", "what is the difference between a fiddle and a violin?"],
  ["Uploads larger than 25 MB go directly to object storage with a signed URL.", "what happens to uploads larger than 25 MB?", "suggest a name for a kitten"],
  ["The report generator fails when the time zone database is missing in the container.", "why does the report generator fail in the container?", "how many strings does a harp have?"],
  ["Releases are cut on Thursdays from the branch release.", "on which day are releases cut, and from which branch?", "draw a circle with a compass"],
  ["Integration tests need the environment variable TEST_DSN.", "which environment variable do integration tests need?", "why is the sky blue?"],
];

function place(context) {
  const dir = mkdtempSync(join(tmpdir(), "fumi-hooks-"));
  context.after(() => rmSync(dir, { recursive: true, force: true }));
  const home = join(dir, "home"), work = join(dir, "work");
  mkdirSync(home), mkdirSync(work);
  const { PATH, FUMI_MODEL, ASAN_OPTIONS } = process.env;
  const env = Object.fromEntries(Object.entries({ PATH, FUMI_MODEL, ASAN_OPTIONS, HOME: home, FUMI_HOOK_TIMEOUT: "60000" })
    .filter(([, value]) => value !== undefined));
  const run = (args, input = "", more = {}) => {
    const { status, stdout, stderr } = spawnSync(fumi, args, { cwd: work, input, env: { ...env, ...more }, encoding: "utf8" });
    return { status, out: stdout, err: stderr };
  };
  const ok = (args, input, more) => {
    const { status, out, err } = run(args, input, more);
    assert.equal(status, 0, `${args.join(" ")}: ${out}${err}`);
    return out;
  };
  const hook = (name, input, ...flags) =>
    JSON.parse(ok(["hook", name, "--format", "json", ...flags], JSON.stringify(input)));
  return { dir, work, run, ok, hook };
}

// A place whose project has the notes.
function filled(context) {
  const where = place(context);
  const file = join(where.dir, "notes.json");
  writeFileSync(file, JSON.stringify(cases.map(([text]) => text)));
  where.ok(["import", file]);
  if (hasModel) where.ok(["reembed"]);
  return where;
}

const given = (answer) => answer.hookSpecificOutput?.additionalContext ?? "";

test("20 prompts that the memory answers, and 20 that it does not", { skip: !hasModel && "no model" }, (context) => {
  const { hook } = filled(context);
  const right = cases.filter(([text, prompt]) => given(hook("prompt", { prompt })).includes(text));
  const quiet = cases.filter(([, , prompt]) => given(hook("prompt", { prompt })) === "");
  console.log(`relevant: ${right.length} of 20 given; irrelevant: ${quiet.length} of 20 without notes`);
  assert.ok(right.length >= 18, `only ${right.length} of 20`);
  assert.ok(quiet.length >= 18, `only ${quiet.length} of 20`);
});

test("a session is given a note once, until its context is new", (context) => {
  const { ok, hook, work } = filled(context);
  const [text, prompt] = cases[0];
  const input = { session_id: "one", hook_event_name: "UserPromptSubmit", prompt };
  const first = hook("prompt", input);
  assert.ok(given(first).includes(text));
  assert.equal(first.hookSpecificOutput.hookEventName, "UserPromptSubmit");
  assert.match(first.systemMessage, /^fumi: \d+ notes? given: [0-9a-f]{8}/);
  assert.ok(!given(hook("prompt", input)).includes(text), "the note was given twice");
  assert.ok(given(hook("prompt", { ...input, session_id: "two" })).includes(text), "another session");
  const start = hook("session-start", { session_id: "one", source: "compact" }, "--max-tokens", "100");
  assert.match(given(start), /memory_add_note/);
  if (!given(start).includes(text)) assert.ok(given(hook("prompt", input)).includes(text), "after a compaction");
  const { items } = JSON.parse(ok(["call", "memory.injections", "--session", "one"]));
  const kinds = items.map((one) => one.kind);
  assert.equal(kinds.at(-1), "prompt");
  assert.ok(kinds.includes("session-start"));
  assert.equal(items.at(-1).projectId, work);
});

test("a long note is cut to the limit", (context) => {
  const { ok, run } = place(context);
  const text = "The deploy key of the archive rotates monthly. ".repeat(100);
  ok(["add", text]);
  const out = ok(["hook", "prompt", "--max-tokens", "120", "how often does the deploy key of the archive rotate, monthly?"]);
  assert.match(out, /rotates monthly/);
  assert.ok(out.length < 120 * 8, `${out.length} bytes`);
  assert.equal(run(["hook", "prompt", "--max-tokens", "1", "how often does the deploy key rotate?"]).out, "");
});

test("a project switches hooks off", (context) => {
  const { ok, hook, work } = filled(context);
  const set = (value) =>
    ok(["call", "memory.upsert_global", JSON.stringify({ projectId: work, key: "global.memory.hooks", value })]);
  const [text, prompt] = cases[0];
  set({ prompt: false });
  assert.deepEqual(hook("prompt", { prompt }), {});
  assert.ok(given(hook("session-start", {})).includes("Memory of"));
  set(false);
  assert.deepEqual(hook("session-start", {}), {});
  set(true);
  assert.ok(given(hook("prompt", { prompt })).includes(text));
});

test("the end of a long session asks once", (context) => {
  const { dir, hook } = place(context);
  const transcript = join(dir, "transcript.jsonl");
  const input = { session_id: "s", transcript_path: transcript, hook_event_name: "Stop", stop_hook_active: false };
  writeFileSync(transcript, "{}\n");
  assert.deepEqual(hook("session-end", input), {});
  writeFileSync(transcript, "x".repeat(100_000));
  assert.deepEqual(hook("session-end", { ...input, stop_hook_active: true }), {});
  const asked = hook("session-end", input);
  assert.equal(asked.decision, "block");
  assert.match(asked.reason, /memory_add_note/);
  assert.deepEqual(hook("session-end", input), {});
  assert.equal(hook("session-end", { ...input, session_id: "t" }).decision, "block");
});

test("before a compaction, what should be remembered goes into the summary", (context) => {
  const { ok } = place(context);
  assert.match(ok(["hook", "pre-compact", "--format", "json"], "{}"), /^End the summary with a list "To remember"/);
});

test("a hook that fails or takes too long says so, and does not stop the agent", (context) => {
  const { dir, run, hook } = place(context);
  const flags = ["hook", "prompt", "--format", "json", "--db", dir];
  const { status, out } = run(flags, '{"prompt":"where?"}');
  assert.equal(status, 0);
  assert.match(JSON.parse(out).systemMessage, /^fumi: hook prompt failed: /);
  assert.equal(run(["hook", "prompt", "--db", dir, "where?"]).status, 1);
  assert.match(hook("prompt", {}).systemMessage, /a prompt is required/);
  for (const odd of ["", "[]", "{", '"x"', "\0", '{"prompt":7}'])
    assert.match(JSON.parse(run(["hook", "prompt", "-f", "json"], odd).out).systemMessage, /a prompt is required/);
  assert.equal(run(["hook", "nothing"]).status, 2);
  assert.equal(run(["hook", "session-start", "more"]).status, 2);
  assert.equal(run(["hook", "prompt", "x"], "", { FUMI_HOOK_TIMEOUT: "soon" }).status, 2);
});

// A program cannot open the store and search it within a millisecond. Whatever it did by then, the store is sound.
test("the time limit ends a hook", (context) => {
  const { ok, hook } = filled(context);
  const [text, prompt] = cases[0];
  const late = { systemMessage: "fumi: hook prompt took more than 1 ms; the agent was given nothing" };
  assert.deepEqual(hook("prompt", { prompt }, "--timeout", "1"), late);
  assert.ok(ok(["hook", "prompt", prompt]).includes(text));
  ok(["doctor", "--dry-run"]);
});
