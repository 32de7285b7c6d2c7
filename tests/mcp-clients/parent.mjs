// Starts the program it is told and passes messages to and from it; to be killed.
import { spawn } from "node:child_process";

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
process.stdin.pipe(child.stdin);
child.stdout.pipe(process.stdout);
