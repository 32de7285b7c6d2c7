// memory.set_config over every transport: a base URL is refused, and nothing changes, unless its host is the
// provider's own, this machine, allowed or already configured. The command named in the refusal works.
//
//   node tests/providers/hosts.mjs FUMI FAKE-PROVIDER
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { Lines, baseOf, check, finish, fumi, newDir, run, start, startFake } from './tools.mjs';
import { createInterface } from 'node:readline';

const evil = { embedder: { provider: 'openai', model: 'm', baseUrl: 'https://evil.example/v1', apiKey: 'sk-1' } };
const refused = (answer) => answer?.code === -32602 && /embedder\.baseUrl: the host evil\.example is not in embedder\.allowedHosts; to use it, the user runs "fumi call memory\.set_config" in a terminal/.test(answer.message) &&
    answer.data?.field === 'embedder.baseUrl' && answer.data.remedy.includes('evil.example/v1');

// Starts a server with all transports; returns their addresses.
async function serveAll(dir) {
    const path = join(dir, 's'), child = start(fumi, ['serve', '--data-dir', dir, '--log', 'silent', '--tools', 'admin',
        '--listen', 'tcp:127.0.0.1:0', '--listen', `unix:${path}`], {}, 'pipe');
    const lines = createInterface({ input: child.stderr });
    let port = 0, n = 0;
    await new Promise((done) => lines.on('line', (line) => {
        port = Number(line.match(/127\.0\.0\.1:(\d+)/)?.[1] ?? port);
        if (++n === 2)
            done();
    }));
    return { child, port, urls: [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}`, `unix:${path}`, `http+unix:${path}`, `ws+unix:${path}`] };
}

async function mcpOverHttp(port, dir) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const post = async (id, method, params) => {
        const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers,
            body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) });
        headers['Mcp-Session-Id'] ??= answer.headers.get('mcp-session-id');
        const text = await answer.text(), data = text.match(/^data: (.*)$/m);
        return JSON.parse(data ? data[1] : text);
    };
    await post(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
    headers['MCP-Protocol-Version'] = '2025-06-18';
    const tool = await post(2, 'tools/call', { name: 'memory_set_config', arguments: evil });
    check('MCP over HTTP', tool.result?.isError && refused(tool.result.structuredContent), tool);
    const plain = await post(3, 'memory.set_config', evil);
    check('plain after initialize over HTTP', refused(plain.error), plain);
}

async function wires() {
    const dir = newDir(), server = await serveAll(dir);
    try {
        for (const url of server.urls) {
            const got = await run(['call', '--data-dir', dir, '--url', url, 'memory.set_config', JSON.stringify(evil)]);
            const [, message, code] = got.err.match(/^error: (.*) \((-?\d+)\)$/m) ?? [], data = got.err.match(/^data: (.*)$/m);
            check(`over ${url}`, got.status !== 0 && refused({ code: Number(code), message, data: JSON.parse(data?.[1] ?? '{}') }), got);
        }
        await mcpOverHttp(server.port, dir);
        const config = await run(['call', '--data-dir', dir, '--url', server.urls[0], 'memory.get_config']);
        check('nothing changed', JSON.parse(config.out).embedder.provider === 'local', config);
    } finally {
        server.child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

async function stdio() {
    const dir = newDir(), { child, port } = await startFake();
    const server = new Lines(dir, {}, ['--tools', 'admin']), few = new Lines(dir, {});
    try {
        let a = await server.call('set_config', evil);
        check('stdio: refused', refused(a.error), a);
        // The command of the remedy contains only visible ASCII, so that a user who copies it sees all of it.
        const odd = { provider: 'ollama', model: "it's \u202e\u2028\u{e0041}\x7f", baseUrl: 'https://evil.example/\u202ex' };
        a = await server.call('set_config', { embedder: odd });
        const command = a.error?.data?.remedy ?? '', json = command.match(/'(\{[^']*\})'$/)?.[1] ?? '{}';
        check('the remedy is ASCII', /^[ -~]+$/.test(command), a);
        check('the remedy has the same params', JSON.stringify(JSON.parse(json).embedder) === JSON.stringify(odd), json);
        await server.initialize();
        a = await server.call('set_config', evil);
        check('stdio: refused after initialize', refused(a.error), a);
        a = await server.tool('memory_set_config', evil);
        check('stdio: refused as a tool', a.result?.isError && refused(a.result.structuredContent), a);
        await few.initialize();
        a = await few.tool('memory_set_config', {});
        check('no tool without --tools admin', a.error || a.result?.isError, a);
        const list = await few.request('tools/list', {});
        check('not listed', list.result.tools.length > 8 && !list.result.tools.some((t) => t.name === 'memory_set_config'), list);
        for (const baseUrl of ['file:///etc/passwd', 'http://u:p@127.0.0.1', 'http://127.0.0.1/\nX: y', 'http://127.0.0.1@evil.example']) {
            for (const provider of ['local', 'openai', undefined]) {
                a = await server.call('set_config', { embedder: { provider, baseUrl } });
                check(`${provider} ${baseUrl}`, a.error?.code === -32602 && /embedder\.baseUrl must/.test(a.error.message), a);
            }
        }
        a = await server.call('set_config', { embedder: { provider: 'ollama', model: 'm', baseUrl: baseOf('ollama', port) } });
        check('loopback is set', a.result?.effectiveNamespace === 'ollama:m:8', a);
        a = await few.call('set_config', { embedder: { provider: 'openai', model: 'm', baseUrl: 'https://api.openai.com/v1' } });
        check('the provider\'s own host may be set, but needs a key', a.error?.code === -32001, a);
    } catch (e) {
        check('stdio', false, String(e.stack));
    } finally {
        server.child.kill();
        few.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

// 0.0.0.0 plays a remote host: it is not one of the allowed local names, but reaches this machine.
async function allow() {
    const dir = join(newDir(), "it's here"), { child, port } = await startFake();
    const baseUrl = `http://0.0.0.0:${port}/v1`, config = join(dir, 'config.json'), more = ['--allow-http-embedder'];
    const open = (env = {}) => new Lines(dir, env, more), change = { embedder: { provider: 'openai', model: 'm', baseUrl } };
    let server = open();
    try {
        let a = await server.call('set_config', change);
        check('refused at first', a.error?.code === -32602, a);
        await server.stop();
        for (const hosts of ['0.0.0.0', `x.example,0.0.0.0:${port}`]) {
            server = open({ FUMI_EMBEDDER_ALLOWED_HOSTS: hosts });
            a = await server.call('set_config', change);
            check(`allowed by the variable: ${hosts}`, a.result?.ok, a);
            await server.stop();
            rmSync(config);
        }
        writeFileSync(config, JSON.stringify({ embedder: { allowedHosts: ['0.0.0.0'] } }));
        server = open();
        a = await server.call('set_config', change);
        check('allowed by the file', a.result?.ok, a);
        const kept = JSON.parse(readFileSync(config));
        check('the file keeps the list', kept.embedder.baseUrl === baseUrl && kept.embedder.allowedHosts[0] === '0.0.0.0', kept);
        writeFileSync(config, '{}');
        await server.stop();

        server = open();
        a = await server.call('set_config', change);
        const command = a.error?.data?.remedy?.replace('the user can run in a terminal: fumi call', `'${fumi}' call`);
        const out = JSON.parse(execFileSync('/bin/sh', ['-c', command]));
        check('the command of the refusal works', out.effectiveNamespace === 'openai:m:8', out);
        check('and is written down', JSON.parse(readFileSync(config)).embedder.baseUrl === baseUrl, readFileSync(config, 'utf8'));
        a = await server.call('set_config', change);
        check('what stands in the file may be set', a.result?.effectiveNamespace === 'openai:m:8', a);
        a = await server.call('set_config', { embedder: { model: 'n' } });
        check('and the model changed', a.result?.effectiveNamespace === 'openai:n:8', a);
        await server.stop();
        server = open();
        a = await server.call('set_config', { embedder: { model: 'o' } });
        check('also after a restart', a.result?.effectiveNamespace === 'openai:o:8', a);
        a = await server.call('set_config', { embedder: { model: "it's $(me)", baseUrl: `${baseUrl}/y` } });
        execFileSync('/bin/sh', ['-c', a.error.data.remedy.replace('the user can run in a terminal: fumi', `'${fumi}'`)]);
        check('a model is quoted', JSON.parse(readFileSync(config)).embedder.model === "it's $(me)", readFileSync(config, 'utf8'));
        a = await server.call('set_config', { embedder: { baseUrl: `${baseUrl}/x` } });
        check('but no other address there', a.error?.code === -32602, a);
    } catch (e) {
        check('allow', false, String(e.stack));
    } finally {
        server.child.kill();
        child.kill();
        rmSync(join(dir, '..'), { recursive: true, force: true });
    }
}

await wires();
await stdio();
await allow();
finish();
