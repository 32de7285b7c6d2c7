// Tests the documentation: README.md, docs/*.md, CONTRIBUTING.md and SECURITY.md.
//
//   node tests/docs/run.mjs FUMI [PAGE...]
//
// - Links lead to a file, and to a heading in it.
// - Commands in blocks and spans of code exist, with their flags: those of fumi, targets of make, scripts.
// - Blocks of sh in README.md and docs/*.md are run, those of a page one after the other in one shell, unless their
//   first line is a comment that begins with "needs" and says what a test cannot have: "# needs root". A command that
//   fails ends the test of its page, and so does an error of JSON-RPC. A line that ends in & starts a server, which runs
//   until the end of its block; the next line waits until it listens.
// - Blocks of console have commands after "$ " and their output, in which "…" stands for any text, and in a line of its
//   own for any lines.
// - Messages in the first column of docs/troubleshooting.md are in src/. docs/terminal.md names every command.
// - Blocks of json are valid JSON. Commands are in blocks of sh or console, not in those without a language, except in
//   docs/embedding.md, which tests/guide runs.
//
// HOME is a temporary directory; ~/app, a repository, is the working directory. 8765 is replaced by a free port.
import { spawn, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { Checker, words } from './commands.mjs';
import { parse } from './markdown.mjs';
import { Messages } from './messages.mjs';
import { freePort } from './port.mjs';

const fumi = resolve(process.argv[2]);
const root = resolve(dirname(new URL(import.meta.url).pathname), '../..');
const only = process.argv.slice(3);
const NOT_RUN = /^# needs \S/;
const PATIENCE = 240000; // milliseconds for all commands of a page
let passed = 0, failed = 0;

function check(where, fault) {
    if (!fault) {
        passed++;
        return;
    }
    failed++;
    console.error(`${where}: ${fault}`);
}

const home = mkdtempSync(join(tmpdir(), 'fumi-docs-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
for (const name of Object.keys(process.env)) {
    if (/^(FUMI_(?!MODEL$)|XDG_|GIT_|OPENAI_|OLLAMA_|LISTEN_|CLAUDE_|CODEX_|GEMINI_)/.test(name))
        delete process.env[name];
}
process.env.HOME = home;

const pages = new Map();
for (const file of ['README.md', 'CONTRIBUTING.md', 'SECURITY.md',
    ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)])
    pages.set(file, parse(readFileSync(join(root, file), 'utf8')));

function checkLinks(file, page) {
    for (const { line, target } of page.links) {
        if (/^[a-z]+:/.test(target))
            continue;
        const [path, anchor] = target.split('#');
        const to = path ? relative(root, join(root, dirname(file), path)) : file;
        let fault = existsSync(join(root, to)) ? null : `no file ${to}`;
        if (!fault && anchor && pages.has(to) && !pages.get(to).anchors.has(anchor))
            fault = `${to} has no heading #${anchor}`;
        check(`${file}:${line}`, fault);
    }
}

const commandsOf = ({ language, text }) => {
    if (language === 'sh')
        return text;
    if (language === 'console')
        return [...text.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command]) => command).join('\n');
    if (language === 'ini')
        return [...text.matchAll(/^ExecStart=(.*)$/gm)].map(([, command]) => command).join('\n');
    return '';
};

function checkCommands(file, page, checker) {
    for (const block of page.blocks) {
        const where = `${file}:${block.line}`;
        for (const command of words(commandsOf(block)))
            check(where, checker.fault(command));
        if (block.open)
            check(where, 'the block does not end');
        if (!block.language && file !== 'docs/embedding.md' && /^(\$ |fumi |make )/m.test(block.text))
            check(where, 'commands belong in a block of sh or console');
        if (block.language === 'json')
            check(where, faultOfJson(block.text));
    }
    for (const { line, text } of page.spans) {
        if (/^(fumi|make) [a-z]/.test(text))
            words(text).forEach((command) => check(`${file}:${line}`, checker.fault(command)));
    }
}

function faultOfJson(text) {
    try {
        return JSON.parse(text) === undefined;
    } catch (e) {
        return e.message;
    }
}

function checkMessages(file, page) {
    const messages = new Messages(root);
    const quoted = page.spans.filter(({ cell }) => cell === 1);
    check(file, quoted.length ? null : 'there are no messages');
    for (const { line, text } of quoted)
        check(`${file}:${line}`, messages.has(text) ? null : `no such message in src/: ${text}`);
}

// The tour names every command.
function checkTour(file, page, checker) {
    const text = [...page.blocks, ...page.spans].map((part) => part.text).join('\n');
    for (const name of checker.commands)
        check(file, new RegExp(`\\bfumi ${name}\\b`).test(text) ? null : `fumi ${name} is missing`);
}

