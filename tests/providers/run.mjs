// A provider that works, fails in many ways and works again: no note is lost, other calls go on during
// the failure, and notes stored without a vector are embedded afterwards.
//
//   node tests/providers/run.mjs FUMI FAKE-PROVIDER
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, baseOf, check, control, finish, newDir, startFake, until } from './tools.mjs';

// Temporary failures: no answer, or one that asks to retry later. All other failures are permanent.
const passing = ['429', '500', 'hang', 'reset'];

async function play(provider, mode) {
    const name = `${provider} ${mode}`, dir = newDir();
    const { child, port } = await startFake();
    const server = new Server(dir, {
        FUMI_EMBEDDER_PROVIDER: provider, FUMI_EMBEDDER_MODEL: 'fake', FUMI_EMBEDDER_BASE_URL: baseOf(provider, port),
    });
    const add = (text) => server.call('add_note', { projectId: 'p', groupId: 'g', text });
    const find = (query, more = {}) => server.call('search', { projectId: 'p', query, ...more });
    try {
        let a = await add('the first note is about birds');
        check(`${name}: well at first`, a.result?.id && !a.result.embedding, a);
        await control(port, mode);
        const slow = find('birds');
        const quick = await server.call('get_config');
        check(`${name}: others are served meanwhile`, quick.result, quick);
        await slow;
        a = await add('the second note is about trains');
        check(`${name}: the note is stored`, a.result?.id && !a.result.embedding, a);
        const failing = async () => (await server.call('stats')).result?.embedding.error;
        check(`${name}: the failure is reported`, await until(failing), await server.call('stats'));
        const later = await add('the third note is about ships');
        check(`${name}: and in the answer to the next add`, later.result?.embedding === 'pending' && later.result.warning, later);
        const got = await server.call('get', { id: a.result?.id });
        check(`${name}: and can be read`, got.result?.text === 'the second note is about trains', got);
        const words = await find('trains');
        check(`${name}: found by words`, words.result?.results[0]?.id === a.result?.id &&
            words.result?.meta.warning && words.result.meta.mode === 'words', words);
        const meaning = await find('trains', { mode: 'meaning' });
        check(`${name}: meaning alone is -32004`, meaning.error?.code === -32004 &&
            meaning.error.data?.provider === provider, meaning);
        if (mode !== 'dim') { // another model may have another length
            const change = await server.call('set_config', { embedder: { model: 'other' } });
            const after = await server.call('get_config');
            if (passing.includes(mode))
                check(`${name}: a change of model is stored with a warning`, change.result?.warning &&
                    change.result.effectiveNamespace === `${provider}:other:0` &&
                    after.result?.embedder.model === 'other', [change, after]);
            else
                check(`${name}: a change of model is refused`, change.error?.code === -32004 &&
                    after.result?.embedder.model === 'fake', [change, after]);
        }
        await control(port, 'well');
        check(`${name}: embedded by itself`, await until(async () => {
            await server.call('reembed');
            const s = (await server.call('stats')).result;
            return s?.embedding.pending === 0 && s.embedding.serving === s.namespace;
        }), await server.call('stats'));
        const late = await find('trains', { mode: 'meaning' });
        check(`${name}: found by meaning`, late.result?.results[0]?.id === a.result?.id, late);
        check(`${name}: ends well`, await server.stop() === 0);
    } catch (e) {
        check(name, false, String(e.stack));
    } finally {
        server.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

// One process changes provider and model again and again while another searches: no answer is ever empty, and in the
// end both find by the vectors of the last one.
async function change() {
    const dir = newDir(), config = join(dir, 'config.json');
    const { child, port } = await startFake();
    const embedder = (provider, model) => ({ provider, model, baseUrl: baseOf(provider, port), apiKey: 'any' });
    writeFileSync(config, JSON.stringify({ embedder: embedder('openai', 'm0') }), { mode: 0o600 });
    const one = new Server(dir, {}, ['--config', config]), other = new Server(dir, {}, ['--config', config]);
    const find = (server, mode, topK) => server.call('search', { projectId: 'p', query: 'note number 7 of many', topK, mode });
    let searches = 0, empty = 0, over = false;
    try {
        for (let i = 0; i < 60; i++)
            await one.call('add_note', { projectId: 'p', groupId: 'g', text: `note number ${i} of many` });
        const search = (async () => {
            while (!over) {
                const a = await find(other, 'hybrid', 3);
                searches++;
                if (!a.result?.results.some((r) => r.text === 'note number 7 of many'))
                    empty++ || console.error(JSON.stringify(a));
            }
        })();
        for (let i = 1; i <= 8; i++) {
            const a = await one.call('set_config', { embedder: embedder(i % 2 ? 'ollama' : 'openai', `m${i}`) });
            check(`change ${i}`, a.result?.ok, a);
            await until(async () => (await one.call('stats')).result?.embedding.done > 10);
        }
        const last = (await one.call('stats')).result?.namespace;
        for (const [name, server] of [['one', one], ['other', other]]) {
            check(`change: complete in ${name}`, await until(async () => {
                const e = (await server.call('stats')).result?.embedding;
                return e?.pending === 0 && e.serving === last;
            }), await server.call('stats'));
            const meaning = await find(server, 'meaning', 100); // the fake vectors separate notes only roughly
            check(`change: all are found by the last vectors in ${name}`, meaning.result?.results.length === 60 &&
                meaning.result.meta.mode === 'meaning', meaning);
        }
        over = true;
        await search;
        check(`change: ${empty} of ${searches} searches missed the note`, !empty && searches > 20, [empty, searches]);
        console.log(`${searches} searches during 8 changes of the model, ${empty} without the note`);
    } catch (e) {
        check('change', false, String(e.stack));
    } finally {
        over = true;
        one.child.kill();
        other.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

// One process sets a provider that cannot be reached, and the other process follows; both learn the dimension once the
// provider answers.
async function reach() {
    const dir = newDir(), config = join(dir, 'config.json');
    const { child, port } = await startFake();
    const embedder = (provider, model) => ({ provider, model, baseUrl: baseOf(provider, port), apiKey: 'any' });
    writeFileSync(config, JSON.stringify({ embedder: embedder('openai', 'm0') }), { mode: 0o600 });
    const one = new Server(dir, {}, ['--config', config]), other = new Server(dir, {}, ['--config', config]);
    const both = [['one', one], ['other', other]];
    const name = async (server) => (await server.call('stats')).result?.namespace;
    try {
        await one.call('add_note', { projectId: 'p', groupId: 'g', text: 'the first note is about birds' });
        await control(port, 'reset');
        const set = await one.call('set_config', { embedder: embedder('ollama', 'm1') });
        check('reach: set with a warning', set.result?.warning && set.result.effectiveNamespace === 'ollama:m1:0', set);
        for (const [which, server] of both)
            check(`reach: ${which} knows`, await until(async () => await name(server) === 'ollama:m1:0'), await name(server));
        const pending = await other.call('add_note', { projectId: 'p', groupId: 'g', text: 'the second is about trains' });
        check('reach: pending', pending.result?.embedding === 'pending', pending);
        await control(port, 'well');
        for (const [which, server] of both) {
            check(`reach: complete in ${which}`, await until(async () => {
                const { namespace, embedding: e } = (await server.call('stats')).result;
                return /^ollama:m1:[1-9]/.test(namespace) && e.pending === 0 && e.serving === namespace;
            }), await server.call('stats'));
            const found = await server.call('search', { projectId: 'p', query: 'trains', mode: 'meaning' });
            check(`reach: found by meaning in ${which}`, found.result?.results.length === 2, found);
        }
        for (const [which, server] of both) check(`reach: ${which} ends well`, await server.stop() === 0);
    } catch (e) {
        check('reach', false, String(e.stack));
    } finally {
        one.child.kill();
        other.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

const modes = ['401', '429', '500', 'hang', 'cut-json', 'dim', 'nan', 'large', 'gigabyte', 'endless', 'redirect', 'reset'];
const plays = modes.flatMap((mode) => [['openai', mode], ['ollama', mode]]);
await Promise.all([change(), reach(), ...plays.map(([provider, mode]) => play(provider, mode))]);
finish();
