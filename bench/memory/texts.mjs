// Generated notes of 50 words and queries, the same in every run. The frequency of a word is inversely proportional to its
// rank, as in natural language; rare words are compounds of two of the others.
//
//   node texts.mjs FIRST COUNT      prints notes, one per line

const common = `the of and to a in is that for it with as on be at by this from or an are was not but have has we when if
which all can will its after so than then only one no into more other may must do each before use they there over same first`;
const plain = `server client test build file note branch commit error cache index query table column thread lock timer queue
message answer request socket port token key user group project path line word score model vector memory disk page block
release version change patch review issue report figure limit size count rate time date hour week month budget plan draft
meeting customer order invoice contract price market team office manager letter phone address city street bridge river mill
garden harbour station train ship road winter summer morning evening weather rain wind stone water light window door wall
kitchen table bread coffee sugar apple butter recipe doctor patient nurse blood heart sleep book author chapter reader
paper pencil colour music song singer film camera picture museum ticket journey hotel island forest mountain valley bird
horse field farmer wheat engine wheel driver signal switch cable battery screen button menu option default setting parser
schema record backup restore migration deploy rollback monitor alarm metric log trace sample filter sorter merge split
compiler linker header macro pointer buffer string number array object method function module package library driver kernel
reads writes opens closes starts stops fails passes returns waits sends receives stores finds keeps drops moves copies joins
checks builds breaks mends shows hides needs wants prefers decides agrees refuses explains measures counts doubles halves
slow fast small large early late open closed empty full old new broken safe wrong right local remote public private common
rare simple strict quiet loud warm cold bright dark heavy narrow second third last next every another never always often
again today yesterday tomorrow because although while until without between behind under above against during through`;

const words = [...new Set(`${common} ${plain}`.split(/\s+/))];
const nouns = plain.split(/\s+/).slice(0, 150);
for (const a of nouns) for (const b of nouns) words.push(a + b);

// Where the sums of 1/rank reach each of 65,536 equal steps.
const table = new Uint16Array(65536);
const whole = words.reduce((sum, _, i) => sum + 1 / (i + 1), 0);
for (let i = 0, k = 0, sum = 0; i < words.length; i++) {
  sum += 1 / (i + 1) / whole;
  while (k < table.length && k / table.length < sum) table[k++] = i;
}

function text(seed, n) {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  const out = [];
  for (let i = 0; i < n; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    out.push(words[table[state >>> 16]]);
  }
  return out.join(" ");
}

export const note = (i) => text(i, 50);
export const query = (i) => text(1e9 + i, 3 + (i % 4));

if (process.argv[1] === import.meta.filename) {
  const [first, count] = process.argv.slice(2).map(Number);
  for (let i = first; i < first + count; ) {
    const lines = [];
    for (; lines.length < 2000 && i < first + count; i++) lines.push(note(i));
    if (!process.stdout.write(lines.join("\n") + "\n")) await new Promise((on) => process.stdout.once("drain", on));
  }
}
