// A provider whose first answer has vectors of an unsupported length: the note is stored and stays pending, the answer is
// not stored, and every command still starts. The same holds for a configuration file in which an earlier version saved
// such a dimension.
//
//   node tests/providers/misfits.mjs FUMI FAKE-PROVIDER
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, baseOf, check, control, finish, newDir, run as runAny, startFake, until } from './tools.mjs';

const run = (dir, args, env) => runAny([...args, '--data-dir', dir], env);

const commands = (dir, id, text) => [
    ['search', ['-p', 'p', 'trains'], text], ['get', [id], text], ['list', ['-p', 'p'], text], ['doctor', [], ''],
    ['export', [], text], ['backup', [join(dir, 'copy.db')], ''],
];

async function everyCommand(name, dir, env, id, text) {
    for (const [command, args, shows] of commands(dir, id, text)) {
        const got = await run(dir, [command, ...args], env);
        check(`${name}: ${command}`, got.status === 0 && (got.out + got.err).includes(shows), got);
    }
    const server = new Server(dir, env);
    const found = await server.call('search', { projectId: 'p', query: 'trains' });
    check(`${name}: serve`, found.result?.results.some((r) => r.id === id), found);
    return server;
}

async function misfit(provider, mode, dim) {
    const name = `${provider} ${mode} ${dim}`, dir = newDir(), text = 'the first note is about trains';
    const { child, port } = await startFake();
    const env = { FUMI_EMBEDDER_PROVIDER: provider, FUMI_EMBEDDER_MODEL: 'fake', FUMI_EMBEDDER_BASE_URL: baseOf(provider, port) };
    let server;
    try {
        await control(port, `dim/${dim}`);
        await control(port, mode);
        const added = await run(dir, ['add', '-p', 'p', '-f', 'json', text], env);
        const note = JSON.parse(added.out || '{}');
        check(`${name}: added`, added.status === 0 && note.embedding === 'pending' && note.warning &&
            note.namespace === `${provider}:fake:0`, added);
        server = await everyCommand(name, dir, env, note.id, text);
        const more = await server.call('add_note', { projectId: 'p', groupId: 'g', text: 'the second is about birds' });
        check(`${name}: added by the server`, more.result?.embedding === 'pending' && more.result.warning, more);
        const change = await server.call('set_config', { embedder: { model: 'other' } });
        check(`${name}: a model that does not fit is not set`, change.error, change);
        await control(port, 'dim/16');
        await control(port, 'well');
        check(`${name}: embedded once it fits`, await until(async () => {
            await server.call('reembed');
            const s = (await server.call('stats')).result;
            return s?.embedding.pending === 0 && s.namespace === `${provider}:fake:16` && s.embedding.serving === s.namespace;
        }), await server.call('stats'));
        check(`${name}: ends well`, await server.stop() === 0);
    } catch (e) {
        check(name, false, String(e.stack));
    } finally {
        server?.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

// The length of vectors changes after it was learned.
async function changing(provider) {
    const name = `${provider} changing`, dir = newDir(), text = 'the first note is about trains';
    const { child, port } = await startFake();
    const env = { FUMI_EMBEDDER_PROVIDER: provider, FUMI_EMBEDDER_MODEL: 'fake', FUMI_EMBEDDER_BASE_URL: baseOf(provider, port) };
    let server;
    try {
        await run(dir, ['add', '-p', 'p', 'well'], env);
        await control(port, 'no-dimensions');
        for (const dim of [9, 1, 9000, 70000]) {
            await control(port, `dim/${dim}`);
            const added = await run(dir, ['add', '-p', 'p', '-f', 'json', '--allow-duplicate', text], env), note = JSON.parse(added.out || '{}');
            check(`${name} ${dim}: added`, added.status === 0 && note.embedding === 'pending' && note.warning, added);
            server = await everyCommand(`${name} ${dim}`, dir, env, note.id, text);
            check(`${name} ${dim}: ends well`, await server.stop() === 0);
            rmSync(join(dir, 'copy.db'), { force: true });
        }
    } catch (e) {
        check(name, false, String(e.stack));
    } finally {
        server?.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

async function oldFile(dim) {
    const name = `a file with dim ${dim}`, dir = newDir(), text = 'the first note is about trains';
    const { child, port } = await startFake();
    let server;
    try {
        const embedder = { provider: 'openai', model: 'fake', baseUrl: baseOf('openai', port), dim };
        writeFileSync(join(dir, 'config.json'), JSON.stringify({ embedder }), { mode: 0o600 });
        const added = await run(dir, ['add', '-p', 'p', '-f', 'json', text], {}), note = JSON.parse(added.out || '{}');
        check(`${name}: added with a warning`, added.status === 0 && !note.embedding &&
            /config\.json: embedder\.dim \d+ is ignored: a vector has 2 to 8192 numbers; remove it/.test(added.err), added);
        server = await everyCommand(name, dir, {}, note.id, text);
        check(`${name}: ends well`, await server.stop() === 0);
    } catch (e) {
        check(name, false, String(e.stack));
    } finally {
        server?.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

const bad = [['well', 1], ['well', 9000], ['well', 70000], ['nan', 8], ['nan-text', 8], ['large', 8], ['null', 8],
    ['nested', 8], ['empty', 8], ['zeros', 8]];
for (const [mode, dim] of bad)
    await Promise.all([misfit('openai', mode, dim), misfit('ollama', mode, dim)]);
await Promise.all([changing('openai'), changing('ollama')]);
await Promise.all([1, 9000, 70000].map(oldFile));
finish();
