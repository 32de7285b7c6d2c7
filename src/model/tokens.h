/* The length of a text for a language model. */
#ifndef FUMI_MODEL_TOKENS_H
#define FUMI_MODEL_TOKENS_H

#include "base/str.h"

/* Returns an upper estimate of the tokens of a UTF-8 text, by the rule in docs/memory.md ("Token
 * budgets"). It needs no model, and is not less than what the tokenizers cl100k_base and o200k_base
 * need for prose, code, JSON and identifiers (tests/tokens); prose needs about a third less there.
 *
 * A text has at most as many tokens as its parts together, if no part ends inside a word. */
size_t tokens_of(struct fumi_str s);

/* A text of n bytes has at least n / TOKEN_BYTES_MAX tokens. */
enum { TOKEN_BYTES_MAX = 8 };

#endif