// The home of a user with a note, and what the pages mention: a repository with rules for agents, and
// the memories of other programs.
function prepare() {
    const app = join(home, 'app');
    rmSync(home, { recursive: true, force: true });
    mkdirSync(join(app, 'build'), { recursive: true });
    mkdirSync(join(home, 'bin'));
    symlinkSync(fumi, join(home, 'bin/fumi'));
    symlinkSync(dirname(fumi), join(app, 'build/bin'));
    const fixtures = join(root, 'tests/fixtures/import');
    cpSync(join(fixtures, 'markdown'), join(home, 'vault'), { recursive: true });
    cpSync(join(fixtures, 'basic-memory'), join(home, 'basic-memory'), { recursive: true });
    cpSync(join(fixtures, 'claude-code'), join(home, '.claude/projects/-home-ann-app/memory'), { recursive: true });
    cpSync(join(fixtures, 'codex'), join(home, '.codex/memories'), { recursive: true });
    for (const [name, path] of [['claude-mem', '.claude-mem/claude-mem.db'],
        ['memory-service', '.local/share/mcp-memory/sqlite_vec.db'],
        ['embedding-mcp', '.local-mcp-memory/data/memory.db']]) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        execFileSync('sqlite3', [join(home, path), `.read ${join(fixtures, 'sqlite', name)}.sql`]);
    }
    cpSync(join(fixtures, 'rules/CLAUDE.md'), join(app, 'CLAUDE.md'));
    cpSync(join(fixtures, 'rules/CLAUDE.md'), join(app, 'AGENTS.md'));
    cpSync(join(fixtures, 'server-memory/memory.jsonl'), join(app, 'memory.jsonl'));
    cpSync(join(fixtures, 'mem0/memories.json'), join(app, 'memories.json'));
    execFileSync('git', ['init', '-q', app]);
    execFileSync('git', ['-C', app, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '-q',
        '--allow-empty', '-m', 'Ask for the password again after an hour']);
    execFileSync(fumi, ['add', '-p', 'page', 'Texts of the page are in src/page.']);
    return app;
}

const PREAMBLE = `set -e -o pipefail
end() {
    jobs -p | xargs -r kill
    wait
}
trap end EXIT
listening() {
    for i in $(seq 600); do
        curl -s -o /dev/null "http://127.0.0.1:$DOCS_PORT/" && break
        kill -0 $! 2>/dev/null || break
        sleep 0.05 # until the server has started
    done
    kill -0 $!
}
`;

const waiting = (text) => text.replace(/^(.*[^&])&$/gm, '$1& listening');

// The page as a script. Before each block of sh, and each command of console, a line with \x1e and its line is printed.
function scriptOf(blocks) {
    let script = PREAMBLE;
    for (const { language, line, text } of blocks) {
        if (language === 'sh') {
            script += `printf '\\n\\036%s\\n' ${line}\nset -e\n${waiting(text)}end\n`;
            continue;
        }
        let at = line;
        for (const part of text.split(/^(?=\$ )/m)) {
            const command = part.match(/^\$ ((?:.*\\\n)*.*)\n/)?.[1];
            if (command)
                script += `printf '\\n\\036%s\\n' ${at}\nset +e\n${waiting(command)}\n`;
            at += part.split('\n').length - 1;
        }
    }
    return script + "printf '\\n\\036end\\n'\n";
}

// runPage: { status, outputs: Map of line to output }
function runPage(script, port, cwd) {
    return new Promise((done) => {
        const child = spawn('bash', ['-c', script.replaceAll('8765', String(port))], {
            cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
            env: { ...process.env, PATH: `${join(home, 'bin')}:${process.env.PATH}`, DOCS_PORT: String(port),
                FUMI_HTTP_LISTEN: `tcp:127.0.0.1:${port}`, DISPLAY: '' },
        });
        let text = '';
        const timer = setTimeout(() => {
            text += '\n(time is up)';
            process.kill(-child.pid, 'SIGKILL');
        }, PATIENCE);
        child.stdout.on('data', (bytes) => text += bytes);
        child.stderr.on('data', (bytes) => text += bytes);
        child.on('close', (status) => {
            clearTimeout(timer);
            const outputs = new Map(text.split('\n\x1e').slice(1).map((part) => {
                const [, line, output] = part.match(/^(.*)\n([^]*)$/);
                return [line, output.replaceAll(String(port), '8765')];
            }));
            done({ status, outputs });
        });
    });
}

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*');

// Whether the output is that of the block.
function matches(expected, output) {
    const lines = expected.trimEnd().split('\n').map((line) => line === '…' ? '(?:.*\n)*?' : literal(line) + '\n');
    return new RegExp(`^${lines.join('')}$`).test(output.trimEnd() + '\n');
}

function checkConsole(file, block, outputs) {
    let at = block.line;
    for (const part of block.text.split(/^(?=\$ )/m)) {
        const expected = part.replace(/^\$ (?:.*\\\n)*.*\n/, '');
        const output = outputs.get(String(at));
        if (output !== undefined)
            check(`${file}:${at}`, matches(expected, output) ? null : `the output is not as described:\n${output}`);
        at += part.split('\n').length - 1;
    }
}

const faultOfRun = (output) =>
    output === undefined ? 'the block was not run' : output.match(/"error":\{.*/)?.[0];

async function run(file, page) {
    const blocks = page.blocks.filter(({ language, text }) => /^(sh|console)$/.test(language) && !NOT_RUN.test(text));
    if (!blocks.length)
        return;
    const { status, outputs } = await runPage(scriptOf(blocks), await freePort(), prepare());
    if (!outputs.has('end')) {
        const [line, output] = [...outputs].at(-1) ?? ['?', ''];
        check(`${file}:${line}`, `the block fails, status ${status}:\n${output}`);
    }
    for (const block of blocks) {
        if (block.language === 'console')
            checkConsole(file, block, outputs);
        else
            check(`${file}:${block.line}`, faultOfRun(outputs.get(String(block.line))));
    }
}

const checker = new Checker(root, fumi);
for (const [file, page] of pages) {
    if (only.length && !only.includes(file))
        continue;
    checkLinks(file, page);
    checkCommands(file, page, checker);
    if (file === 'docs/troubleshooting.md')
        checkMessages(file, page);
    if (file === 'docs/terminal.md')
        checkTour(file, page, checker);
    if (!/^(CONTRIBUTING|SECURITY)\.md$/.test(file))
        await run(file, page);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
