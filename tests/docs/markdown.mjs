// Reads the parts of a Markdown page that can be tested: blocks of code, spans of code, links and anchors.

const SPAN = /(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g;
const LINK = /\]\(([^()\s]+)\)/g;

// GitHub's name for the anchor of a heading.
const anchorOf = (heading) => heading.replace(LINK, ']').replace(/[`*[\]]/g, '').trim().toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');

// cell is the number of the column in a table.
// parse TEXT: { blocks: [{ line, language, text }], spans: [{ line, text, cell }], links: [{ line, target }], anchors }
export function parse(text) {
    const page = { blocks: [], spans: [], links: [], anchors: new Set() };
    let block = null, paragraph = null;
    const end = () => {
        if (paragraph) {
            for (const [, , span] of paragraph.text.matchAll(SPAN))
                page.spans.push({ line: paragraph.line, text: span, cell: paragraph.cell });
        }
        paragraph = null;
    };
    text.split('\n').forEach((line, i) => {
        const fence = line.match(/^( *)```(\w*)$/);
        if (fence) {
            end();
            if (block)
                page.blocks.push(block);
            block = block ? null : { line: i + 2, language: fence[2], indent: fence[1].length, text: '' };
        } else if (block) {
            block.text += line.slice(block.indent) + '\n';
        } else if (!line.trim() || line.startsWith('|')) {
            end();
        }
        if (fence || block)
            return;
        if (line.startsWith('#'))
            page.anchors.add(anchorOf(line.replace(/^#+/, '')));
        for (const [, target] of line.replace(SPAN, '').matchAll(LINK))
            page.links.push({ line: i + 1, target });
        if (line.startsWith('|')) {
            line.split(/(?<!\\)\|/).forEach((text, cell) => {
                paragraph = { line: i + 1, text, cell };
                end();
            });
            return;
        }
        paragraph ??= { line: i + 1, text: '' };
        paragraph.text += ' ' + line.trim(); // a span may continue in the next line
    });
    end();
    if (block)
        page.blocks.push({ ...block, open: true });
    return page;
}
