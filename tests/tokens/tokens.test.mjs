// Fumi's count of tokens is never less than that of a published tokenizer, and for ordinary text not much more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, tokenizers } from "./count.mjs";
import { many, prose, texts } from "./texts.mjs";

test("no text has more tokens than counted", () => {
  const all = [...texts()];
  const counted = counts(all.map(([, text]) => text));
  for (const [name, tokens] of Object.entries(tokenizers))
    all.forEach(([kind, text], i) => assert.ok(tokens(text) <= counted[i], `${kind}: ${tokens(text)} tokens of ${name}, ${counted[i]} counted`));
});

// What a looser rule would waste of a budget.
for (const [kind, most] of [["english", 1.6], ["japanese", 1.7], ["chinese", 2], ["korean", 2.1], ["german", 1.6]])
  test(`${kind} prose is counted at most ${most} times`, () => {
    const tokens = tokenizers.cl100k_base(prose[kind]);
    const [counted] = counts([prose[kind]]);
    assert.ok(counted <= most * tokens, `${counted} counted, ${tokens} tokens`);
  });

test("the parts of a text have at least the tokens of the whole", () => {
  const objects = many(50, (_, i) => JSON.stringify({ text: prose.english.slice(i, i * 3) + ")(".repeat(i % 4), n: i }));
  const [whole, ...rest] = counts([`[${objects.join(",")}]`, "[", "]", ",", ...objects]);
  const sum = rest[0] + rest[1] + rest[2] * 49 + rest.slice(3).reduce((a, b) => a + b);
  assert.ok(whole <= sum && sum <= whole * 1.1, `${whole}, ${sum} in parts`);
});
