// Notes are stored before they have vectors: a search that follows at once finds them by meaning, over every transport and
// from another process, and a process that is killed before it has stored a vector leaves it to the next one.
//
//   node tests/providers/adds.mjs FUMI FAKE-PROVIDER
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Lines, Server, baseOf, check, control, finish, newDir, start, startFake, until, fumi } from './tools.mjs';

const text = 'The ferry to the island was cancelled because of the storm.', query = 'boat trips and bad weather';

function overHttp(options) {
    return (method, params) => new Promise((done, fail) => {
        const post = request({ ...options, path: '/rpc', method: 'POST', headers: { 'Content-Type': 'application/json' } }, (answer) => {
            let all = '';
            answer.on('data', (bytes) => all += bytes).on('end', () => done(JSON.parse(all)));
        });
        post.on('error', fail);
        post.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory.${method}`, params }));
    });
}

// One message at a time, of less than 64 KiB.
function frame(text) {
    const body = Buffer.from(text), head = Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 255, 0, 0, 0, 0]);
    return Buffer.concat([head, body]); // a mask of zeros changes nothing
}

function unframe(bytes) {
    const short = bytes.length > 1 ? bytes[1] & 127 : 127, from = short === 126 ? 4 : 2;
    const size = short === 126 && bytes.length > 3 ? bytes.readUInt16BE(2) : short;
    return bytes.length >= from + size && short < 127 ? bytes.subarray(from, from + size).toString() : null;
}

async function overWebSocket(port) {
    const socket = await new Promise((done, fail) => request({ host: '127.0.0.1', port, path: '/ws', headers: {
        Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
    } }).on('upgrade', (_, s) => done(s)).on('error', fail).end());
    return (method, params) => new Promise((done) => {
        let all = Buffer.alloc(0);
        socket.removeAllListeners('data').on('data', (bytes) => {
            const text = unframe(all = Buffer.concat([all, bytes]));
            if (text) done(JSON.parse(text));
        });
        socket.write(frame(JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory.${method}`, params })));
    });
}

// fumi on HTTP and on a Unix socket.
async function serve(dir) {
    const unix = join(dir, 'socket');
    const child = start(fumi, ['serve', '--data-dir', dir, '--log', 'silent', '--listen', `unix:${unix}`, '--listen', 'tcp:127.0.0.1:0'],
        {}, 'pipe');
    const lines = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
    let port;
    for (let i = 0; i < 2; i++)
        port = (await lines.next()).value.match(/:(\d+)$/)?.[1] ?? port;
    return { child, unix, port };
}

// The search that follows at once either finds the note by meaning or, if the machine was too slow for the 100 ms that it
// waits, says that the note is pending; then it is found soon.
async function finds(name, add, search) {
    const params = { projectId: 'p', query, mode: 'meaning' };
    const added = await add('add_note', { projectId: 'p', groupId: 'g', text: `${text} (${name})` });
    const has = (a) => a.result?.results.some((r) => r.id === added.result?.id);
    let answer = await search('search', params);
    check(`${name}: added`, added.result?.id && !added.result.embedding && !added.result.warning, added);
    check(`${name}: found, or pending`, has(answer) || answer.result?.meta.pending > 0, answer);
    check(`${name}: found`, await until(async () => has(answer = await search('search', params))), answer);
    return has(answer);
}

async function transports() {
    const dir = newDir(), server = await serve(dir), stdio = new Lines(dir, {}), other = new Lines(dir, {});
    try {
        const call = (method, params) => stdio.call(method, params), second = (method, params) => other.call(method, params);
        const http = overHttp({ host: '127.0.0.1', port: server.port }), unix = overHttp({ socketPath: server.unix });
        const socket = await overWebSocket(server.port);
        for (const [name, one] of [['stdio', call], ['HTTP', http], ['WebSocket', socket], ['Unix socket', unix]])
            await finds(name, one, one);
        const added = (await call('add_note', { projectId: 'p', groupId: 'g', text: `${text} (seen by another process)` })).result;
        let answer;
        check('another process: found', await until(async () => {
            answer = await second('search', { projectId: 'p', query, mode: 'meaning', topK: 10 });
            return answer.result?.results.some((r) => r.id === added?.id);
        }), answer);
        check('both end well', await stdio.stop() === 0 && await other.stop() === 0);
    } finally {
        for (const one of [server.child, stdio.child, other.child]) one.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

async function killed() {
    const dir = newDir(), { child, port } = await startFake();
    const env = { FUMI_EMBEDDER_PROVIDER: 'openai', FUMI_EMBEDDER_MODEL: 'fake', FUMI_EMBEDDER_BASE_URL: baseOf('openai', port) };
    let server = new Server(dir, env);
    const stats = async () => (await server.call('stats')).result;
    const add = (words) => server.call('add_note', { projectId: 'p', groupId: 'g', text: words });
    const find = async (words, mode) => (await server.call('search', { projectId: 'p', query: words, mode })).result?.results ?? [];
    try {
        const first = await add('the first note is about birds');
        check('killed: well at first', first.result?.id && !first.result.embedding, first);
        await control(port, 'wait');
        const ids = [];
        for (const words of ['trains', 'ships', 'planes'])
            ids.push((await add(`another note is about ${words}`)).result?.id);
        check('killed: stored', ids.every(Boolean), ids);
        check('killed: found by words', (await find('trains', 'words'))[0]?.id === ids[0]);
        check('killed: without vectors', (await stats())?.embedding.pending === 3, await stats());
        const gone = new Promise((done) => server.child.once('exit', (_, signal) => done(signal)));
        server.child.kill('SIGKILL');
        check('killed: killed', await gone === 'SIGKILL');
        server = new Server(dir, env);
        check('killed: kept', (await stats())?.notes === 4 && (await stats()).embedding.pending === 3, await stats());
        await control(port, 'well');
        check('killed: the vectors follow', await until(async () => (await stats())?.embedding.pending === 0), await stats());
        check('killed: found by meaning', (await find('another note is about ships', 'meaning'))[0]?.id === ids[1]);
        check('killed: ends well', await server.stop() === 0);
    } finally {
        server.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

for (const test of [transports, killed])
    await test().catch((e) => check(test.name, false, String(e.stack)));
finish();
