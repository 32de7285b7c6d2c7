// The memory servers that are measured: how each is started, called and filled, and how its notes are counted.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { note } from "./texts.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const module = (path) => join(here, "node_modules", path);
const rows = (store, file, table) => Number(execFileSync(store, ["count", file, table], { encoding: "utf8" }));

// A fumi program. `fills` is the memory_store program that writes stores which it can open. Each version has its own model
// file, in the directory share beside that of the program.
function fumi(name, program, store, fills) {
  const model = join(dirname(program), "../share/fumi/fumi-minilm.bin");
  return {
    name,
    fills,
    synced: true,
    model,
    command: (dir) => [program, "serve", "--data-dir", dir],
    env: () => ({ FUMI_MODEL: model }),
    // Throws if the model is missing or unsuitable; then the program would embed nothing.
    check: () => execFileSync(program, ["model"], { env: { ...process.env, FUMI_MODEL: model }, stdio: "pipe" }),
    add: (text) => ({ name: "memory_add_note", arguments: { projectId: "bench", groupId: "g", text } }),
    search: (query) => ({ name: "memory_search", arguments: { projectId: "bench", query } }),
    file: (dir) => join(dir, "memory.db"),
    count: (dir) => rows(store, join(dir, "memory.db"), "notes"),
  };
}

// It writes its whole file anew with each add, finds literal substrings only, and syncs nothing.
const serverMemory = {
  name: "server-memory",
  entry: module("@modelcontextprotocol/server-memory/dist/index.js"),
  command: () => [process.execPath, serverMemory.entry],
  env: (dir) => ({ MEMORY_FILE_PATH: join(dir, "memory.jsonl") }),
  add: (text, i) => ({
    name: "create_entities",
    arguments: { entities: [{ name: `note-${i}`, entityType: "note", observations: [text] }] },
  }),
  search: (query) => ({ name: "search_nodes", arguments: { query } }),
  count: (dir) => readFileSync(join(dir, "memory.jsonl"), "utf8").split("\n").filter(Boolean).length,
  fill(dir, n) {
    const entity = (_, i) => JSON.stringify({ type: "entity", ...this.add(note(i), i).arguments.entities[0] });
    writeFileSync(join(dir, "memory.jsonl"), Array.from({ length: n }, entity).join("\n"));
    return n;
  },
};

// SQLite with a full-text index, WAL with synchronous=NORMAL: no sync per add. Filled by its own tool.
const mnemon = (store) => ({
  name: "mnemon-mcp",
  entry: module("mnemon-mcp/dist/index.js"),
  needs: module("better-sqlite3/build/Release/better_sqlite3.node"),
  command: () => [process.execPath, module("mnemon-mcp/dist/index.js")],
  env: (dir) => ({ MNEMON_DB_PATH: join(dir, "memory.db"), HOME: dir }),
  add: (text) => ({ name: "memory_add", arguments: { content: text, layer: "semantic" } }),
  search: (query) => ({ name: "memory_search", arguments: { query, limit: 5 } }),
  count: (dir) => rows(store, join(dir, "memory.db"), "memories"),
});

// `before`, if given, is another fumi program, usually an older one.
export function programs({ build, before, beforeFills }) {
  const store = join(build, "bench/memory_store");
  const all = [fumi("fumi", join(build, "fumi"), store, store), serverMemory, mnemon(store)];
  if (before) all.unshift(fumi("before", realpathSync(before), store, beforeFills ?? store));
  const peers = process.env.PEERS !== "no";
  return all.filter((one) => one.synced || (peers && existsSync(one.entry) && existsSync(one.needs ?? one.entry)));
}

export function freshDirectory(root, name) {
  const dir = join(root, name);
  mkdirSync(dir, { mode: 0o700 });
  return dir;
}
