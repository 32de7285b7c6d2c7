// A host of MCP Apps: published client and bridge code, and a sandboxed frame. app.test.mjs bundles it.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, getToolUiResourceUri, isToolVisibilityAppOnly, PostMessageTransport, RESOURCE_MIME_TYPE }
  from "@modelcontextprotocol/ext-apps/app-bridge";

const info = { name: "app-host", version: "1.0.0" };
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };

async function connect(url, shown) {
  const client = new Client(info, { capabilities: shown ? { extensions } : {} });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

window.host = {
  async open(url) {
    this.client = await connect(url, true);
    this.plain = await connect(url, false);
    this.tools = (await this.client.listTools()).tools;
  },
  async leave() {
    await this.client.close();
    await this.plain.close();
  },
  // The names of the tools: those that the app alone may call, and those of a client without apps.
  async names() {
    const { tools } = await this.plain.listTools();
    return { forApp: this.tools.filter(isToolVisibilityAppOnly).map(({ name }) => name), plain: tools.map(({ name }) => name) };
  },
  async call(name, args) {
    const { isError, content } = await this.plain.callTool({ name, arguments: args });
    if (isError) throw new Error(content[0].text);
  },
  // A call of the model, and the app that the tool names.
  async show(name, args, theme) {
    const tool = this.tools.find((one) => one.name === name);
    const { contents: [document_] } = await this.client.readResource({ uri: getToolUiResourceUri(tool) });
    if (document_.mimeType !== RESOURCE_MIME_TYPE) throw new Error(document_.mimeType);
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = "app";
    document.body.replaceChildren(frame);
    this.bridge = new AppBridge(this.client, info, { serverTools: {}, serverResources: {} }, { hostContext: { theme, toolInfo: { tool } } });
    this.bridge.onsizechange = ({ height }) => frame.style.setProperty("height", `${height}px`);
    const ready = new Promise((resolve) => { this.bridge.oninitialized = resolve; });
    await this.bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    frame.srcdoc = document_.text;
    await ready;
    await this.bridge.sendToolInput({ arguments: args });
    await this.bridge.sendToolResult(await this.client.callTool({ name, arguments: args }));
    return this.bridge.getAppVersion();
  },
  theme: (theme) => window.host.bridge.sendHostContextChange({ theme }),
  close: () => window.host.bridge.teardownResource({}),
};
