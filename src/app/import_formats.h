/* The file formats that fumi import reads. A reader converts one file to lines of the transfer
 * format (transfer.h), which the import stores like those that fumi export wrote. */
#ifndef FUMI_APP_IMPORT_FORMATS_H
#define FUMI_APP_IMPORT_FORMATS_H

#include "app/transfer.h"

struct import_file {
    struct fumi_arena *a;    /* of the notes of this file */
    struct fumi_str path;    /* canonical: ids are computed from it */
    struct fumi_str shown;   /* relative: the source of the notes, and the name in messages */
    struct fumi_str project; /* of the notes; null: each line names its own */
    bool one_project;        /* the user has named the project: also of notes that name another */
    struct fumi_str text;    /* UTF-8; empty for databases */
    bool rules;              /* Markdown: the file has rules for agents */
    /* Receives one line of the transfer format; `json` null: the line of the file is bad, and
     * `fault` says why. Returns -1 with *e set if the import must stop. */
    int (*take)(void *to, const struct import_file *f, size_t line, struct fumi_str json,
                const char *fault, struct fumi_err *e);
    void *to;
};

struct import_format {
    const char *name;
    /* `start`: the first bytes of the file. NULL: only --format selects the format. */
    bool (*recognise)(struct fumi_str path, struct fumi_str start);
    /* Returns -1 with *e set if the import must stop. NULL: the file consists of transfer lines. */
    int (*read)(struct import_file *f, struct fumi_err *e);
    bool database; /* read by its path */
};

enum import_format_index {
    IMPORT_EMBEDDING_MCP,
    IMPORT_MEMORY_SERVICE,
    IMPORT_CLAUDE_MEM,
    IMPORT_SERVER_MEMORY,
    IMPORT_JSONL,
    IMPORT_JSON,
    IMPORT_RULES,
    IMPORT_CODEX,
    IMPORT_CLAUDE_CODE,
    IMPORT_BASIC_MEMORY,
    IMPORT_MARKDOWN,
    IMPORT_FORMATS
};

/* In the order in which they are tried. */
extern const struct import_format import_formats[IMPORT_FORMATS];

enum { IMPORT_START = 4096, IMPORT_FILE_MAX = FUMI_JSON_MAX - 1 };

/* Returns NULL if no format is recognised. */
const struct import_format *import_recognise(struct fumi_str path, struct fumi_str start);
/* Whether the name of a file in a folder is that of a Markdown file. */
bool import_is_markdown(struct fumi_str path);
struct fumi_str import_base_name(struct fumi_str path);

/* Passes on a note that begins in that line, of a database in that row. Project, source and group
 * are set if they are null. A
 * missing id is computed from the project, the path of the file, the title and the text, so that a
 * second import finds the note again. */
int import_note(struct import_file *f, size_t line, struct note *n, struct fumi_err *e);
/* The same for a group or a global. */
int import_object(struct import_file *f, size_t line, struct transfer *t, struct fumi_err *e);
/* Reports a bad line. */
int import_bad(struct import_file *f, size_t line, const char *fault, struct fumi_err *e);

/* Reads an RFC 3339 time, a date, or a date and a time of day in UTC. */
bool import_time(struct fumi_arena *a, struct fumi_str s, struct fumi_time *out);
void import_append(struct fumi_arena *a, struct fumi_strs *list, struct fumi_str s);
/* Adds a tag unless it is empty or present; a leading '#' is removed. */
void import_tag(struct fumi_arena *a, struct fumi_strs *tags, struct fumi_str tag);

/* Finds the Markdown files of a folder and those within it, in the order of their names. */
struct import_walk {
    struct fumi_arena *a; /* of the paths */
    /* Returns -1 with *e set to stop. */
    int (*each)(void *to, struct fumi_str path, struct fumi_err *e);
    void (*skip)(void *to, struct fumi_str path, const char *why); /* a folder is not read */
    void *to;
};
enum { IMPORT_DEPTH = 64 };
int import_folder(const struct import_walk *w, struct fumi_str path, int depth, struct fumi_err *e);

/* The lines of a text, without their ends. Start with .p, .end. */
struct import_lines {
    const char *p, *end;
    struct fumi_str line;
    size_t number; /* of `line`, from 1 */
    char fence;    /* Markdown: the character of the code fence that is open; 0: none */
    size_t ticks;  /* length of that fence */
    bool code;     /* whether the line is part of fenced code */
};
bool import_next_line(struct import_lines *l);
/* The level of the heading that the line is, outside of fenced code, and its text; 0: none. */
size_t import_heading(const struct import_lines *l, struct fumi_str *text);

/* import_front.c: the front matter of a Markdown file.
 *
 * An entry is "key: value", "key: [a, b]" or "key:" before lines "- value". */
struct import_entry {
    struct fumi_str key; /* null: the line was not understood */
    struct fumi_str raw; /* what follows the colon */
    struct fumi_strs values;
    bool list;
    bool nested; /* `raw` begins with '{': there are no values */
    bool inner;  /* an indented line below a key without a value: "OUTER.KEY", or a member of
                    metadata */
    char block;  /* the value is the text below: '|' or '>'; 0: it is not */
    size_t line;
};
struct import_entries {
    struct import_entry *items;
    size_t n;
    struct import_lines body; /* what follows the front matter */
};
void import_entries_read(struct fumi_arena *a, struct fumi_str text, struct import_entries *out);
/* Whether the key is one of the names, which end with NULL; case does not count. */
bool import_is_key(const struct import_entry *at, const char *const *names);
/* Writes the entry as a member of an object. */
void import_put_entry(struct fumi_out *o, const struct import_entry *at);
/* Appends the parts between the separators, without their quotes. */
void import_split(struct fumi_arena *a, struct fumi_str s, const char *separators,
                  struct fumi_strs *out);

/* The members of a note that the entries set. */
struct import_front {
    struct note note; /* id, title, tags, created, metadata */
    struct import_lines body;
};
/* Returns -1 with *e set if the import must stop. */
int import_front_read(struct import_file *f, struct import_front *out, struct fumi_err *e);

int import_read_markdown(struct import_file *f, struct fumi_err *e);
int import_read_rules(struct import_file *f, struct fumi_err *e);
int import_read_server_memory(struct import_file *f, struct fumi_err *e);
int import_read_json(struct import_file *f, struct fumi_err *e);
int import_read_codex(struct import_file *f, struct fumi_err *e);
int import_read_claude_code(struct import_file *f, struct fumi_err *e);
int import_read_basic_memory(struct import_file *f, struct fumi_err *e);
int import_read_embedding_mcp(struct import_file *f, struct fumi_err *e);
int import_read_memory_service(struct import_file *f, struct fumi_err *e);
int import_read_claude_mem(struct import_file *f, struct fumi_err *e);

/* Whether the file is an SQLite database that cannot be read; *e says why. */
bool import_database_fault(int fd, struct fumi_str path, struct fumi_err *e);
/* Whether the beginning of a file is that of the format. */
bool import_is_codex(struct fumi_str path, struct fumi_str start);
bool import_is_claude_code(struct fumi_str path, struct fumi_str start);
bool import_is_basic_memory(struct fumi_str path, struct fumi_str start);
bool import_is_embedding_mcp(struct fumi_str path, struct fumi_str start);
bool import_is_memory_service(struct fumi_str path, struct fumi_str start);
bool import_is_claude_mem(struct fumi_str path, struct fumi_str start);

#endif
