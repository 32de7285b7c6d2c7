// Real agents with a fake model (fake-model.mjs), without a network: they connect, store a note in one run and
// find it in the next, and the model receives the instructions of the server.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { FakeModel } from "./fake-model.mjs";
import { Lines } from "./lines.mjs";
import { Server, command, run, scratch, test } from "./server.mjs";
import { groupId, projectId } from "./talk.mjs";

const programs = {
  claude: "@anthropic-ai/claude-code-linux-x64/claude",
  codex: ".bin/codex",
  gemini: ".bin/gemini",
  opencode: "opencode-linux-x64/bin/opencode",
};
const path = (name) => fileURLToPath(new URL(`node_modules/${programs[name]}`, import.meta.url));
const text = "The harbour master is called Ingrid Solheim";

// Runs an agent with its own home directory and an empty environment.
async function agent(home, name, args, env = {}) {
  const work = join(home, "work");
  mkdirSync(work, { recursive: true });
  const own = { HOME: home, PATH: process.env.PATH, TERM: "dumb", CI: "1", NO_COLOR: "1", ...env };
  const { status, out, err } = await run(path(name), args, { env: own, cwd: work });
  assert.equal(status, 0, `${name} ${args.join(" ")}\n${out}${err}`);
  return out + err;
}

async function instructionsOf(dir) {
  const lines = Lines.start(dir);
  const { instructions } = await lines.initialize();
  await lines.end();
  return instructions;
}

// `speak` runs the agent once with a model. The model must receive the instructions of the server.
async function storesAndFinds(context, speak) {
  const dir = scratch(context);
  const instructions = await instructionsOf(dir);
  const first = await FakeModel.startFor(context, "memory_add_note", { projectId, groupId, text });
  await speak(dir, first);
  assert.match(first.answer ?? "no answer", /"id"/);
  const second = await FakeModel.startFor(context, "memory_search", { projectId, query: "who is harbour master" });
  await speak(dir, second);
  assert.ok((second.answer ?? "").includes(text), second.answer);
  for (const model of [first, second])
    assert.ok(model.strings.some((one) => one.includes(instructions)), "the model never saw our instructions");
}

const claudeEnv = (model) => ({
  ANTHROPIC_BASE_URL: model.url,
  ANTHROPIC_API_KEY: "any",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
});

function codexConfig(dir, model) {
  const { command: program, args, env } = command(dir);
  const table = Object.entries(env).map(([key, one]) => `${key} = ${JSON.stringify(one)}`);
  return `
model = "fake"
model_provider = "fake"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = ${JSON.stringify(`${model.url}/v1`)}
wire_api = "responses"
[mcp_servers.fumi]
command = ${JSON.stringify(program)}
args = ${JSON.stringify(args)}
env = { ${table.join(", ")} }
default_tools_approval_mode = "approve"
`;
}

// The line of a list that names this server.
const lineOf = (list, name) => list.split("\n").find((line) => line.includes(name)) ?? list;

describe("agents", { concurrency: 2 }, () => {
  test("Claude Code stores a note and finds it in another run", (context) =>
    storesAndFinds(context, async (dir, model) => {
      const config = join(dir, "mcp.json");
      writeFileSync(config, JSON.stringify({ mcpServers: { fumi: { type: "stdio", ...command(dir) } } }));
      await agent(join(dir, "home"), "claude", [
        "-p", "Do as you think best.", "--mcp-config", config, "--strict-mcp-config",
        "--allowedTools", "mcp__fumi__memory_add_note,mcp__fumi__memory_search",
        "--output-format", "stream-json", "--verbose",
      ], claudeEnv(model));
    }));

  test("Codex stores a note and finds it in another run", (context) =>
    storesAndFinds(context, async (dir, model) => {
      const home = join(dir, "home");
      mkdirSync(join(home, ".codex"), { recursive: true });
      writeFileSync(join(home, ".codex", "config.toml"), codexConfig(dir, model));
      await agent(home, "codex", ["exec", "--skip-git-repo-check", "Do as you think best."]);
    }));

  test("claude mcp list says connected: stdio, HTTP and WebSocket", async (context) => {
    const dir = scratch(context);
    const home = join(dir, "home");
    const server = await Server.start(dir);
    const configs = {
      byStdio: { type: "stdio", ...command(dir) },
      byHttp: { type: "http", url: server.http },
      byWs: { type: "ws", url: server.ws },
    };
    for (const [name, config] of Object.entries(configs))
      await agent(home, "claude", ["mcp", "add-json", "--scope", "user", name, JSON.stringify(config)]);
    const list = await agent(home, "claude", ["mcp", "list"]);
    for (const name of Object.keys(configs)) assert.match(lineOf(list, name), /Connected/, list);
  });

  test("gemini mcp list says connected: stdio and HTTP", async (context) => {
    const dir = scratch(context);
    const home = join(dir, "home");
    const server = await Server.start(dir);
    mkdirSync(join(home, ".gemini"), { recursive: true });
    writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify({
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { byStdio: command(dir), byHttp: { httpUrl: server.http } },
    }));
    const list = await agent(home, "gemini", ["mcp", "list"], { GEMINI_CLI_TRUST_WORKSPACE: "true" });
    for (const name of ["byStdio", "byHttp"]) assert.match(lineOf(list, name), /Connected/, list);
  });

  test("opencode mcp list says connected: stdio and HTTP", async (context) => {
    const dir = scratch(context);
    const home = join(dir, "home");
    const server = await Server.start(dir);
    const { command: program, args, env } = command(dir);
    mkdirSync(join(home, "work"), { recursive: true });
    writeFileSync(join(home, "work", "opencode.json"), JSON.stringify({
      mcp: {
        byStdio: { type: "local", command: [program, ...args], environment: env, enabled: true },
        byHttp: { type: "remote", url: server.http, enabled: true },
      },
    }));
    const list = await agent(home, "opencode", ["mcp", "list"], {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    });
    for (const name of ["byStdio", "byHttp"]) assert.match(lineOf(list, name), /connected/, list);
  });
});
