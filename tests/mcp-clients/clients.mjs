// The clients, with the interface that talk.mjs describes. `where` selects the server: { stdio: { command, args, env } },
// { http: URL } or { ws: URL }.
import { run, serverEnv } from "./server.mjs";
import { fileURLToPath } from "node:url";

const info = { name: "fumi-tests", version: "1" };
const installed = (path) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const answer = ({ structuredContent, content, isError }) =>
  ({ value: structuredContent, text: content?.find((one) => one.type === "text")?.text, isError });

// The common part of all SDKs; `call` differs.
async function sdkClient(sdk, transport, call) {
  await sdk.connect(transport);
  return {
    sdk,
    cancel: true,
    tools: async () => (await sdk.listTools()).tools.map((tool) => tool.name),
    call: async (name, args, options) => answer(await call({ name, arguments: args }, options)),
    close: () => sdk.close(),
  };
}

const transports = {
  stdio: ["stdio.js", "StdioClientTransport", (command) => command],
  http: ["streamableHttp.js", "StreamableHTTPClientTransport", (url) => new URL(url)],
  ws: ["websocket.js", "WebSocketClientTransport", (url) => new URL(url)],
};

async function sdk1Transport(library, where) {
  const [kind, target] = Object.entries(where)[0];
  const [file, name, prepare] = transports[kind];
  return new (await import(`${library}/client/${file}`))[name](prepare(target));
}

// The first SDK in one of its versions: "@modelcontextprotocol/sdk" or an alias such as "sdk-1.0.4".
export async function sdk1(where, library = "@modelcontextprotocol/sdk") {
  const { Client } = await import(`${library}/client/index.js`);
  const sdk = new Client(info, { capabilities: {} });
  const transport = await sdk1Transport(library, where);
  const client = await sdkClient(sdk, transport, (params, options) => sdk.callTool(params, undefined, options));
  return { ...client, transport, legacy: true };
}

// The second SDK; `mode` as in its option versionNegotiation.
export async function sdk2(where, mode) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const sdk = new Client(info, { capabilities: {}, ...(mode ? { versionNegotiation: { mode } } : {}) });
  const transport = where.stdio
    ? new StdioClientTransport(where.stdio)
    : new StreamableHTTPClientTransport(new URL(where.http));
  const client = await sdkClient(sdk, transport, (params, options) => sdk.callTool(params, options));
  return { ...client, transport, legacy: !mode, version: sdk.getNegotiatedProtocolVersion() };
}

export async function aiSdk(where) {
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
  const transport = where.stdio ? new Stdio(where.stdio) : { type: "http", url: where.http };
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  return {
    cancel: true,
    refuses: false, // it calls only tools that it has listed
    tools: async () => Object.keys(tools),
    call: async (name, args, { signal } = {}) =>
      answer(await tools[name].execute(args, { messages: [], toolCallId: "1", abortSignal: signal })),
    close: () => client.close(),
  };
}

export async function langChain(where) {
  const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
  const server = where.stdio ? { transport: "stdio", ...where.stdio } : { transport: "http", url: where.http };
  const client = new MultiServerMCPClient({ mcpServers: { fumi: server } });
  const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
  return {
    cancel: true,
    refuses: false, // it calls only tools that it has listed
    tools: async () => [...tools.keys()],
    call: (name, args, { signal } = {}) => langChainCall(tools.get(name), args, signal),
    close: () => client.close(),
  };
}

// This client turns every failure into an exception with a message.
async function langChainCall(tool, args, signal) {
  try {
    const { text, structuredContent } = await tool.invoke(args, { signal });
    return { text, value: structuredContent };
  } catch (error) {
    if (!/returned an error: /.test(error.message)) throw error;
    return { isError: true, text: error.message };
  }
}

// Command-line programs, which connect for every command and are slow.
async function program(file, args) {
  return run(process.execPath, [installed(file), ...args], { env: { ...serverEnv, CI: "1", TERM: "dumb" } });
}

function parsed({ status, out, err }) {
  try {
    return { status, ...JSON.parse(out) };
  } catch {
    throw new Error(`status ${status}: ${out}${err}`);
  }
}

// The inspector's command line; era: legacy, auto or modern.
export function inspector(where, era) {
  const settings = (env) => Object.entries(env).flatMap(([key, text]) => ["-e", `${key}=${text}`]);
  const target = where.stdio
    ? [...settings(where.stdio.env), where.stdio.command, ...where.stdio.args]
    : ["--server-url", where.http, "--transport", "http"];
  const ask = (...words) =>
    program("@modelcontextprotocol/inspector/clients/launcher/build/index.js",
      ["--cli", ...target, "--protocol-era", era, "--format", "json", "-q", ...words]);
  const call = (name, args) =>
    ask("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  return {
    brief: true,
    tools: async () => parsed(await ask("--method", "tools/list")).result.tools.map((tool) => tool.name),
    lint: () => ask("--method", "tools/list", "--strict"),
    call: async (name, args) => answer(parsed(await call(name, args)).result),
    close: async () => {},
  };
}

export function mcporter(where) {
  const { command, args, env } = where.stdio ?? {};
  const target = where.stdio
    ? ["--stdio", command, ...args.flatMap((word) => ["--stdio-arg", word]),
      ...Object.entries(env).flatMap(([key, text]) => ["--env", `${key}=${text}`])]
    : ["--http-url", where.http, "--allow-http"];
  const ask = async (verb, ...words) =>
    parsed(await program("mcporter/dist/cli.js", [verb, ...target, "--name", "fumi", ...words]));
  return {
    brief: true,
    tools: async () => (await ask("list", "--json")).tools.map((tool) => tool.name),
    call: async (name, args) =>
      porterAnswer(await ask("call", "--tool", name, "--args", JSON.stringify(args), "--output", "json")),
    close: async () => {},
  };
}

// This client prints the content of a result; if the tool failed, the whole result.
function porterAnswer({ status, ...value }) {
  if (typeof value.error === "string") throw new Error(value.error);
  return status === 0 ? { value } : { isError: true, text: JSON.stringify(value) };
}
