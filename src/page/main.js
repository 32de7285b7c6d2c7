// Starts the page: connects, shows the view that the address names, keeps it up to date.
import { app, call, can, go, here, link, writes } from "./app.js";
import { ask, byId, field, fill, h, toast } from "./dom.js";
import { Connection, post, token } from "./rpc.js";
import * as browse from "./browse.js";
import * as compare from "./compare.js";
import * as globals from "./globals.js";
import * as groups from "./groups.js";
import * as health from "./health.js";
import * as history from "./history.js";
import * as map from "./map.js";
import * as note from "./note.js";
import * as projects from "./projects.js";
import * as review from "./review.js";
import * as search from "./search.js";
import * as tests from "./tests.js";
import { titleOf } from "./text.js";

// The project of the last visit. A browser may refuse to keep it.
const KEY = "fumi.project";
const lastProject = {
  get() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  },
  set(name) {
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // it is asked for again at the next visit
    }
  },
};

// The views in the order of the navigation, which does not list unlisted ones. One whose method the server
// lacks is not shown.
const views = {
  notes: browse, search, map, globals, groups, history, review: review.queue, given: review.injections, tests, projects, health,
  compare,
};

let shown = { view: undefined, params: {}, refresh: undefined };
let ready = false; // whether the projects are known

const available = () => Object.entries(views).filter(([, view]) => !view.unlisted && (!view.needs || can(view.needs)));

function showNavigation(current) {
  fill(byId("views"), available().map(([name, view]) => h("li", null,
    h("a", { href: link(name), "aria-current": name === current ? "page" : undefined }, view.title))));
  bringIntoView(byId("views").querySelector("[aria-current]"));
}

// On narrow screens the navigation is one line, which scrolls.
function bringIntoView(current) {
  if (!current) return;
  const { left, right } = current.getBoundingClientRect();
  if (left < 0 || right > innerWidth) current.closest("nav").scrollLeft += left - 16;
}

function showProjects() {
  const select = byId("project");
  const names = app.projects.map(({ name }) => name);
  if (app.project && !names.includes(app.project)) names.unshift(app.project);
  fill(select, names.length ? names.map((name) => h("option", { value: name, selected: name === app.project }, name)) : h("option", { value: "" }, "No projects"));
  select.disabled = names.length === 0;
}

async function loadProjects() {
  const { names } = await call("memory.list_names", { kind: "project", limit: 1000 });
  app.projects = names;
  app.project ??= lastProject.get();
  if (!names.some(({ name }) => name === app.project)) app.project = [...names].sort((a, b) => b.notes - a.notes)[0]?.name ?? app.scope;
  showProjects();
}

// Whether only the open note differs.
const sameView = (view, params) => {
  const rest = ({ note: ignored, ...others }) => JSON.stringify(others);
  return shown.view === view && shown.project === app.project && rest(shown.params) === rest(params);
};

function showNote(params) {
  const pane = byId("pane");
  for (const item of document.querySelectorAll("li.note")) {
    const on = Boolean(params.note) && item.dataset.id === params.note;
    item.classList.toggle("selected", on);
    const title = item.querySelector("a.title");
    if (on) title?.setAttribute("aria-current", "true");
    else title?.removeAttribute("aria-current");
  }
  if (pane.dataset.editing) {
    if (params.note && pane.dataset.id !== params.note) toast("Save or cancel the note that you edit first.");
    return;
  }
  if (params.note && pane.dataset.id !== params.note) note.show(pane, params.note);
  else if (!params.note && !pane.hidden && pane.dataset.id !== "new") {
    pane.hidden = true;
    delete pane.dataset.id;
  }
}

async function route({ focus = true } = {}) {
  if (!ready) return; // shown when it is
  const { view, params } = here();
  const known = views[view] && (!views[view].needs || can(views[view].needs)) ? view : "notes";
  byId("query").value = known === "search" ? (params.q ?? "") === byId("query").value.trim() ? byId("query").value : (params.q ?? "") : byId("query").value;
  if (sameView(known, params)) {
    shown.params = params;
    showNote(params);
    return;
  }
  if (shown.view === known && shown.project === app.project && shown.update?.(params)) {
    shown.params = params;
    return;
  }
  const changesView = shown.view !== known;
  shown = { view: known, params, project: app.project };
  const mine = shown;
  showNavigation(known);
  document.title = `${views[known].title} – Fumi`;
  document.body.dataset.view = known;
  byId("main").setAttribute("aria-busy", "true");
  try {
    Object.assign(mine, await views[known].show(byId("main"), params, { status: byId("announce") }));
  } catch (error) {
    if (mine === shown) fill(byId("main"), h("h1", null, views[known].title), h("p.error", { role: "alert" }, error.message));
  }
  if (mine !== shown) return;
  if (mine.stale) await mine.refresh?.();
  byId("main").removeAttribute("aria-busy");
  showNote(params);
  if (changesView && focus && document.activeElement !== byId("query")) byId("main").focus({ preventScroll: true });
}

// What other clients store: the view is read again, and new notes are announced.
let newest;
let pending;

async function announceNew() {
  if (!app.project) return;
  const { items } = await call("memory.list_recent", { projectId: app.project, limit: 5 });
  const fresh = newest ? items.filter(({ createdAt, id }) => createdAt >= newest.at && !newest.ids.has(id)) : [];
  newest = { at: items[0]?.createdAt ?? "", ids: new Set(items.map(({ id }) => id)), project: app.project };
  for (const item of fresh.reverse()) byId("live").textContent = `New: ${titleOf(item)}${await authorOf(item)}`;
}

