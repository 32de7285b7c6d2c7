// Real agents read what `fumi setup` writes, and run its hook. No account and no network is needed.
//
//   tests/mcp-clients/run FUMI ../cli-setup/clients.mjs
//
// which installs the agents and a Node that can run them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const fumi = resolve(process.env.FUMI ?? "build/bin/fumi");
const packages = fileURLToPath(new URL("../mcp-clients/node_modules/", import.meta.url));
const programs = {
  claude: `${packages}@anthropic-ai/claude-code-linux-x64/claude`,
  codex: `${packages}.bin/codex`,
  gemini: `${packages}.bin/gemini`,
  opencode: `${packages}opencode-linux-x64/bin/opencode`,
};
const patience = 60_000;
const colours = /\x1b\[[0-9;]*m/g;

// Runs a program until it exits, with a minimal environment.
async function run(where, program, args, env = {}, input = "") {
  const own = { HOME: where.home, PATH: process.env.PATH, TERM: "dumb", NO_COLOR: "1", GEMINI_CLI_TRUST_WORKSPACE: "true",
    DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", FUMI_HOOK_TIMEOUT: "60000", ...env };
  if (process.env.FUMI_MODEL) own.FUMI_MODEL = process.env.FUMI_MODEL;
  const child = spawn(program, args, { cwd: where.work, env: own, timeout: patience, killSignal: "SIGKILL" });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (out += data));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [status] = await once(child, "close");
  return { status, out: out.replace(colours, "") };
}

// A home directory and a project for one test.
function place(context) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "setup-")));
  context.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const where = { home: join(dir, "home"), work: join(dir, "work") };
  for (const one of Object.values(where)) mkdirSync(one);
  return where;
}

async function setup(where, ...args) {
  const { status, out } = await run(where, fumi, ["setup", ...args]);
  assert.equal(status, 0, out);
  return out;
}

function put(where, name, text) {
  const path = join(where.home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const list = async (where, program) => (await run(where, programs[program], ["mcp", "list"])).out;

// Whether this fumi supports MCP.
let speaks;
async function speaksMcp(where) {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  speaks ??= (await run(where, fumi, ["serve"], {}, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }) + "\n"))
    .out.includes('"serverInfo"');
  return speaks;
}

// `before`: the previous content of the agent's file. Agents read the file of a project only if the project is trusted.
const agents = [
  { name: "claude-code", program: "claude", file: ".claude.json", before: '{\n  "numStartups": 3\n}\n', connects: /fumi: .*Connected/ },
  { name: "codex", program: "codex", file: ".codex/config.toml", before: "# mine\nmodel = \"gpt-5\" # best\n\n[mcp_servers.other]\ncommand = \"true\"\n",
    trust: (where) => `[projects.${JSON.stringify(where.work)}]\ntrust_level = "trusted"\n` },
  { name: "gemini-cli", program: "gemini", file: ".gemini/settings.json", before: '{\n  // mine\n  "ui": {"theme": "Default"}\n}\n', connects: /fumi: .*Connected/ },
  { name: "opencode", program: "opencode", file: ".config/opencode/opencode.json", before: '{\n  // mine\n  "theme": "system",\n}\n', connects: /fumi +connected/ },
];

for (const agent of agents) {
  test(`${agent.name} sees fumi in the user's file, and not after --undo`, { timeout: 4 * patience }, async (context) => {
    const where = place(context);
    const path = put(where, agent.file, agent.before);
    assert.match(await setup(where, agent.name), /wrote/);
    const shown = await list(where, agent.program);
    assert.ok(shown.includes(fumi) && shown.includes("serve"), shown);
    if (agent.connects && (await speaksMcp(where))) assert.match(shown, agent.connects);
    await setup(where, agent.name, "--undo");
    assert.ok(!readFileSync(path, "utf8").includes(fumi));
    assert.ok(!(await list(where, agent.program)).includes(fumi));
  });

  test(`${agent.name} sees fumi in the project's file`, { timeout: 4 * patience }, async (context) => {
    const where = place(context);
    if (agent.trust) put(where, agent.file, agent.trust(where));
    await setup(where, agent.name, "--scope", "project");
    const shown = await list(where, agent.program);
    assert.ok(shown.includes(fumi), shown);
  });

  test(`${agent.name} sees a server by its URL`, { timeout: 4 * patience }, async (context) => {
    const where = place(context);
    await setup(where, agent.name, "--http", "http://127.0.0.1:9/mcp");
    const shown = await list(where, agent.program);
    assert.ok(shown.includes("http://127.0.0.1:9/mcp"), shown);
  });
}

