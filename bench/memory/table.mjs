// The table: rows as they are measured, then the targets.
const sorted = (list) => [...list].sort((a, b) => a - b);
export const quantile = (list, q) => sorted(list)[Math.min(list.length - 1, Math.floor(list.length * q))];
export const median = (list) => quantile(list, 0.5);
const number = (x, digits) => (Number.isFinite(x) ? x.toFixed(digits) : "-");
const digits = (ms) => (ms < 10 ? 2 : ms < 100 ? 1 : 0);

let shown;
function line(title, name, cells, text = "") {
  const first = title === shown ? "" : title;
  shown = title;
  console.log(`${first.padEnd(36)} ${name.padEnd(14)} ${cells.map((cell) => cell.padStart(9)).join(" ")}  ${text}`.trimEnd());
}

export const head = () => line("", "", ["p50 ms", "p99 ms", "p99/p50", "x bare"]);

// `bare`: p50 as a multiple of the bare insert's, if known. Returns p99 / p50.
export function row(title, name, ms, { bare, text } = {}) {
  const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)];
  const spread = ms.length >= 50 ? p99 / p50 : NaN;
  line(title, name, [number(p50, digits(p50)), number(ms.length > 1 ? p99 : NaN, digits(p99)), number(spread, 1), number(bare, 2)], text);
  return p99 / p50;
}

export const problem = (title, name, error) => line(title, name, ["-", "-", "-", "-"], `could not run: ${error.message}`);

const verdicts = [];
export const target = (met, text) => verdicts.push(`${met ? "met" : "MISSED"}`.padEnd(8) + text);
export const showTargets = () => console.log(["", ...verdicts].join("\n"));
