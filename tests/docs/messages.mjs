// Whether a message that a page quotes is one of the program: in one string of src/, in which each conversion of printf
// is "…".
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const PART = '"(?:[^"\\\\\\n]|\\\\.)*"';
const STRINGS = new RegExp(`${PART}(?:\\s*(?:PRI\\w+\\s*)?${PART})*`, 'g');
const CONVERSION = /%(?!%)[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]/g;

function textOf(literal) {
    const parts = literal.replace(/(?<=")\s*PRI\w+\s*(?=")/g, '').match(new RegExp(PART, 'g'));
    return parts.map((part) => part.slice(1, -1)).join('').replace(/%(?="|$)/g, '…').replace(CONVERSION, '…')
        .replace(/\\n/g, ' ').replace(/\\(.)/g, '$1');
}

export class Messages {
    constructor(root) {
        this.texts = [];
        const src = join(root, 'src');
        for (const directory of readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
            for (const file of readdirSync(join(src, directory.name)).filter((name) => name.endsWith('.c'))) {
                const code = readFileSync(join(src, directory.name, file), 'utf8').replace(/\/\*[^]*?\*\//g, '');
                this.texts.push(...(code.match(STRINGS) ?? []).map(textOf));
            }
        }
    }

    has(message) {
        const parts = message.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
        const pattern = new RegExp(parts.join('.*'));
        return this.texts.some((text) => pattern.test(text));
    }
}