test("files written by the agents themselves are restored", { timeout: 4 * patience }, async (context) => {
  const where = place(context);
  await run(where, programs.claude, ["mcp", "add", "--scope", "user", "other", "/bin/true"]);
  await run(where, programs.codex, ["mcp", "add", "other", "--", "/bin/true"]);
  await run(where, programs.gemini, ["mcp", "add", "--scope", "user", "other", "/bin/true"]);
  for (const [name, file] of [["claude-code", ".claude.json"], ["codex", ".codex/config.toml"], ["gemini-cli", ".gemini/settings.json"]]) {
    const path = join(where.home, file);
    assert.ok(existsSync(path), path);
    const before = readFileSync(path, "utf8");
    assert.match(before, /other/);
    await setup(where, name);
    assert.notEqual(readFileSync(path, "utf8"), before);
    await setup(where, name, "--undo");
    assert.equal(readFileSync(path, "utf8"), before);
  }
});

// A model server that refuses every request and records what the agent sent.
async function model(context) {
  const asked = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => {
      asked.push(body);
      response.writeHead(400, { "content-type": "application/json" });
      response.end('{"type":"error","error":{"type":"invalid_request_error","message":"no","code":400,"status":"INVALID_ARGUMENT"}}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => (server.closeAllConnections(), server.close()));
  return { asked, url: `http://127.0.0.1:${server.address().port}` };
}

// The prompt is the last argument.
const hooked = [
  { name: "claude-code", program: "claude", args: ["-p"], env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "any" }) },
  { name: "codex", program: "codex", args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"], file: ".codex/config.toml",
    text: (url) => `model = "fake"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "fake"\nbase_url = "${url}/v1"\nwire_api = "responses"\n` },
  { name: "gemini-cli", program: "gemini", args: ["-p"], file: ".gemini/settings.json",
    text: () => '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    env: (url) => ({ GEMINI_API_KEY: "any", GOOGLE_GEMINI_BASE_URL: url }) },
];

for (const agent of hooked) {
  test(`${agent.name} sends what the hooks print to its model`, { timeout: 6 * patience }, async (context) => {
    const where = place(context);
    const { asked, url } = await model(context);
    if (agent.file) put(where, agent.file, agent.text(url));
    const data = join(where.home, "a memory");
    const start = "Zebra stripes are mandatory.", fact = "The harbour crane of Bergen is painted violet.";
    for (const words of [["--tags", "rule", start], ["--group", "facts", fact]]) {
      const { status, out } = await run(where, fumi, ["add", "--data-dir", data, ...words]);
      assert.equal(status, 0, out);
    }
    await setup(where, agent.name, "--hook", "--data-dir", data);
    const sent = async (prompt) => {
      asked.length = 0;
      const { out } = await run(where, programs[agent.program], [...agent.args, prompt], agent.env?.(url));
      assert.ok(asked.some((body) => body.includes(start)), out);
      return asked.some((body) => body.includes(fact));
    };
    assert.ok(await sent("In which colour is the harbour crane of Bergen painted?"), "the note was not given");
    assert.ok(!(await sent("Write a haiku about autumn leaves.")), "a note without relevance was given");
    const { out } = await run(where, fumi, ["call", "memory.injections", "--data-dir", data]);
    const kinds = JSON.parse(out).items.map((one) => one.kind).sort();
    assert.deepEqual(kinds, ["prompt", "session-start", "session-start"], out);
    assert.ok(JSON.parse(out).items.every((one) => one.to.session), out);
  });
}
