// jayson's own HTTP server, as its README shows it.
import jayson from "jayson";
import { ready } from "./ready.mjs";

const methods = { subtract: (params, done) => done(null, params[0] - params[1]) };
const http = new jayson.Server(methods).http();
http.keepAliveTimeout = 600_000;
http.listen(0, "127.0.0.1", () => ready(http));
