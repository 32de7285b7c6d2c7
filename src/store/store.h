/* The interface of a store, which keeps notes, groups, globals and vectors.
 *
 * Any thread may call any function at any time, except store_close. Results live in the arena that
 * the caller passes; arguments are borrowed for the call.
 * A function that can fail returns 0, or -1 with *e set:
 *   ERR_NOT_FOUND         there is no such note, group or global
 *   ERR_CONFLICT          a unique key is in use
 *   FUMI_LIMIT            the user can fix the cause (disk, permissions, damage); the text says how
 *   ERR_NEWER             a newer version of Fumi wrote the file
 *   FUMI_INTERNAL_ERROR   anything else; the text is for the log
 * When a function that writes returns 0, the data is safely on disk.
 *
 * The functions call the engine through its table (store_ops.h). store/sqlite.h opens a store in a
 * file; store/scoped.h restricts one to a project or to reading. */
#ifndef FUMI_STORE_STORE_H
#define FUMI_STORE_STORE_H

#include "store/store_types.h"

struct store;

/* Notes. A change that is NULL has no author, no vectors and no results.
 * add_note stores the note with its keywords and vectors, all or nothing, and sets n->seq. If a
 * note of the project and group that is neither superseded nor expired has the same trimmed text,
 * and its title, source and metadata are equal or absent in n, that note gets the tags of n that it
 * lacks, and n->id and n->seq become its own (change->duplicate). The current note with n->key is
 * superseded, and so are change->supersedes: ERR_NOT_FOUND names an id that the project does not
 * have.
 * get_note: fails if the note is damaged, but sets out->project.
 * update_note sets the fields named by `set` (enum note_bit) in the transaction that reads the
 * note. With NOTE_TEXT, the vectors of the change replace those of all spaces. A key and
 * change->supersedes have the same effect as in add_note.
 * delete removes the note with that id or, if there is none, the global with that id. The journal
 * keeps its content. Notes that it had superseded become current again.
 * expire: deletes at most `limit` notes whose time has come. *more: call again. */
int store_add_note(struct store *s, struct fumi_arena *a, struct note *n,
                   struct note_change *change, struct fumi_err *e);
int store_get_note(struct store *s, struct fumi_arena *a, struct fumi_str id, struct note *out,
                   struct fumi_err *e);
int store_update_note(struct store *s, struct fumi_arena *a, struct fumi_str id,
                      const struct note *to, unsigned set, struct note_change *change,
                      struct fumi_err *e);
int store_delete(struct store *s, struct fumi_arena *a, struct fumi_str id,
                 struct note_change *change, struct fumi_err *e);
int store_expire(struct store *s, size_t limit, bool *more, struct fumi_err *e);

/* Lists of notes. Damaged notes are logged and omitted, expired ones omitted.
 * list_recent: newest first, then highest seq; passes at most `limit` rows to `to`.
 * list_by_seq: seq > after, ascending; f NULL: all projects.
 * load_notes: the notes with these seqs, in this order; deleted ones are omitted.
 * load_heads: the same, but only seq, id, project and created, of damaged notes too. */
int store_list_recent(struct store *s, const struct loading *to, const struct filter *f,
                      struct cursor after, size_t limit, struct notes *out, struct fumi_err *e);
int store_list_by_seq(struct store *s, struct fumi_arena *a, const struct filter *f, int64_t after,
                      size_t limit, struct notes *out, struct fumi_err *e);
int store_load_notes(struct store *s, const struct loading *to, const int64_t *seqs, size_t n,
                     struct notes *out, struct fumi_err *e);
int store_load_heads(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                     struct notes *out, struct fumi_err *e);

/* Names in byte order; with naming.part, names that begin with the part come first. Projects and
 * groups without notes are included. */
int store_list_names(struct store *s, struct fumi_arena *a, const struct naming *what,
                     struct names *out, struct fumi_err *e);

/* The ids of notes, groups and globals that begin with a text: kind by kind, in byte order. */
int store_find_ids(struct store *s, struct fumi_arena *a, const struct id_prefix *what,
                   struct fumi_strs *out, struct fumi_err *e);

/* Search, best first.
 * nearest: by cosine, among the notes that pass the filter. It waits for a vector cache that is
 * being built only for a moment; prepare_nearest begins to build it in the background.
 * score_vectors: the cosines of given notes, in their order; notes without vectors are omitted.
 * match_keywords: by BM25, with the statistics of the project; a null project, or f NULL, searches
 * all projects.
 * neighbours: sets out[i] to the neighbours of the note seqs[i] that are not superseded, in one
 * snapshot; all 0 if the note
 * does not exist or belongs to no session. */
int store_nearest(struct store *s, struct fumi_arena *a, const struct filter *f,
                  struct fumi_str space, const float *query, size_t dim, size_t limit,
                  struct hits *out, struct fumi_err *e);
