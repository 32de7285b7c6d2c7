// Texts: times, the words of a query in a text, differences.

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const numbers = new Intl.NumberFormat();

export const number = (n) => numbers.format(n);
export const percent = (x) => `${Math.round(x * 100)} %`;
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const exactTime = (iso) => full.format(new Date(iso));
export const dayName = (iso) => day.format(new Date(iso));

// "3 hours ago"; a date if the time is more than a month away.
export function when(iso) {
  const seconds = (new Date(iso) - Date.now()) / 1000;
  const units = [["second", 60], ["minute", 60], ["hour", 24], ["day", 31]];
  let value = seconds;
  for (const [unit, size] of units) {
    if (Math.abs(value) < size) return relative.format(Math.round(value), unit);
    value /= size;
  }
  return day.format(new Date(iso));
}

export function bytes(n) {
  const units = ["bytes", "KB", "MB", "GB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i ? n.toFixed(1) : n} ${units[i]}`;
}

export function titleOf(note) {
  return note.title || note.text.trim().split("\n")[0].slice(0, 120);
}

const segments = new Intl.Segmenter(undefined, { granularity: "word" });
const common = new Set(("a an and are as at be by do does for from how i in is it of on or that the this to was we "
  + "were what when where which who why with").split(" "));

// The beginnings by which words of the query are recognised in a text: endings may differ.
function stems(query) {
  const words = [...segments.segment(query.toLowerCase())].filter((s) => s.isWordLike).map((s) => s.segment);
  const rare = words.filter((word) => !common.has(word));
  return (rare.length ? rare : words).map((word) =>
    /^[a-z]{4,}$/.test(word) ? word.replace(/(ing|ed|es|s|ment|ments|ly|e)$/, "") : word);
}

// The text in parts [part, isMatch] where the words of the query match.
export function matches(text, query) {
  const wanted = stems(query ?? "");
  if (!wanted.length) return [[text, false]];
  const parts = [];
  for (const { segment, isWordLike } of segments.segment(text)) {
    const word = segment.toLowerCase();
    const hit = Boolean(isWordLike) && wanted.some((stem) => (stem.length > 2 ? word.startsWith(stem) : word === stem));
    if (parts.length && parts.at(-1)[1] === hit) parts.at(-1)[0] += segment;
    else parts.push([segment, hit]);
  }
  return parts;
}

// The part of a text between two offsets in bytes (UTF-8).
export function byteSlice(text, begin, end) {
  const data = new TextEncoder().encode(text);
  return new TextDecoder().decode(data.subarray(begin, end));
}

// The difference of two texts by words: parts [kind, text] with kind "same", "removed" or "added".
export function difference(before, after) {
  const a = before.match(/\s+|[^\s]+/g) ?? [];
  const b = after.match(/\s+|[^\s]+/g) ?? [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = compare(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const parts = [["same", a.slice(0, head).join("")], ...middle, ["same", a.slice(a.length - tail).join("")]];
  return parts.filter(([, text]) => text);
}

// The longest common subsequence; long texts are shown as replaced.
function compare(a, b) {
  if (!a.length || !b.length || a.length * b.length > 1_000_000)
    return [["removed", a.join("")], ["added", b.join("")]];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      common[i * width + k] = a[i] === b[k] ? common[(i + 1) * width + k + 1] + 1
        : Math.max(common[(i + 1) * width + k], common[i * width + k + 1]);
  const parts = [];
  const put = (kind, text) => (parts.at(-1)?.[0] === kind ? (parts.at(-1)[1] += text) : parts.push([kind, text]));
  let i = 0;
  let k = 0;
  while (i < a.length || k < b.length) {
    if (i < a.length && k < b.length && a[i] === b[k]) put("same", a[i++]), k++;
    else if (k === b.length || (i < a.length && common[(i + 1) * width + k] >= common[i * width + k + 1])) put("removed", a[i++]);
    else put("added", b[k++]);
  }
  return parts;
}
