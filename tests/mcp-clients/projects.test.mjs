// Calls over stdio that name no project: that of the working directory, or of the first root of the client.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Lines, modern } from "./lines.mjs";
import { Server, command, scratch, serverEnv, test } from "./server.mjs";

const text = "the tide is high at noon";
const groupId = "global";

// A repository with a worktree and a subdirectory, and a directory outside.
function repository(context) {
  const dir = realpathSync(scratch(context));
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a", ...args], { cwd: dir, env: serverEnv, stdio: "ignore" });
  git("init", "main");
  git("-C", "main", "commit", "--allow-empty", "-m", "x");
  git("-C", "main", "worktree", "add", "../tree");
  for (const name of ["main/sub", "plain"]) mkdirSync(join(dir, name));
  return dir;
}

const requires = async (lines) => {
  const { tools } = await lines.result("tools/list", {});
  return tools.find(({ name }) => name === "memory_search").inputSchema.required;
};

test("a note of one worktree is found from all others", async (context) => {
  const dir = repository(context);
  const first = Lines.startIn(join(dir, "tree"), dir);
  const { instructions } = await first.initialize();
  assert.ok(instructions.includes(`projectId: leave it out: it is then ${join(dir, "main")}, `), instructions);
  assert.deepEqual(await requires(first), ["query"]);
  const { id } = await first.call("memory_add_note", { groupId, text });
  assert.equal((await first.result("memory.get", { id })).projectId, join(dir, "main"));
  await first.end();
  const second = Lines.startIn(join(dir, "main/sub"), dir);
  await second.initialize();
  assert.equal((await second.call("memory_search", { query: "tide", mode: "words" })).results[0].text, text);
  assert.equal((await second.result("memory.search", { query: "tide", mode: "words" })).results[0].text, text);
  assert.equal((await second.result("memory.list_recent")).items[0].text, text);
  for (const path of ["tree", "main", "main/sub"]) { // an agent that passes its working directory
    const projectId = join(dir, path);
    assert.equal((await second.call("memory_search", { projectId, query: "tide", mode: "words" })).results[0].text, text);
    assert.equal((await second.result("memory.list_recent", { projectId })).items[0].text, text);
  }
  assert.equal((await second.result("memory.list_recent", { projectId: join(dir, "plain") })).items.length, 0);
  const { error } = await second.ask("memory.search", { projectId: "", query: "tide" });
  assert.equal(error.data, "projectId is required");
  await second.end();
});

test("a directory without a repository is a project only if it has notes", async (context) => {
  const dir = repository(context), cwd = join(dir, "plain");
  const first = Lines.startIn(cwd, dir);
  await first.initialize();
  const { error } = await first.ask("memory.list_recent", {});
  assert.equal(error.data, "projectId is required");
  const { isError, structuredContent } = await first.result("tools/call", { name: "memory_list_recent", arguments: {} });
  assert.ok(isError);
  assert.equal(structuredContent.code, -32602);
  await first.call("memory_add_note", { projectId: cwd, groupId, text });
  await first.end();
  const second = Lines.startIn(cwd, dir);
  await second.initialize();
  assert.equal((await second.call("memory_list_recent", {})).items[0].text, text);
  await second.end();
});

test("--project is the default, and roots do not change it", async (context) => {
  const dir = repository(context);
  const lines = Lines.startIn(dir, dir, "--project", "tree");
  await lines.initialize();
  await lines.call("memory_add_note", { groupId, text });
  assert.equal((await lines.result("memory.list_recent")).items[0].projectId, "tree");
  await lines.end();
  const path = Lines.startIn(dir, dir, "--project", "./tree");
  await path.initialize();
  await path.call("memory_add_note", { groupId, text });
  assert.equal((await path.result("memory.list_recent")).items[0].projectId, join(dir, "main"));
  await path.end();
});

test("over HTTP, projectId is required", async (context) => {
  const dir = repository(context);
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const server = await Server.start(dir);
  const sdk = new Client({ name: "t", version: "1" }, { capabilities: { roots: {} } });
  await sdk.connect(new StreamableHTTPClientTransport(new URL(server.http)));
  const { tools } = await sdk.listTools();
  assert.deepEqual(tools.find(({ name }) => name === "memory_search").inputSchema.required, ["projectId", "query"]);
  const { isError, content } = await sdk.callTool({ name: "memory_search", arguments: { query: "tide" } });
  assert.ok(isError);
  assert.match(content[0].text, /projectId is required/);
  await sdk.close();
});

test("the first root with a path is the project: initialize", async (context) => {
  const dir = repository(context);
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { ListRootsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const sdk = new Client({ name: "t", version: "1" }, { capabilities: { roots: {} } });
  let roots = [{ uri: "https://example.org/" }, { uri: pathToFileURL(join(dir, "tree")).href }];
  sdk.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
  await sdk.connect(new StdioClientTransport({ ...command(dir), cwd: join(dir, "plain") }));
  const call = async (name, args) => (await sdk.callTool({ name, arguments: args })).structuredContent;
  const { id } = await call("memory_add_note", { groupId, text });
  assert.equal((await call("memory_get", { id })).projectId, join(dir, "main"));
  assert.equal((await call("memory_search", { query: "tide", mode: "words" })).results[0].text, text);
  roots = [];
  assert.equal((await call("memory_list_recent", {})).code, -32602);
  await sdk.close();
});

test("the first root with a path is the project: 2026-07-28", async (context) => {
  const dir = repository(context);
  const lines = Lines.startIn(join(dir, "plain"), dir);
  const params = (more) => modern({
    name: "memory_add_note", arguments: { groupId, text },
    _meta: { "io.modelcontextprotocol/clientCapabilities": { roots: {} } }, ...more,
  });
  const asked = await lines.result("tools/call", params({}));
  assert.equal(asked.resultType, "input_required");
  assert.equal(asked.inputRequests.roots.method, "roots/list");
  const roots = [{ uri: `file://localhost${join(dir, "main/sub")}` }];
  const { structuredContent } = await lines.result("tools/call", params({ inputResponses: { roots: { roots } } }));
  const { structuredContent: note } = await lines.result(
    "tools/call", modern({ name: "memory_get", arguments: { id: structuredContent.id } }));
  assert.equal(note.projectId, join(dir, "main"));
  await lines.end();
});