int store_prepare_nearest(struct store *s, struct fumi_str space, size_t dim, struct fumi_err *e);
int store_score_vectors(struct store *s, struct fumi_arena *a, struct fumi_str space,
                        const float *query, size_t dim, const int64_t *seqs, size_t n,
                        struct hits *out, struct fumi_err *e);
int store_match_keywords(struct store *s, struct fumi_arena *a, const struct filter *f,
                         const struct keyword_query *q, struct keyword_hits *out,
                         struct fumi_err *e);
int store_neighbours(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                     struct neighbours *out, struct fumi_err *e);
int store_count_notes(struct store *s, const struct filter *f, struct filtered *out,
                      struct fumi_err *e);

/* Overviews.
 * count_days: the days with notes that pass the filter; a day begins `offset` milliseconds before
 * midnight UTC.
 * sample_vectors: the notes that pass the filter and have a vector in the space, in the order of
 * their numbers. If more than `limit` pass, `limit` of them are chosen, evenly spaced. */
int store_count_days(struct store *s, struct fumi_arena *a, const struct filter *f, int64_t offset,
                     struct days *out, struct fumi_err *e);
int store_sample_vectors(struct store *s, const struct loading *to, const struct filter *f,
                         struct fumi_str space, size_t limit, struct sample *out,
                         struct fumi_err *e);

/* Groups and globals. by: may be NULL.
 * add_group: ERR_CONFLICT if the project has a group with that key.
 * update_group sets the title and the description where they are not null.
 * list_groups: by creation time, then groups that exist only as names in notes, by key. A null
 * project lists the groups of all projects, without those that exist only in notes.
 * set_global: sets g->id to the existing id if the key exists; ERR_CONFLICT if the key is new and
 * another global has g->id. */
int store_add_group(struct store *s, const struct group *g, const struct author *by,
                    struct fumi_err *e);
int store_get_group(struct store *s, struct fumi_arena *a, struct fumi_str id, struct group *out,
                    struct fumi_err *e);
int store_update_group(struct store *s, struct fumi_str id, struct fumi_str title,
                       struct fumi_str description, int64_t now, const struct author *by,
                       struct fumi_err *e);
int store_delete_group(struct store *s, struct fumi_str id, const struct author *by,
                       struct fumi_err *e);
int store_list_groups(struct store *s, const struct loading *to, struct fumi_str project,
                      struct groups *out, struct fumi_err *e);
int store_set_global(struct store *s, struct fumi_arena *a, struct global *g,
                     const struct author *by, struct fumi_err *e);
int store_get_global(struct store *s, struct fumi_arena *a, struct fumi_str project,
                     struct fumi_str key, struct global *out, struct fumi_err *e);
int store_list_globals(struct store *s, const struct loading *to, struct fumi_str project,
                       struct fumi_str prefix, struct globals *out, struct fumi_err *e);

/* Import: stores the rows in their order, usually with one sync for all of them, and sets the
 * result of each. A row is compared with the stored one in the transaction that writes. A note is
 * identified by id and project, a group and a global by project and key. If the id belongs to
 * something else, the row gets a new id, the same at every import: its id is set to that. A note
 * without a time equals one of any time. ERR_CONFLICT: a stored note or group differs; the other
 * rows are not affected. After any other error, the rows that follow are not stored and get the
 * same error. Other writers wait until all rows are stored, so `n` should be a few hundred at most.
 */
void store_merge(struct store *s, struct fumi_arena *a, struct merge_row *rows, size_t n,
                 const struct author *by);

/* History (store_life.h). Each call that changes notes, groups or globals adds rows to the journal.
 * history: newest first.
 * undo: puts the rows back in one transaction, newest first: an added note is deleted, a deleted
 * one added with its id, an updated one gets its values of before. A row is not put back if a later
 * change that is not undone itself concerns the same members: see out->conflicts. The undo is a
 * change, too.
 * forget: erases notes with all their rows and traces for good; other notes are not affected if an
 * id is unknown (ERR_NOT_FOUND, nothing is erased).
 * remove_copies: deletes the copies that migrations have made, and returns their paths.
 * prune_history: deletes rows of the journal and injections that are older than a time, and the
 * oldest ones while both have more than max_bytes (0: no limit). *more: call again. */
int store_history(struct store *s, struct fumi_arena *a, const struct history_query *q,
                  struct changes *out, struct fumi_err *e);
int store_undo(struct store *s, struct fumi_arena *a, const struct undo_query *q,
               const struct author *by, struct undone *out, struct fumi_err *e);
int store_forget(struct store *s, struct fumi_arena *a, const struct forget_query *q,
                 const struct author *by, struct forgotten *out, struct fumi_err *e);
int store_remove_copies(struct store *s, struct fumi_arena *a, struct fumi_strs *out,
                        struct fumi_err *e);
int store_prune_history(struct store *s, int64_t older_than, int64_t max_bytes, bool *more,
                        struct fumi_err *e);

/* Injections, newest first; uses; reviews, oldest first. add_injection sets no result.
 * add_uses adds n to the uses of each note and sets the time of the last one; unknown ones are
 * ignored. list_unused: notes that were created before `since` and not used since then.
 * get_review, drop_review: ERR_NOT_FOUND if there is none with the id. */
