/* Output for people: text in the columns of a terminal, and indented JSON. */
#ifndef FUMI_APP_SHOW_H
#define FUMI_APP_SHOW_H

#include "json/json.h"

#include <stdio.h>

/* The number of terminal columns that a text takes: two for wide characters, none for combining
 * marks. */
size_t show_width(struct fumi_str s);

/* The text in one line: each run of line breaks, control characters and blanks becomes one blank;
 * hidden characters (base/chars.h) are removed. */
struct fumi_str show_line(struct fumi_arena *a, struct fumi_str s);

/* The longest prefix that fits into that many columns. Borrowed from `s`. */
struct fumi_str show_cut(struct fumi_str s, size_t columns);

/* The text with its line breaks and tabs, but without other control and hidden characters. */
struct fumi_str show_lines(struct fumi_arena *a, struct fumi_str s);

/* The same JSON value, with escapes for DEL, C1 control characters, line breaks outside ASCII and
 * hidden characters. Returns `json` itself if it has none of these. */
struct fumi_str show_escaped(struct fumi_arena *a, struct fumi_str json);

/* Appends the value, indented by two blanks per level, with a line break at the end and escaped as
 * by show_escaped. */
void show_json(struct fumi_buf *out, const struct fumi_val *v);

/* Appends an argument of a command line, quoted if a shell requires it. */
void show_word(struct fumi_buf *out, struct fumi_str word);

/* The escape sequence for a style; "" unless `to` is a terminal and NO_COLOR is not set. */
enum show_style { SHOW_PLAIN, SHOW_BOLD, SHOW_DIM };
const char *show_style(FILE *to, enum show_style style);

/* Writes to stderr how imported notes get their vectors if no server computes them. */
void show_import_hint(void);

#endif
