export function ready(server) {
  console.error(`listening on tcp:127.0.0.1:${server.address().port}`);
}
