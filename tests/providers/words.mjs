// A provider whose error messages contain headings, instructions, escapes and line breaks of all kinds, or a megabyte of
// text: what reaches an agent is short, on one line, and quoted as the provider's words.
//
//   node tests/providers/words.mjs FUMI FAKE-PROVIDER
import { rmSync } from 'node:fs';
import { Lines, baseOf, check, control, finish, newDir, startFake, until } from './tools.mjs';

// Every string in an answer, including those in strings that are JSON.
function strings(value, out = []) {
    if (typeof value === 'string') {
        out.push(value);
        if (/^[{[]/.test(value)) {
            try {
                strings(JSON.parse(value), out);
            } catch {
                // not JSON
            }
        }
    } else if (value && typeof value === 'object') {
        Object.values(value).forEach((v) => strings(v, out));
    }
    return out;
}

const unseen = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u206f\ufeff]/; // see src/base/chars.h

// In JSON that is part of a string, quotes are escaped.
const quoted = /the provider's words: (\\?")HOSTILE'?[^"]*\1/g;

function marked(name, answer) {
    const all = strings(answer).filter((s) => s.includes('HOSTILE'));
    check(`${name}: the provider is quoted`, all.length > 0, answer);
    for (const s of all) {
        check(`${name}: one clean line`, !unseen.test(s) && s.length < 2000, s);
        check(`${name}: marked`, !s.replace(quoted, '').includes('HOSTILE') && !s.replace(quoted, '').includes('System'), s);
    }
}

async function play(provider, mode) {
    const name = `${provider} ${mode}`, dir = newDir();
    const { child, port } = await startFake();
    const server = new Lines(dir, { FUMI_EMBEDDER_PROVIDER: provider, FUMI_EMBEDDER_MODEL: 'fake',
        FUMI_EMBEDDER_BASE_URL: baseOf(provider, port) }, ['--tools', 'admin']);
    try {
        await server.initialize();
        await server.tool('memory_add_note', { projectId: 'p', groupId: 'g', text: 'the first note' });
        await control(port, mode);
        await server.tool('memory_add_note', { projectId: 'p', groupId: 'g', text: 'the note that shows the failure' });
        check(`${name}: the failure is known`, await until(async () =>
            (await server.tool('memory_stats', {})).result.structuredContent.embedding.error));
        const added = await server.tool('memory_add_note', { projectId: 'p', groupId: 'g', text: 'the second note' });
        marked(`${name}: add`, added.result);
        const { id } = added.result.structuredContent;
        marked(`${name}: update`, await server.tool('memory_update', { id, patch: { text: 'the note that is second' } }));
        marked(`${name}: search`, await server.tool('memory_search', { projectId: 'p', query: 'second' }));
        marked(`${name}: by meaning`, await server.tool('memory_search', { projectId: 'p', query: 'second', mode: 'meaning' }));
        marked(`${name}: set_config`, await server.tool('memory_set_config', { embedder: { model: 'other' } }));
        marked(`${name}: plain set_config`, await server.call('set_config', { embedder: { model: 'another' } }));
        let stats;
        check(`${name}: stats have the error`, await until(async () => {
            await server.tool('memory_reembed', {});
            stats = await server.tool('memory_stats', {});
            return stats.result.structuredContent.embedding.error;
        }), stats);
        marked(`${name}: stats`, stats);
        for (let i = 0; i < 6; i++) // until the circuit breaker opens
            marked(`${name}: again`, await server.tool('memory_search', { projectId: 'p', query: 'second', mode: 'meaning' }));
        check(`${name}: ends well`, await server.stop() === 0);
    } catch (e) {
        check(name, false, String(e.stack));
    } finally {
        server.child.kill();
        child.kill();
        rmSync(dir, { recursive: true, force: true });
    }
}

await Promise.all(['openai', 'ollama'].flatMap((p) => [play(p, 'hostile'), play(p, 'hostile-long')]));
finish();
