// What all views share: the connection, the project, the methods of the server, links between views.
import { toast } from "./dom.js";

export const app = {
  connection: undefined,
  methods: new Set(), // names of the methods of the server
  project: null, // null: none is chosen
  projects: [], // { name, notes }
  readOnly: false,
  scope: null, // the only project that the server gives access to
};

export const can = (method) => app.methods.has(method);
export const writes = (method) => !app.readOnly && can(method);

export function call(method, params, options) {
  return app.connection.call(method, params, options);
}

// The params of a call that concerns the chosen project.
export const inProject = (params) => ({ projectId: app.project, ...params });

// "#/notes?group=lessons": a view and its params.
export function link(view, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

export function here() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view || "notes", params: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function go(view, params, { replace = false } = {}) {
  const to = link(view, params);
  if (to === location.hash) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  dispatchEvent(new Event("hashchange"));
}

// The same view with another param, such as the note that is open.
export function withParams(changes) {
  const { view, params } = here();
  return link(view, { ...params, ...changes });
}

// Shows an error as a message, unless the call was cancelled.
export function report(error) {
  if (error.name === "AbortError") return;
  toast(error.message);
}

// The number of the last change of a note, group or global, for calls whose result does not name it.
export async function lastChange(id) {
  if (!can("memory.undo") || !can("memory.history")) return undefined;
  const { items } = await call("memory.history", { id, limit: 1 });
  return items[0]?.change;
}

// Undoes a change by its number, or by calling `otherwise`.
export async function undo(change, otherwise) {
  try {
    if (change && can("memory.undo")) await call("memory.undo", { change });
    else await otherwise();
    toast("Undone.");
    dispatchEvent(new Event("memory"));
  } catch (error) {
    report(error);
  }
}
