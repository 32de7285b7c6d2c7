// Writes 600 notes in each format of `fumi import` to the folder many, for the tests that kill an import.
import { mkdirSync, writeFileSync } from 'node:fs';

const N = 600;
const text = (i) => `Note ${i} of many, about subject ${i % 17}.`;
const all = (make) => Array.from({ length: N }, (_, i) => make(i));
const sql = (value) => `'${value.replaceAll("'", "''")}'`;
for (const name of ['rules', 'markdown', 'claude-code', 'codex', 'basic-memory'])
    mkdirSync(`many/${name}`, { recursive: true });
const write = (name, value) => writeFileSync(`many/${name}`, value);

write('server-memory.jsonl', all((i) => JSON.stringify({ type: 'entity', name: `e${i}`, entityType: 't', observations: [text(i)] })).join('\n'));
write('json.json', JSON.stringify(all(text)));
write('mem0.json', JSON.stringify({ results: all((i) => ({ memory: text(i), user_id: 'aiko' })) }));
write('rules/CLAUDE.md', `# Rules\n\n${all((i) => `- ${text(i)}\n`).join('')}`);
write('codex/MEMORY.md', `# Task Group: many\n\nscope: a test\n\n## Reusable knowledge\n\n${all((i) => `- ${text(i)}\n`).join('')}`);
write('basic-memory/Many.md', `---\ntitle: Many\ntype: note\npermalink: many\n---\n\n${all((i) => `- [fact] ${text(i)}\n`).join('')}`);
for (let i = 0; i < N; i++) {
    write(`markdown/${i}.md`, `# Title ${i}\n\n${text(i)}\n`);
    write(`claude-code/m${i}.md`, `---\nname: m${i}\ndescription: about ${i}\ntype: project\n---\n\n${text(i)}\n`);
}
const uuid = (i) => `0f6f3c1e-7f0a-4a52-9a0e-${String(i).padStart(12, '0')}`;
write('embedding-mcp.sql', `CREATE TABLE notes (id TEXT PRIMARY KEY, namespace TEXT, project_id TEXT, group_id TEXT, title TEXT, text TEXT,
    tags TEXT, source TEXT, created_at TEXT, metadata TEXT, embedding BLOB);
BEGIN;
${all((i) => `INSERT INTO notes VALUES ('${uuid(i)}', 'n', 'p', 'global', NULL, ${sql(text(i))}, '[]', NULL, '2025-05-06T07:08:09Z', NULL, NULL);`).join('\n')}
COMMIT;`);
write('memory-service.sql', `CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT, memory_type TEXT,
    metadata TEXT, created_at REAL);
BEGIN;
${all((i) => `INSERT INTO memories VALUES (${i + 1}, 'h${i}', ${sql(text(i))}, 'a,b', 'note', '{}', ${1746515289 + i});`).join('\n')}
COMMIT;`);
write('claude-mem.sql', `CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
    title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, created_at_epoch INTEGER);
BEGIN;
${all((i) => `INSERT INTO observations VALUES (${i + 1}, 's', 'p', NULL, 'discovery', 'T ${i}', NULL, '[]', ${sql(text(i))}, '[]', '[]', '[]', ${1746515289000 + i});`).join('\n')}
COMMIT;`);