int store_add_injection(struct store *s, const struct injection *i, struct fumi_err *e);
int store_list_injections(struct store *s, struct fumi_arena *a, const struct injection_query *q,
                          struct injections *out, struct fumi_err *e);
int store_add_uses(struct store *s, const struct note_use *items, size_t n, struct fumi_err *e);
int store_list_unused(struct store *s, struct fumi_arena *a, struct fumi_str project, int64_t since,
                      size_t limit, struct note_uses *out, struct fumi_err *e);
int store_add_review(struct store *s, const struct review *r, struct fumi_err *e);
int store_list_reviews(struct store *s, struct fumi_arena *a, struct fumi_str project, size_t limit,
                       struct reviews *out, struct fumi_err *e);
int store_get_review(struct store *s, struct fumi_arena *a, struct fumi_str id, struct review *out,
                     struct fumi_err *e);
int store_drop_review(struct store *s, struct fumi_str id, struct fumi_err *e);

/* Projects. find_projects: those with this remote; null: all, by name.
 * move_notes moves at most `limit` notes to another project and, when none is left, the groups and
 * globals; where the target has the same key, its own one stays. Without a target, all are deleted.
 * Call it again with the same struct while m->more. */
int store_set_project_remote(struct store *s, struct fumi_str project, struct fumi_str remote,
                             int64_t now, struct fumi_err *e);
int store_find_projects(struct store *s, struct fumi_arena *a, struct fumi_str remote,
                        struct projects *out, struct fumi_err *e);
int store_move_notes(struct store *s, struct moving *m, struct fumi_err *e);

/* Embedding in the background.
 * list_unembedded: notes with seq > after that have no vectors in the space, ascending; fewer than
 * `limit` if their texts are long.
 * load_unembedded: those of the notes with these seqs that have no vectors in the space.
 * add_vectors: v[i] are the vectors of notes[i]; skipped if the text has changed since.
 * embedding_progress: the number of notes, and of those with vectors in the space.
 * count_unembedded: the notes of a project (null: of all) that have no vectors in the space. Fast
 * if these are few and among the newest. delete_spaces: deletes the vectors of all spaces but these
 * two (null: none). */
int store_list_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                          int64_t after, size_t limit, struct unembeddeds *out, struct fumi_err *e);
int store_load_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                          const int64_t *seqs, size_t n, struct unembeddeds *out,
                          struct fumi_err *e);
int store_add_vectors(struct store *s, const struct unembedded *notes, const struct vectors *v,
                      size_t n, struct fumi_err *e);
int store_embedding_progress(struct store *s, struct fumi_str space, int64_t *have, int64_t *all,
                             struct fumi_err *e);
int store_count_unembedded(struct store *s, struct fumi_str project, struct fumi_str space,
                           int64_t *out, struct fumi_err *e);
int store_delete_spaces(struct store *s, struct fumi_str keep, struct fumi_str also,
                        struct fumi_err *e);

/* Values that all processes share, such as the embedding space in use. No such name: *out is null.
 */
int store_get_meta(struct store *s, struct fumi_arena *a, const char *name, struct fumi_str *out,
                   struct fumi_err *e);
int store_set_meta(struct store *s, const char *name, struct fumi_str value, struct fumi_err *e);

/* A number that rises whenever any process changes notes, vectors, groups or globals. */
int store_change_number(struct store *s, int64_t *out, struct fumi_err *e);
/* project_stats: of one project, with bytes 0; *have: its notes with vectors in the space. */
int store_stats(struct store *s, struct store_stats *out, struct fumi_err *e);
int store_project_stats(struct store *s, struct fumi_str project, struct fumi_str space,
                        struct store_stats *out, int64_t *have, struct fumi_err *e);

/* Writes a consistent copy to a new file while other processes write. The file appears under its
 * name only when it is complete. An existing file is not overwritten (ERR_CONFLICT). */
int store_backup(struct store *s, struct fumi_str path, struct fumi_err *e);

/* Checks everything and, with `repair`, rebuilds what can be derived from the notes (keyword index,
 * vector cache, counts). Calls `print` with one sentence for each finding and repair. If pages are
 * corrupt, salvages all readable rows into a new file and keeps the damaged one beside it; this
 * fails if another process uses the store. Returns 0 if the store has no damage in the end. `print`
 * may be NULL and is called on the calling thread; the sentence is valid during the call. */
int store_check(struct store *s, bool repair, void (*print)(void *arg, const char *sentence),
                void *arg, struct fumi_err *e);

/* One step of erasing the traces of deleted texts: index entries, pages in the write-ahead log,
 * rows in the vector cache. *more: call again later. delete and update_note take a step themselves,
 * at most once a second; backup erases in the copy, check in the whole store. */
int store_erase_step(struct store *s, bool *more, struct fumi_err *e);

/* No other call may be running. Frees s. */
void store_close(struct store *s);

#endif
