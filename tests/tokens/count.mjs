// The counts: Fumi's, and those of the tokenizers.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";

const plain = { disallowedSpecial: new Set() }; // names of special tokens are ordinary text

export const tokenizers = {
  cl100k_base: (text) => cl100k.encode(text, plain).length,
  o200k_base: (text) => o200k.encode(text, plain).length,
};

// Fumi's counts of many texts.
export function counts(texts) {
  const input = Buffer.concat(texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    return [Buffer.from(`${bytes.length}\n`), bytes];
  }));
  const { status, stdout } = spawnSync(process.env.COUNT, { input, maxBuffer: 1 << 26 });
  assert.equal(status, 0);
  const numbers = stdout.toString().trim().split("\n").map(Number);
  assert.equal(numbers.length, texts.length);
  return numbers;
}
