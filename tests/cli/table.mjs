// The cases of tests/cli/table: for each command normal, odd and wrong arguments, the exit status, and for wrong ones what
// the error says about the remedy. A command that prints results also runs with --json. The order matters: a case finds
// what the cases before it stored.
export function cases(ids, repository) {
    const [note, link, wide, port] = ids;
    const short = note.slice(0, 8);
    const nowhere = `${repository}/nowhere.db`;
    const list = [];
    const add = (kind) => (line, more = {}) => {
        const args = Array.isArray(line) ? line : line.split(" ");
        list.push({ kind, args, name: `${kind} fumi ${args.join(" ")}`, status: 0, ...more });
    };
    const normal = add("normal"), odd = add("odd");
    const wrong = (line, status, says) => add("wrong")(line, { status, says });
    // The same with --json.
    const both = (line, more = {}) => {
        const args = Array.isArray(line) ? line : line.split(" ");
        normal(args, more);
        normal([...args, "--json"], { ...more, says: undefined });
    };
    const help = /run 'fumi help [a-z]+' for usage/;

    both("import notes.jsonl");
    both("search tokens");
    odd("search when do tokens expire", { terminal: /\x1b\[1mtokens\x1b\[0m \x1b\[1mexpire/, pipe: /  \d{4}-\d\d-\d\d \d\d:\d\d  / });
    both("search --explain tokens login");
    odd("search -k 1 -- --top-k");
    odd("search -p ./sub/../ 設定");
    wrong("search", 2, help);
    wrong("search --mode magic x", 2, /hybrid, meaning, words/);
    wrong("search --tpo-k 3 x", 2, /did you mean --top-k\?/);

    both("list");
    odd("list -g feature-1", { terminal: /(just now|\d+ minutes? ago)/, pipe: /^    tags: rule, important$/m });
    both("list -n 2", { says: /--cursor / });
    odd("list -g none", { says: /No notes/ });
    wrong("list --limit many", 2, /limit must be/i);
    wrong("list word", 2, help);

    both(`get ${short}`);
    odd(`get ${wide}`);
    odd(`get ${link.slice(0, 12)} --format json`, { data: true });
    wrong("get", 2, /id is required/);
    wrong("get 0000000000", 3, /not found/i);

    both(["add", "A note of the table, number one"]);
    both(["add", "-g", "odd-group", "A note of the table, number two"]);
    odd(["add", "-t", "", "--tags", ",, ,", "---dashes"], { status: 2, says: /unknown flag/ });
    odd(["add", "--", "--dashes in the table"]);
    wrong(["add", ""], 2, /text/);
    wrong(["add", "-g", "two words", "x"], 2, /groupId/);

    both(["update", short, "Access tokens expire after two hours."]);
    both(`update ${port.slice(0, 9)} --title Ports --tags a,b --expires-at 2999-01-01T00:00:00Z`, { says: /to undo this, run fumi undo/ });
    odd(["update", short, "--title", "", "--expires-at", "", "--metadata", "null"]);
    wrong("update", 2, /id is required/);
    wrong(`update ${short}`, 2, /nothing to change: give a new text/);
    wrong(`update ${short} --metadata [1]`, 2, /--metadata must be an object/);
    wrong(`update ${short} --expires-at soon`, 2, /use one such as 2026-01-31T09:30:00Z/);
    wrong("update ffffffff x", 3, /not found/i);

    both("groups");
    both(["groups", "add", "table", "A group of the table", "--description", "What it is for, ".repeat(9)], { status: [0, 4] });
    both(["groups", "update", "table", "-t", "Another title"]);
    both("groups get table", { says: /Another title/ });
    both("groups delete table", { status: [0, 3] });
    odd("groups -p elsewhere", { says: /No groups/ });
    wrong("groups frob", 2, /list, get, add, update or delete/);
    wrong("groups add only-a-key", 2, /give: groups add KEY TITLE/);
    wrong("groups update feature-1", 2, /give --title or --description/);
    wrong("groups delete odd-group", 3, /fumi groups add/);

    both(["globals", "set", "global.table", '{"a":[1,2]}']);
    both("globals");
    both("globals get global.table", { says: /^\{"a":\[1,2\]\}\r?$/m });
    both("globals delete global.table", { status: [0, 3] });
    odd("globals list global.project", { says: /conventions/ });
    odd(["globals", "set", "global.text", "no JSON at all"]);
    odd("globals list none", { says: /No globals/ });
    wrong("globals get global.none", 3, /fumi globals lists them/);
    wrong("globals set key 1", 2, /must start with 'global.'/);
    wrong("globals set global.x", 2, /give: globals set KEY VALUE/);

    both("config");
    both("config get safety.secrets", { says: /^mask\r?$/m });
    both("config set history.days 30");
    both("config get history.days", { says: /^30\r?$/m });
    odd("config set http.origins https://a.example,https://b.example");
    both("config unset history.days");
    wrong("config frob", 2, /list, get, set or unset/);
    wrong("config get safety.secret", 3, /did you mean safety.secrets/);
    wrong("config set safety.secrets hide", 2, /^error: safety.secrets must be one of mask, refuse, allow/m);
    wrong("config set history.days", 2, /give: config set KEY VALUE/);

    both("watch", { status: 130, interrupt: true, lines: true });
    odd("watch --help");
    wrong("watch everything", 2, help);

    both("stats");
    odd("stats --help");
    wrong("stats all", 2, help);

    // What only reads creates no database where a flag names one.
    for (const line of ["list", "search x", "get 12345678", "history", "undo 1", "forget 12345678", "review", "stats", "groups", "globals", "projects", "delete 12345678",
        "update 12345678 x", "export", "backup copy.db", "call memory.stats", "test --file questions.jsonl"])
        wrong(`${line} --db ${nowhere}`, 3, /there is no database at [^]*check --data-dir and --db/);

    normal("history");
    both("history -n 3");
    both(`history ${short}`);
    odd("history --since 2999-01-01T00:00:00Z", { says: /No changes/ });
    wrong("history ffffffff-0000-4000-8000-000000000000", 3, /No change of this id/);

    both("undo --since 2999-01-01T00:00:00Z");
    odd("undo --since 2000-01-01T00:00:00Z --dry-run");
    wrong("undo", 2, /exactly one of change, session and since/);
    wrong("undo 999999", 3, /no change 999999/);

    both("forget --unused-since 2001-01-01T00:00:00Z --dry-run");
    both("forget --unused-since 2001-01-01T00:00:00Z");
    odd("forget --unused-since 2999-01-01T00:00:00Z --dry-run");
    wrong("forget", 2, /ids or --unused-since is required/);

    both("review");
    odd("review -p elsewhere");
    wrong("review --limit no", 2, /limit/);
    wrong("review accept", 2, /review accept ID/);
    wrong("review reject nothing", 3, /not found/i);

    both("projects");
    odd("projects list");
    wrong("projects frob", 2, /list, rename, merge or delete/);
    wrong("projects rename one", 2, /projects rename NAME NEW/);

    both("call memory.stats", { data: true });
    odd("call memory.list_recent --limit 1 --compact", { data: true });
    odd("call memory.update --help", { says: /expiresAt TIME/ });
    odd("call rpc.discover --help", { says: /no params/ });
    wrong("call memory.serch", 3, /did you mean memory.search\?/);
    wrong("call", 2, /a method is required/);

    both("export", { data: true, lines: true });
    odd("export --format markdown", { data: true });
    wrong("export --json --format markdown", 2, /give one of them/);
    wrong("export -g x", 2, /--group needs --project/);

    odd("import --dry-run notes.jsonl");
    wrong("import nowhere.jsonl", 1, /nowhere.jsonl/);

    both("mirror -p . mirrored");
    odd("mirror --dry-run mirrored");
    wrong("mirror", 2, /the folder is required/);
    wrong("mirror --delete mirrored", 2, /--delete requires --take/);

    odd("test -h");
    normal(["test", "add", "--file", "questions.jsonl", "when do tokens expire?", note]);
    both("test --file questions.jsonl");
    wrong("test --file none.jsonl", 3, /fumi test add/);

    both("doctor --secrets");
    both("doctor");
    odd("doctor --help");
    wrong(`doctor --db ${nowhere}`, 1, /check --data-dir and --db/);

    normal("help");
    odd("help --help");
    wrong("help nonsense", 2, /run 'fumi help' for a list/);

    both("version");
    both("version --build", { says: /sqlite +3/ });
    odd("version --help");
    wrong("version word", 2, help);

    normal("completion bash", { data: true });
    odd("completion --help");
    wrong("completion csh", 2, /bash, zsh or fish/);

    normal("hook session-start", { data: true });
    odd("hook --help");
    wrong("hook session-middle", 2, /session-start/);

    both("setup");
    odd("setup codex --dry-run");
    wrong("setup codex --json", 2, /--json is for the list/);
    wrong("setup codx", 2, /did you mean codex\?/);

    both("model", { status: [0, 5] });
    odd("model --help");
    wrong("model uninstall", 2, /fumi model install/);

    both("reembed", { status: [0, 5] });
    odd("reembed --help");
    wrong("reembed all", 2, help);

    both(`backup ${repository}/copy.db`, { status: [0, 4] });
    odd("backup --help");
    wrong("backup", 2, /name of the backup file is required/);

    normal("serve --help");
    odd("serve -h");
    wrong("serve --transport tcp", 2, /must be stdio or http/);

    normal("open --help");
    odd("open -h");
    wrong("open somewhere", 2, help);

    both("delete " + port, { status: [0, 3] });
    odd("delete --help");
    wrong("delete", 2, /id is required/);
    return list;
}
