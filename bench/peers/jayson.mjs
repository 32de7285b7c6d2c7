// The methods of methods.c on jayson: over HTTP and WebSocket, or over stdio (one message per line) if an argument is
// given.
import jayson from "jayson";
import { createInterface } from "node:readline";

const example = {
  id: "7f9c24e8-3b12-4fef-91d1-0a5a6e8f2c11",
  title: "Kingfishers of the lower river",
  text: "Seen at the old mill, a little after nine.\nTwo adults and one young bird.",
  createdAt: "2026-03-14T09:26:53Z",
  tags: ["birds", "river"],
  score: 0.8125,
  revision: 3,
};
const invalid = (done, field) => done(rpc.error(-32602, "Invalid params", `${field} is required`));
const methods = {
  subtract: (p, done) => done(null, Array.isArray(p) ? p[0] - p[1] : p.minuend - p.subtrahend),
  sum: (p, done) => done(null, p.reduce((a, b) => a + b, 0)),
  echo: (p, done) => done(null, p),
  "notes.add": ({ projectId, title, text, tags = [] }, done) => {
    if (!projectId || !title || !text) return invalid(done, "projectId, title or text");
    done(null, { ...example, text: undefined, title, tags });
  },
  "notes.get": ({ projectId, id, withText = true }, done) => {
    if (!projectId || !id) return invalid(done, "projectId or id");
    done(null, { ...example, id, text: withText ? example.text : undefined });
  },
  "notes.search": ({ projectId, query, limit = 2 }, done) => {
    if (!projectId || !query) return invalid(done, "query");
    const notes = Array.from({ length: limit }, (_, i) => ({ ...example, text: undefined, score: 0.75 / 2 ** i }));
    done(null, { notes, total: limit });
  },
  ping: (p, done) => done(null, null),
  changed: (p, done) => done(null, null),
};
const rpc = new jayson.Server(methods);

if (process.argv[2]) {
  createInterface({ input: process.stdin }).on("line", (line) =>
    rpc.call(line, (error, success) => {
      if (error || success) process.stdout.write(JSON.stringify(error || success) + "\n");
    }),
  );
} else {
  const http = rpc.http();
  http.keepAliveTimeout = 600_000;
  rpc.websocket({ server: http });
  http.listen(0, "127.0.0.1", () => console.error(`listening on tcp:127.0.0.1:${http.address().port}`));
}