async function authorOf({ id }) {
  if (!can("memory.history")) return "";
  const { items } = await call("memory.history", { id, limit: 1 });
  const client = items[0]?.by.claimed?.client;
  return client ? ` (${client})` : "";
}

async function readAgain() {
  const had = app.project;
  await loadProjects();
  if (app.project !== had) {
    newest = had ? undefined : { at: "", ids: new Set() };
    await route({ focus: false });
    return;
  }
  if (shown.refresh) await shown.refresh();
  else shown.stale = true; // it is being built, maybe from what it was before
  await refreshNote();
}

// One reading at a time: an older answer never replaces a newer one.
let reading;
let unread = false;
function refresh() {
  unread = true;
  reading ??= (async () => {
    try {
      while (unread) {
        unread = false;
        await readAgain();
      }
    } finally {
      reading = undefined;
    }
  })();
  return reading;
}

async function refreshNote() {
  const { note: id } = here().params;
  if (id && !byId("pane").hidden) await note.show(byId("pane"), id, { quiet: true });
}

// Changes come in bursts: the page is read again at most every half second.
function changedElsewhere() {
  clearTimeout(pending);
  pending = setTimeout(() => refresh().then(announceNew).catch(() => {}), pending ? 500 : 50);
}

// Reads the view again; one that could not be shown is built again.
async function showAgain() {
  if (shown.refresh && !byId("main").querySelector(".error")) await shown.refresh();
  else {
    shown = { view: undefined, params: {} };
    await route({ focus: false });
  }
  await refreshNote();
}

async function connected() {
  const banner = byId("banner");
  const was = !banner.hidden;
  banner.hidden = true;
  document.body.dataset.connected = "yes";
  try {
    const facts = await call("memory.health");
    app.readOnly = facts.readOnly;
    app.scope = facts.projectId;
    await loadProjects();
    byId("new").hidden = !writes("memory.add_note");
    newest = undefined;
    call("memory.watch", { client: "Fumi page" }).catch(() => {});
    if (was) toast("Connected again.");
    ready = true;
    await showAgain();
    await announceNew();
  } catch (error) {
    if (app.connection.connected) fill(byId("main"), h("h1", null, "Fumi"), h("p.error", { role: "alert" }, error.message));
  }
}

function disconnected() {
  delete document.body.dataset.connected;
  const banner = byId("banner");
  banner.textContent = "The connection to the server is lost. Start it with “fumi open” if it has ended; this page connects again by itself.";
  banner.hidden = false;
}

// Asks for the token until the server accepts it.
async function signIn() {
  for (let again = false; ; again = true) {
    const answer = await post("rpc.discover");
    if (answer.status === 200) return answer.result;
    if (answer.status !== 401) throw new Error(`The server refused this page: ${answer.reason.trim()}.`);
    token.forget();
    const input = h("input", { type: "password", required: true, autocomplete: "off", spellcheck: "false" });
    await ask("Token", [
      h("p", null, "This server asks for a token. It is in the file ", h("code", null, "token"), " in the data directory of Fumi (", h("code", null, "fumi open"), " prints where), or what was set with --token or --token-file."),
      again && h("p.error", { role: "alert" }, "That was not the token."),
      field("Token", input, "It is kept until this tab is closed, and sent only to this server.")], [["Continue", "yes", "primary"]]);
    token.set(input.value.trim());
  }
}

function listen() {
  const query = byId("query");
  let typing;
  const run = () => {
    const { view, params } = here();
    const q = query.value.trim();
    if (view === "search") go("search", { ...params, q, note: "" }, { replace: true });
    else if (q) go("search", { q });
  };
  query.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(run, 60);
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    run();
  });
  byId("project").addEventListener("change", (event) => {
    app.project = event.target.value || null;
    dispatchEvent(new Event("project"));
    go(here().view, { q: here().params.q });
    route();
  });
  byId("new").addEventListener("click", () => note.create());
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  addEventListener("hashchange", () => route());
  addEventListener("beforeunload", (event) => byId("pane").dataset.editing && event.preventDefault());
  addEventListener("memory", () => refresh().catch(() => {}));
  addEventListener("project", () => {
    if (app.project) lastProject.set(app.project);
    newest = undefined;
    showProjects();
  });
  addEventListener("keydown", (event) => {
    if (event.target.closest?.("input, textarea, select, dialog") && event.key !== "Escape") return;
    if (event.key === "/" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      query.focus();
      query.select();
    } else if (event.key === "Escape" && !byId("pane").hidden && !byId("pane").dataset.editing && !document.querySelector("dialog[open]")) {
      const { id } = byId("pane").dataset;
      note.close(byId("pane"));
      document.querySelector(`li.note[data-id="${CSS.escape(id ?? "")}"] a.title`)?.focus();
    }
  });
}

async function start() {
  document.body.append(h("div.hidden", { id: "announce", role: "status", "aria-live": "polite" }));
  try {
    const { methods } = await signIn();
    app.methods = new Set(methods.map(({ name }) => name));
  } catch (error) {
    fill(byId("main"), h("h1", null, "Fumi"), h("p.error", { role: "alert" }, error.message || "The server cannot be reached."));
    return;
  }
  listen();
  app.connection = new Connection({
    onState: (on) => (on ? connected() : disconnected()),
    onNotice: (method) => method === "memory.changed" && changedElsewhere(),
    onRefused: () => signIn().catch(() => {}), // the server has ended, or wants another token
  });
  app.connection.open();
}

start();
