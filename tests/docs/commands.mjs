// Finds the commands in shell text, and checks those that the repository defines: fumi with its commands, flags and
// methods, the targets of make, and scripts.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// words TEXT: the commands, each as a list of words. Quotes group, and what they contain is not searched for commands.
export function words(text) {
    const commands = [[]];
    let word = null, quote = '';
    const flush = () => {
        if (word !== null)
            commands.at(-1).push(word);
        word = null;
    };
    const next = () => {
        flush();
        commands.push([]);
    };
    for (let i = 0; i < text.length; i++) {
        const c = text[i];
        if (quote) {
            quote = c === quote ? '' : quote;
            word += c;
        } else if (c === "'" || c === '"') {
            quote = c;
            word = (word ?? '') + c;
        } else if (c === '#' && word === null) {
            while (i + 1 < text.length && text[i + 1] !== '\n')
                i++;
        } else if (c === '\\' && text[i + 1] === '\n') {
            flush();
            i++;
        } else if ('|&;()\n'.includes(c)) {
            next();
        } else if (c === '>' || c === '<') {
            flush();
        } else if (c === ' ' || c === '\t') {
            flush();
        } else {
            word = (word ?? '') + c;
        }
    }
    next();
    return commands.filter((command) => command.length);
}

const bare = (word) => word.replace(/^["']|["']$/g, '');
const isFumi = (word) => /^(.*\/)?fumi$/.test(word);

export class Checker {
    constructor(root, fumi) {
        this.root = root;
        this.fumi = fumi;
        this.known = new Map();
        this.commands = new Set(this.#output('help').match(/^ {2}[a-z-]+(?= {2})/gm).map((name) => name.trim()));
        const discovered = JSON.parse(this.#output('call', 'rpc.discover'));
        this.methods = new Map(discovered.methods.map((method) => [method.name, method]));
        this.targets = new Set(readFileSync(join(root, 'Makefile'), 'utf8').match(/^[a-z-]+(?=:)/gm));
    }

    #output(...args) {
        return execFileSync(this.fumi, args, { encoding: 'utf8', timeout: 60000 });
    }

    #flags(command) {
        if (!this.known.has(command))
            this.known.set(command, new Set(this.#output('help', command).match(/(?<=^ {2}|, )--?[a-z-]+/gm)));
        return this.known.get(command);
    }

    // fault COMMAND: what is wrong with the list of words, or null.
    fault(command) {
        let i = 0;
        while (/^(\w+=.*|sudo|exec|do|then|else|nohup|if|while|until|!|\$)$/.test(command[i]))
            i++;
        if (command.includes('--')) // as in: claude mcp add fumi -- fumi serve
            i = isFumi(command[command.indexOf('--') + 1] ?? '') ? command.indexOf('--') + 1 : i;
        const [program, ...rest] = command.slice(i);
        if (!program)
            return null;
        if (isFumi(program))
            return this.#faultOfFumi(rest.map(bare));
        if (program === 'make')
            return this.#faultOfMake(rest);
        const script = program.replace(/^\.\//, '');
        if (/^(try|(tools|tests|bench|man|docs)\/[a-z_-]+)$/.test(script) && !existsSync(join(this.root, script)))
            return `there is no ${script}`;
        return null;
    }

    #faultOfMake(rest) {
        const wrong = rest.find((word) => /^[a-z]/.test(word) && !this.targets.has(word));
        return wrong ? `make has no target ${wrong}` : null;
    }

    #faultOfFumi([command, ...rest]) {
        if (!command || command.startsWith('-') || !/^[a-z]/.test(command))
            return null;
        if (!this.commands.has(command))
            return `fumi has no command ${command}`;
        const flags = new Set(this.#flags(command));
        if (command === 'call' && /^[a-z]/.test(rest[0] ?? '')) {
            const method = this.methods.get(rest[0]);
            if (!method)
                return `there is no method ${rest[0]}`;
            for (const { name } of method.params)
                flags.add('--' + name.replace(/[A-Z]/g, (c) => '-' + c.toLowerCase()));
        }
        for (const word of rest) {
            if (word === '--' || word === '-')
                break;
            const flag = word.match(/^--?[a-z][a-z-]*/)?.[0];
            if (flag && !flags.has(flag))
                return `fumi ${command} has no flag ${flag}`;
        }
        return null;
    }
}
