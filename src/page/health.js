// The server, its model and its store. API keys are never sent to a client.
import { app, call, can, report } from "./app.js";
import { fill, h, toast } from "./dom.js";
import { page, sentence, time } from "./parts.js";
import { bytes, number, percent, plural } from "./text.js";

export const title = "Health";

const table = (name, rows) => h("section", null, h("h2", null, name), h("dl.members", null,
  rows.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([key, value]) => [h("dt", null, key), h("dd", null, value)])));

function embedding(progress) {
  const share = progress.total ? progress.done / progress.total : 1;
  const left = progress.secondsLeft >= 0 ? `, about ${plural(progress.secondsLeft, "second")} left` : "";
  return h("section.wide", null, h("h2", null, "Vectors"),
    h("progress", { max: 1, value: share, "aria-label": "Notes with vectors" }),
    h("p", null, `${number(progress.done)} of ${number(progress.total)} notes have vectors (${percent(share)})${progress.running ? `; being computed${left}` : ""}.`),
    progress.error && h("p.error", null, `Embedding waits: ${progress.error}`),
    h("p.hint", null, "Searches use ", h("code", null, progress.serving), "."),
    progress.pending > 0 && can("memory.reembed") && h("button", { type: "button", onclick: () => call("memory.reembed").then(() => toast("Computing vectors."), report) }, "Try now"));
}

async function read(body) {
  const [stats, config, health] = await Promise.all([call("memory.stats"), call("memory.get_config"), call("memory.health")]);
  const { embedder, store, paths } = config;
  fill(body,
    stats.embedding.error ? h("p.verdict.none", null, "Something needs attention: see Vectors.")
      : stats.embedding.pending ? h("p.verdict.low", null, "Vectors are being computed; search by word works meanwhile.") : h("p.verdict.high", null, "All is well."),
    embedding(stats.embedding),
    table("Memory", [["Notes", number(stats.notes)], ["Projects", number(stats.projects)], ["Groups", number(stats.groups)], ["Globals", number(stats.globals)],
      ["Vectors", number(stats.vectors)], ["Size", bytes(stats.bytes)],
      ["Vector cache", health.cacheBuilding ? "being built: searches by meaning may miss notes" : health.cacheBytes ? bytes(health.cacheBytes) : "none yet: the first search creates it"], ["Format", `version ${stats.schemaVersion}`]]),
    table("Model", [["Provider", embedder.provider], ["Model", embedder.model], ["Dimensions", embedder.dim ? String(embedder.dim) : "not known yet"],
      ["Address", embedder.baseUrl], ["API key", embedder.apiKeySet ? "set, never shown" : "not set"], ["Dictionary", embedder.gloss]]),
    table("Server", [["Version", health.version], ["Running since", time(health.openedAt)], ["Access", health.readOnly ? "read-only" : "reads and writes"],
      ["Project", health.projectId ?? "all"], ["Last backup", health.lastBackup ? time(health.lastBackup) : "none is known"], ["Store", store.path ?? store.url], ["Configuration", paths.configPath], ["Data", paths.dataDir]]),
    h("p.hint", null, "Settings are in the configuration file; ", h("code", null, "fumi help serve"), " lists them. ",
      h("code", null, "fumi backup"), " copies the store, ", h("code", null, "fumi doctor"), " checks it."),
    app.readOnly && h("p.hint", null, "This server is read-only: views that change something are hidden."));
}

export async function show(main) {
  const body = h("div.health");
  fill(main, page(title, body));
  let busy;
  const refresh = async () => {
    try {
      await read(body);
      clearTimeout(busy);
      if (body.isConnected && body.querySelector("progress:not([value=\"1\"])")) busy = setTimeout(refresh, 1000);
    } catch (error) {
      fill(body, sentence(error));
    }
  };
  await refresh();
  return { refresh };
}
