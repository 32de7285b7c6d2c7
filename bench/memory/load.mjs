// Starts mcp_load, and other programs, so that they end with this one.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const running = new Set();

export function endAll() {
  for (const child of running) child.kill("SIGKILL"); // mcp_load's servers are killed with it
}

// Resolves to the standard output. `input`, if given, is a function that writes to the program's input.
function run(command, options, input) {
  const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"], ...options });
  running.add(child);
  let out = "", err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err = (err + text).slice(-2000)));
  child.stdin.on("error", () => {});
  input?.(child.stdin);
  const done = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => {
      running.delete(child);
      if (status === 0) resolve({ out, err });
      else reject(new Error(`${command[0]}: ${signal ?? `status ${status}`}: ${err.trim().split("\n").at(-1)}`));
    });
  });
  done.catch(() => {}); // whoever awaits it sees the error
  return { child, done };
}

export const output = async (command, options, input) => (await run(command, options, input).done).out;

// Pipes the output of one program into another, whose output it resolves to.
export async function pipe(from, to, options) {
  const source = spawn(from[0], from.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  running.add(source);
  source.on("close", () => running.delete(source));
  const sink = run(to, options);
  source.stdout.pipe(sink.child.stdin);
  try {
    return (await sink.done).out;
  } finally {
    source.kill();
  }
}

function results({ out, err }) {
  const found = { calls: [], starts: [], kb: [], acknowledged: 0, errors: 0, error: err.trim().split("\n").at(-1) };
  for (const line of out.split("\n")) {
    const [kind, a, b, state] = line.split(" ");
    if (kind === "start") {
      found.starts.push(a / 1000);
      found.kb.push(Number(b));
    } else if (kind) {
      const is = kind === "warm" ? b : state;
      found[is === "error" ? "errors" : "acknowledged"]++;
      if (kind === "call") found.calls.push({ at: a / 1000, ms: b / 1000, state: is });
    }
  }
  found.ms = found.calls.filter((call) => call.state !== "error").map((call) => call.ms);
  return found;
}

// Calls the tool of a server with each of `params`. Returns a promise of the results, and a function that stops early.
let files = 0;
export function load(tools, program, dir, params, flags) {
  const file = join(tools.root, `params-${files++}`);
  writeFileSync(file, params.map((one) => JSON.stringify(one) + "\n").join(""));
  const list = Object.entries(flags).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, `${value}`]));
  const started = run([join(tools.build, "bench/mcp_load"), ...list, file, ...program.command(dir)], {
    env: { ...process.env, ...program.env(dir) },
  });
  const done = started.done.then(results);
  done.catch(() => {});
  return { done, stop: () => started.child.stdin.end() };
}
