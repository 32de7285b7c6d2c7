// The MCP App: search, read and review notes. It runs in a sandboxed frame and speaks JSON-RPC with the host by
// postMessage (the extension io.modelcontextprotocol/ui); the host calls the tools. Texts become text nodes.

// --- The host. ---

const waiting = new Map();
let last = 0;
let can = {}; // the capabilities of the host

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params) => send({ method, params });

function request(method, params) {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function settle({ id, result, error }) {
  const { resolve, reject } = waiting.get(id) ?? {};
  waiting.delete(id);
  if (error) reject?.(new Error(error.message));
  else resolve?.(result);
}

const requests = { ping: () => ({}), "ui/resource-teardown": () => ({}) };
const notices = {
  "ui/notifications/tool-input": ({ arguments: given }) => began(given ?? {}),
  "ui/notifications/tool-result": (result) => attempt(() => ended(result)),
  "ui/notifications/tool-cancelled": () => say("The call was cancelled."),
  "ui/notifications/host-context-changed": dress,
};

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const { id, method, params } = data;
  if (method === undefined) settle(data);
  else if (id === undefined) notices[method]?.(params ?? {});
  else if (Object.hasOwn(requests, method)) send({ id, result: requests[method](params) });
  else send({ id, error: { code: -32601, message: `The app has no method ${method}` } });
});

// The result of a tool, or an error with a sentence for people: text blocks are for models.
function resultOf({ isError, structuredContent: value, content }) {
  if (!isError) return value;
  const { code, message, data } = value ?? {};
  if (!message) throw new Error(content?.[0]?.text ?? "The call failed.");
  const detail = typeof data === "string" && data;
  throw new Error(detail ? (code === -32602 ? data : `${message}: ${data}`) : message);
}

async function call(name, args) {
  if (!can.serverTools) throw new Error("This host does not let apps call tools.");
  return resultOf(await request("tools/call", { name, arguments: args }));
}

// The theme, colours and fonts of the host.
function dress({ theme, styles }) {
  const { style } = document.documentElement;
  if (theme) style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith("--") && value) style.setProperty(name, value);
}

// --- The document. ---

const byId = (id) => document.getElementById(id);
const [query, project, status, list, article] = ["query", "project", "status", "list", "note"].map(byId);

function h(tag, props, ...children) {
  const element = document.createElement(tag);
  const { onclick, ...attributes } = props ?? {};
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (onclick) element.addEventListener("click", onclick);
  element.append(...children.filter((child) => child || child === 0));
  return element;
}

const button = (text, onclick, more) => h("button", { type: "button", onclick, ...more }, text);
const words = (...parts) => h("p", { class: "facts", dir: "auto" }, parts.filter(Boolean).join(" · "));
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const day = (time) => time && new Date(time).toLocaleString();
const titleOf = ({ title, text }) => title || (text ?? "").trim().split("\n")[0].slice(0, 120) || "Without title";

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

async function attempt(run) {
  try {
    await run();
  } catch (error) {
    say(error.message, true);
  }
}

let turn = 0;

// Shows what a call returns, unless the user has asked for something else meanwhile.
async function latest(calling, shown) {
  const mine = ++turn;
  try {
    const value = await calling;
    if (mine === turn) shown(value);
  } catch (error) {
    if (mine === turn) throw error;
  }
}

// Shows a list, and hides the note.
function show(...rows) {
  article.hidden = true;
  list.hidden = false;
  list.replaceChildren(...rows);
}

function choose(view) {
  turn++;
  for (const name of ["search", "review"]) {
    const chosen = name === view;
    byId(`to-${name}`).toggleAttribute("aria-current", chosen);
    if (chosen) byId(`to-${name}`).setAttribute("aria-current", "page");
  }
  byId("search").hidden = view !== "search";
  say("");
  show();
}

// --- Search. ---

function found({ results = [], meta = {} }) {
  show(...results.map((note) => h("li", null,
    h("h2", null, button(titleOf(note), () => attempt(() => latest(call("memory_get", { id: note.id }), read)), { class: "title" })),
    titleOf(note) !== note.text && h("p", { class: "text", dir: "auto" }, note.text ?? ""),
    words(note.project, note.groupId, ...(note.tags ?? []).map((tag) => `#${tag}`), day(note.createdAt)))));
  say([results.length ? `${count(results.length, "note")} found` : "Nothing relevant was found", meta.message].filter(Boolean).join(": "));
}

