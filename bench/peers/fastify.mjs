// json-rpc-2.0 behind a route of fastify: fastify reads the JSON, json-rpc-2.0 answers.
import Fastify from "fastify";
import { JSONRPCServer } from "json-rpc-2.0";
import { ready } from "./ready.mjs";

const rpc = new JSONRPCServer();
rpc.addMethod("subtract", ([a, b]) => a - b);
const app = Fastify({ logger: false, keepAliveTimeout: 600_000 });
app.post("/rpc", (request) => rpc.receive(request.body));
await app.listen({ port: 0, host: "127.0.0.1" });
ready(app.server);
