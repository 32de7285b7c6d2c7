// A note of 900 KiB over stdio, HTTP and MCP is stored at once and found by keywords of its last sentence at once; it is
// found by the meaning of its last passage once the background thread has embedded it. The same holds after an update,
// and for memory.import and fumi import.
//
//   node tests/providers/long.mjs FUMI FAKE-PROVIDER
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [fumi, fake] = process.argv.slice(2);
const PATIENCE = 120000;
let passed = 0, failed = 0;

function check(name, right, got) {
    if (right) {
        passed++;
        return;
    }
    failed++;
    console.error(`FAILED ${name}: ${JSON.stringify(got)?.slice(0, 600)}`);
}

const firstLine = (stream) => new Promise((done) => createInterface({ input: stream }).once('line', done));

// Repeats one sentence; the last passage has unique words.
const textOf = (word) => 'The same words again. '.repeat((900 << 10) / 22) + `The ${word} gallops. `.repeat(300);

const provider = spawn(fake, [], { stdio: ['ignore', 'pipe', 'inherit'] });
const port = Number((await firstLine(provider.stdout)).match(/\d+/)[0]);
await fetch(`http://127.0.0.1:${port}/control/dim/64`);
const env = {
    ...process.env, FUMI_EMBEDDER_PROVIDER: 'ollama', FUMI_EMBEDDER_MODEL: 'fake',
    FUMI_EMBEDDER_BASE_URL: `http://127.0.0.1:${port}`,
};

// For each transport: a function that sends one message and resolves to its answer.
function overStdio(dir) {
    const child = spawn(fumi, ['serve', '--data-dir', dir], { stdio: ['pipe', 'pipe', 'inherit'], env });
    const waiting = new Map();
    createInterface({ input: child.stdout }).on('line', (line) => waiting.get(JSON.parse(line).id)?.(JSON.parse(line)));
    const send = (message) => new Promise((done) => {
        waiting.set(message.id, done);
        child.stdin.write(JSON.stringify(message) + '\n');
    });
    return { child, send };
}

function overHttp(dir, path) {
    const args = ['serve', '--transport', 'http', '--port', '0', '--data-dir', dir];
    const child = spawn(fumi, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
    const base = firstLine(child.stderr).then((line) => `http://127.0.0.1:${line.match(/:(\d+)$/)[1]}`);
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const send = async (message) => {
        const answer = await fetch((await base) + path, { method: 'POST', body: JSON.stringify(message), headers });
        if (answer.headers.get('mcp-session-id'))
            headers['Mcp-Session-Id'] = answer.headers.get('mcp-session-id');
        const text = await answer.text(); // JSON, or events of which the last is the answer
        return JSON.parse(text.startsWith('data:') ? text.trim().split('\n').at(-1).slice(5) : text);
    };
    return { child, send };
}

let id = 0;
const ask = (send, method, params) => send({ jsonrpc: '2.0', id: ++id, method, params });
const plain = async (send) => async (method, params) => (await ask(send, `memory.${method}`, params)).result;
const tool = async (send) => {
    const clientInfo = { name: 'long', version: '1' };
    await ask(send, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    return async (method, params) =>
        (await ask(send, 'tools/call', { name: `memory_${method}`, arguments: params })).result?.structuredContent;
};

const ways = [
    ['stdio', overStdio, plain], ['http', (dir) => overHttp(dir, '/rpc'), plain],
    ['mcp on stdio', overStdio, tool], ['mcp on http', (dir) => overHttp(dir, '/mcp'), tool],
];

async function embedded(call) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
        const { embedding } = await call('stats', {});
        if (embedding.done === embedding.total && embedding.total > 0)
            return true;
    }
    return false;
}

async function finds(name, call, word, text) {
    const search = (mode) => call('search', { projectId: 'p', query: `The ${word} gallops`, mode, topK: 1, maxTokens: 0 });
    const words = await search('words');
    check(`${name}: found by words at once`, words?.results?.[0]?.text === text, words?.meta);
    check(`${name}: embedded`, await embedded(call));
    const meaning = await search('meaning');
    check(`${name}: found by meaning`, meaning?.results?.[0]?.text === text, meaning?.meta);
}

async function play([name, open, speak]) {
    const dir = mkdtempSync(join(tmpdir(), 'fumi-long-'));
    const { child, send } = open(dir), call = await speak(send);
    try {
        await call('add_note', { projectId: 'p', groupId: 'g', text: 'A short note.' });
        const added = await call('add_note', { projectId: 'p', groupId: 'g', text: textOf('zebra') });
        check(`${name}: stored`, added?.id && added.warning?.includes('not embedded yet'), added);
        await finds(name, call, 'zebra', textOf('zebra'));
        const got = await call('get', { id: added?.id });
        check(`${name}: whole`, got?.text === textOf('zebra'), got?.id);
        const updated = await call('update', { id: added?.id, patch: { text: textOf('camel') } });
        check(`${name}: updated`, updated?.ok, updated);
        await finds(`${name}, updated`, call, 'camel', textOf('camel'));
        const many = await call('import', { projectId: 'p', notes: [{ groupId: 'g', text: textOf('otter') }] });
        check(`${name}: imported`, many?.ids?.length === 1, many);
        await finds(`${name}, memory.import`, call, 'otter', textOf('otter'));
        const line = JSON.stringify({ projectId: 'p', groupId: 'g', text: textOf('lynx') });
        const done = spawnSync(fumi, ['import', '--data-dir', dir], { input: line, env, encoding: 'utf8' });
        check(`${name}: import`, done.status === 0, done.stderr);
        await finds(`${name}, fumi import`, call, 'lynx', textOf('lynx'));
        const piped = spawnSync(fumi, ['add', '-p', 'p', '--data-dir', dir], { input: textOf('hare'), env, encoding: 'utf8' });
        check(`${name}: add`, piped.status === 0, piped.stderr);
        await finds(`${name}, fumi add`, call, 'hare', textOf('hare').trimEnd() + ' ');
    } finally {
        child.kill('SIGTERM');
        await new Promise((gone) => child.once('exit', gone));
        rmSync(dir, { recursive: true });
    }
}

try {
    for (const way of ways)
        await play(way);
} finally {
    provider.kill();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