// Without a project, all are searched.
async function search() {
  if (!query.value.trim()) return query.focus();
  say("Searching …");
  await latest(call("memory_search", { projectId: project.value || "*", query: query.value }), found);
}

// The call that the host shows this app for.
function began(given) {
  choose("search");
  query.value = given.query ?? "";
  project.value = given.projectId && given.projectId !== "*" ? given.projectId : "";
  say("Searching …");
}

function ended(result) {
  const value = resultOf(result);
  if (Array.isArray(value?.results)) found(value);
  else say("");
}

// --- Reading. ---

function read(note) {
  const heading = h("h2", { tabindex: "-1", dir: "auto" }, titleOf(note));
  const from = document.activeElement;
  const back = () => {
    article.hidden = true;
    list.hidden = false;
    from?.focus();
  };
  article.replaceChildren(button("Back to the list", back), heading, h("p", { class: "text", dir: "auto" }, note.text ?? ""),
    words(note.projectId ?? note.project, note.groupId, ...(note.tags ?? []).map((tag) => `#${tag}`)),
    words(day(note.createdAt), note.source && `from ${note.source}`, `id ${note.id}`));
  list.hidden = true;
  article.hidden = false;
  heading.focus();
}

// --- Review. ---

async function decide(row, tool, text) {
  const { warning } = await call(tool, { ids: [row.dataset.id] });
  row.remove();
  say([text, warning, list.children.length ? "" : "Nothing waits for review."].filter(Boolean).join(" "));
  byId("to-review").focus();
}

// Discarding cannot be undone, so the button asks once more.
function rejecting(row) {
  let sure = false;
  const one = button("Reject", () => {
    if (sure) return attempt(() => decide(row(), "memory_review_reject", "Rejected."));
    sure = true;
    one.textContent = "Really reject";
  }, { class: "danger" });
  return one;
}

function waitingRow({ id, op, params, now, by, at, projectId }) {
  const changes = op === "update";
  const note = changes ? params.patch ?? {} : params;
  const title = titleOf({ title: note.title ?? now?.title, text: note.text ?? now?.text });
  const row = h("li", { "data-id": id },
    h("h2", null, changes && "Change of ", title),
    title !== note.text && h("p", { class: "text", dir: "auto" }, note.text ?? "The text stays."),
    changes && now && note.text && h("details", null, h("summary", null, "The text now"), h("p", { class: "text", dir: "auto" }, now.text)),
    words(projectId, by?.claimed?.client, ...(note.tags ?? []).map((tag) => `#${tag}`), day(at)),
    h("div", { class: "actions" },
      button("Accept", () => attempt(() => decide(row, "memory_review_accept", "Accepted.")), { class: "primary" }), rejecting(() => row)));
  return row;
}

function queue({ items = [] }) {
  show(...items.map(waitingRow));
  say(items.length ? `${count(items.length, "note")} to review` : "Nothing waits for review.");
}

const review = () => latest(call("memory_review", { limit: 100, ...(project.value && { projectId: project.value }) }), queue);

// --- The beginning. ---

// Hosts may forbid forms, so there is none.
byId("go").addEventListener("click", () => attempt(search));
for (const input of [query, project])
  input.addEventListener("keydown", ({ key, isComposing }) => {
    if (key === "Enter" && !isComposing) attempt(byId("search").hidden ? review : search);
  });
byId("to-search").addEventListener("click", () => choose("search"));
byId("to-review").addEventListener("click", () => {
  choose("review");
  attempt(review);
});

// The names of projects, if the host lets the app read resources; without them, names are typed.
async function offerProjects() {
  if (!can.serverResources) return;
  const { contents } = await request("resources/read", { uri: "memory://projects" });
  byId("projects").replaceChildren(...JSON.parse(contents[0].text).projects.map((one) => h("option", { value: one.project })));
}

async function start() {
  const { hostCapabilities, hostContext } = await request("ui/initialize", {
    appInfo: { name: "fumi", title: "Notes", version: "@version@" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: "2026-01-26",
  });
  can = hostCapabilities ?? {};
  dress(hostContext ?? {});
  notify("ui/notifications/initialized", {});
  new ResizeObserver(() => notify("ui/notifications/size-changed", {
    width: Math.ceil(document.documentElement.scrollWidth), height: Math.ceil(document.documentElement.getBoundingClientRect().height),
  })).observe(document.documentElement);
  await offerProjects().catch(() => {});
}

attempt(start);
