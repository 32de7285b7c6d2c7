// A port of this machine that nobody listens on. It is below those that the system gives to outgoing connections, which
// might otherwise take it before the server does.
import { createServer } from 'node:net';

const isFree = (port) => new Promise((done) => {
    const server = createServer().once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
});

export async function freePort() {
    for (;;) {
        const port = 12000 + Math.floor(Math.random() * 18000);
        if (await isFree(port))
            return port;
    }
}
