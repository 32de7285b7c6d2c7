// Runs the proxies of docs/operations.md with TLS in front of a server: nginx and Caddy, if they are installed.
// Exit status 77: none is.
//
//   node tests/docs/proxy.mjs FUMI
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from './markdown.mjs';
import { freePort } from './port.mjs';

const HOST = 'fumi.example', TOKEN = '0123456789abcdef0123456789abcdef', PATIENCE = 60000;
const fumi = resolve(process.argv[2]);
const dir = mkdtempSync(join(tmpdir(), 'fumi-proxy-'));
const children = [];
process.on('exit', () => {
    children.forEach((child) => child.kill());
    rmSync(dir, { recursive: true, force: true });
});
const page = parse(readFileSync(join(dirname(new URL(import.meta.url).pathname), '../../docs/operations.md'), 'utf8'));
const example = (language) => page.blocks.find((block) => block.language === language).text;
let passed = 0, failed = 0;

function check(name, right, got) {
    if (right) {
        passed++;
        return;
    }
    failed++;
    console.error(`FAILED ${name}: ${JSON.stringify(got)}`);
}

function start(program, args) {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    children.push(child);
    return child;
}

async function startFumi() {
    const child = start(fumi, ['serve', '--transport', 'http', '--port', '0', '--data-dir', join(dir, 'data'), '--auth',
        'token', '--token', TOKEN, '--hosts', HOST, '--origins', `https://${HOST}`]);
    for await (const line of createInterface({ input: child.stderr })) {
        if (line.startsWith('listening'))
            return Number(line.match(/(\d+)$/)[1]);
    }
    throw new Error('fumi does not listen');
}

function nginx(port, to) {
    const pem = join(dir, 'cert.pem'), key = join(dir, 'key.pem'), conf = join(dir, 'nginx.conf');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days',
        '2', '-subj', `/CN=${HOST}`, '-keyout', key, '-out', pem], { stdio: 'ignore' });
    const server = example('nginx').replace('listen 443', `listen 127.0.0.1:${port}`)
        .replace(/(?<=ssl_certificate +)\S+(?=;)/, pem).replace(/(?<=ssl_certificate_key +)\S+(?=;)/, key).replace('8765', to);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${dir}/${name};`);
    writeFileSync(conf, `daemon off; worker_processes 1; pid ${dir}/nginx.pid; error_log stderr;
        events {} http { access_log off; ${temporary.join(' ')} ${server} }`);
    return start('nginx', ['-p', dir, '-e', 'stderr', '-c', conf]);
}

function caddy(port, to) {
    const conf = join(dir, 'Caddyfile'), data = join(dir, 'caddy');
    mkdirSync(data);
    writeFileSync(conf, `{
        admin off
        https_port ${port}
        auto_https disable_redirects
        default_bind 127.0.0.1
        local_certs
        skip_install_trust
        storage file_system ${data}
    }\n${example('caddy').replace('8765', to)}`);
    return start('caddy', ['run', '--config', conf, '--adapter', 'caddyfile']);
}

// ask: { status, body }; status is 101 after an upgrade, and 0 if there is no answer.
const ask = (port, path, { body, ...headers }) => new Promise((done) => {
    const sent = request({ host: '127.0.0.1', port, path, servername: HOST, rejectUnauthorized: false, agent: false,
        method: body ? 'POST' : 'GET', headers: { Host: HOST, ...headers }, timeout: PATIENCE }, async (answer) => {
        let text = '';
        for await (const part of answer)
            text += part;
        done({ status: answer.statusCode, body: text });
    });
    sent.on('upgrade', (answer, socket) => {
        socket.destroy();
        done({ status: answer.statusCode });
    });
    sent.on('error', (e) => done({ status: 0, body: e.message }));
    sent.end(body);
});

async function test(name, proxy) {
    const port = await freePort();
    const child = proxy(port, String(await startFumi()));
    let errors = '';
    child.stderr.on('data', (bytes) => errors += bytes);
    const call = { 'Content-Type': 'application/json', body: '{"jsonrpc":"2.0","id":1,"method":"memory.health"}' };
    const token = { Authorization: `Bearer ${TOKEN}` };
    let answer;
    for (const end = Date.now() + PATIENCE; Date.now() < end && child.exitCode === null;) {
        answer = await ask(port, '/', {});
        if (answer.status && answer.status !== 502)
            break;
        await new Promise((done) => setTimeout(done, 50)); // until the proxy listens
    }
    check(`${name}: the page`, answer?.status === 200 && answer.body.includes('<!doctype html>'), { answer, errors });
    for (const [what, path, headers, status] of [
        ['a call without a token', '/rpc', call, 401],
        ['a call', '/rpc', { ...call, ...token }, 200],
        ['a call of the page', '/rpc', { ...call, ...token, Origin: `https://${HOST}` }, 200],
        ['a call of another page', '/rpc', { ...call, ...token, Origin: 'https://other.example' }, 403],
        ['WebSocket', '/ws', { ...token, Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13',
            'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' }, 101],
    ]) {
        answer = await ask(port, path, headers);
        const right = answer.status === status && (status !== 200 || 'result' in JSON.parse(answer.body));
        check(`${name}: ${what}`, right, answer);
    }
}

const proxies = { nginx, caddy };
const installed = Object.keys(proxies).filter((name) => !spawnSync(name, ['version']).error);
for (const name of installed)
    await test(name, proxies[name]);
console.log(installed.length ? `${installed}: ${passed} passed, ${failed} failed` : 'no proxy is installed');
process.exit(failed ? 1 : installed.length ? 0 : 77);
