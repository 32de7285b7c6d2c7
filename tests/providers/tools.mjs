// Shared by the tests with fake-provider. Usage of each: PROGRAM.mjs FUMI FAKE-PROVIDER
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const [fumi, fake] = process.argv.slice(2);
const PATIENCE = 120000;
let passed = 0, failed = 0;

export function check(name, right, got) {
    if (right) {
        passed++;
        return;
    }
    failed++;
    console.error(`FAILED ${name}: ${JSON.stringify(got)}`);
}

export function start(program, args, env = {}, errors = 'inherit') {
    return spawn(program, args, { stdio: ['ignore', 'pipe', errors], env: { ...process.env, ...env } });
}

export async function startFake() {
    const child = start(fake, []);
    for await (const line of createInterface({ input: child.stdout }))
        return { child, port: Number(line.match(/\d+/)[0]) };
}

export const baseOf = (provider, port) => (provider === 'ollama' ? `http://127.0.0.1:${port}` : `http://127.0.0.1:${port}/v1`);

export class Server {
    constructor(dir, env, more = []) {
        this.child = start(fumi, ['serve', '--transport', 'http', '--port', '0', '--data-dir', dir, '--time-limit',
            '8000', '--log', 'silent', ...more], env, 'pipe');
        this.url = new Promise((done) => createInterface({ input: this.child.stderr }).once('line', (line) =>
            done(`http://127.0.0.1:${line.match(/:(\d+)$/)[1]}/rpc`)));
    }
    async call(method, params) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory.${method}`, params });
        const answer = await fetch(await this.url, {
            method: 'POST', body, headers: { 'Content-Type': 'application/json' },
        });
        return answer.json();
    }
    stop() {
        const gone = new Promise((done) => this.child.once('exit', done));
        this.child.kill('SIGTERM');
        return gone;
    }
}

// fumi on stdio, one message per line.
export class Lines {
    constructor(dir, env, more = []) {
        this.child = spawn(fumi, ['serve', '--data-dir', dir, '--time-limit', '8000', '--log', 'silent', ...more],
            { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
        this.waiting = new Map();
        this.id = 0;
        createInterface({ input: this.child.stdout }).on('line', (line) => {
            const answer = JSON.parse(line);
            this.waiting.get(answer.id)?.(answer);
        });
    }
    request(method, params) {
        const id = ++this.id, answer = new Promise((done) => this.waiting.set(id, done));
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        return answer;
    }
    call(method, params) {
        return this.request(`memory.${method}`, params);
    }
    tool(name, args) {
        return this.request('tools/call', { name, arguments: args });
    }
    initialize() {
        return this.request('initialize', { protocolVersion: '2025-06-18', capabilities: {},
            clientInfo: { name: 'test', version: '1' } });
    }
    stop() {
        const gone = new Promise((done) => this.child.once('exit', done));
        this.child.stdin.end();
        return gone;
    }
}

// Runs a command; resolves to its output and exit status.
export async function run(args, env) {
    const child = start(fumi, args, env, 'pipe');
    let out = '', err = '';
    child.stdout.on('data', (bytes) => out += bytes);
    child.stderr.on('data', (bytes) => err += bytes);
    return new Promise((done) => child.once('close', (status) => done({ status, out, err })));
}

export async function until(test) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((r) => setTimeout(r, 50)))
        if (await test())
            return true;
    return false;
}

export const control = (port, what) => fetch(`http://127.0.0.1:${port}/control/${what}`).then((r) => r.text());

export const newDir = () => mkdtempSync(join(tmpdir(), 'fumi-providers-'));

export function finish() {
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}
