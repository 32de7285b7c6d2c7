/* Standard output and standard error of commands, as a person sees them in a terminal. */
#ifndef FUMI_APP_TERMINAL_H
#define FUMI_APP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The columns of the terminal that a stream (stdout or stderr) writes to: COLUMNS if that is set,
 * or else what the terminal says. Returns 0 if the stream is no terminal. */
size_t terminal_columns(FILE *to);

/* The columns for a text of at most `most`: fewer if the terminal is narrower. */
size_t terminal_text_columns(FILE *to, size_t most);

/* From now on, lines that are wider than the terminal are wrapped between words; the rest is
 * indented as the second column of the line, if there is one. Streams that are no terminals are
 * left alone. `data`: standard output is left alone, too. Call it once, before anything is written.
 */
void terminal_wrap(bool data);

/* What is written to standard output from now on is data, such as JSON, and not wrapped. */
void terminal_data(void);

#endif
