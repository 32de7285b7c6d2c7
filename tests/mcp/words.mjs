// MCP messages, legacy and modern.
export const modern = "2026-07-28";
export const legacy = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
export const newestLegacy = legacy.at(-1);
export const key = (name) => `io.modelcontextprotocol/${name}`;

export const call = (id, method, params) => ({ jsonrpc: "2.0", id, method, ...(params && { params }) });
export const note = (method, params) => ({ jsonrpc: "2.0", method, ...(params && { params }) });

// The _meta of a modern request; `more` replaces or adds members, undefined removes one.
export const envelope = (more = {}) => ({
  [key("protocolVersion")]: modern,
  [key("clientInfo")]: { name: "probe", version: "1" },
  [key("clientCapabilities")]: {},
  ...more,
});
export const modernCall = (id, method, params = {}, more = {}) =>
  call(id, method, { ...params, _meta: envelope(more) });
export const toolCall = (id, name, args, more) =>
  modernCall(id, "tools/call", { name, ...(args && { arguments: args }) }, more);

// The headers that repeat a modern message.
export function mirror(message) {
  const name = message.params?.name ?? message.params?.uri;
  return {
    "MCP-Protocol-Version": message.params?._meta?.[key("protocolVersion")] ?? modern,
    "Mcp-Method": message.method,
    ...(["tools/call", "prompts/get", "resources/read"].includes(message.method) && { "Mcp-Name": name }),
  };
}

export const initialize = (id, protocolVersion = newestLegacy, capabilities = {}) =>
  call(id, "initialize", { protocolVersion, capabilities, clientInfo: { name: "probe", version: "1" } });
export const initialized = note("notifications/initialized");

export const coded = (name) => `=?base64?${Buffer.from(name).toString("base64")}?=`;
