/* Fits and checks the relevance of search results (src/memory/relevance.c) on the sets that `eval`
 * uses.
 *
 * Usage: calibrate DIRECTORY STORE [NOTES_PER_SET]
 *
 * STORE is a file; it is made if it does not exist, with one project for each conversation of
 * LoCoMo and one for each other set. Three kinds of queries are put to it:
 *   answer    to its own project
 *   foreign   to another project, which has no answer
 *   hard      to its own project, without the notes that answer it
 * Prints the coefficients that fit these queries best, then for each set and kind how many answers
 * got each confidence. With CALIBRATE_LINES set in the environment, also prints for each query its
 * set, its kind, and of its first five results the rank, whether it answers, the cosine, the share
 * of the words and the relevance. */
#include "embed/model.h"
#include "memory/relevance.h"
#include "store/sqlite.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TOP = 10, LOOKED_AT = 5, FEATURES = 4 };
enum kind { ANSWER, FOREIGN, HARD, KINDS };

static const char *const kinds[] = {"answer", "foreign", "hard"};
static const char *const sets[] = {"locomo", "cran", "jsquad"};
enum { SETS = FUMI_COUNT(sets) };

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct row {
    double x[FEATURES]; /* 1, cosine, share, cosine * share */
    bool good, words;   /* words: only the words decide */
};

struct outcome {
    size_t n, by[3], first, first_high;
};

struct calibration {
    const char *dir;
    struct memory *m;
    size_t set, most;
    enum kind kind;
    unsigned off;
    bool lines;
    struct fumi_arena names;
    struct fumi_str spaces[32];
    size_t n_spaces, added;
    struct row *rows;
    size_t n, capacity;
    struct outcome outcomes[SETS][KINDS];
    double recall[SETS], recall1[SETS];
};

static void die(const char *what, const struct fumi_err *e)
{
    fprintf(stderr, "calibrate: %s: %s\n", what, e ? e->text : "failed");
    exit(1);
}

static void each_line(struct calibration *c, const char *part,
                      void (*each)(struct calibration *, struct fumi_arena *,
                                   const struct fumi_val *row))
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    char path[4096], *line = NULL;
    size_t capacity = 0;
    ssize_t got;
    snprintf(path, sizeof(path), "%s/%s.%s.jsonl", c->dir, sets[c->set], part);
    FILE *f = fopen(path, "r");
    if (!f)
        die(path, NULL);
    for (size_t n = 0; n < c->most && (got = getline(&line, &capacity, f)) > 0; n++) {
        const struct fumi_val *row = fumi_parse(&a, (struct fumi_str){line, (size_t)got}, &e);
        if (!row)
            die(path, &e);
        each(c, &a, row);
        fumi_arena_reset(&a, 1 << 20);
    }
    free(line);
    fclose(f);
    fumi_arena_done(&a);
}

static void learn_space(struct calibration *c, struct fumi_arena *a, const struct fumi_val *row)
{
    struct fumi_str space = fumi_text(a, fumi_get(row, "space"));
    if (c->n_spaces && fumi_eq(c->spaces[c->n_spaces - 1], space))
        return;
    if (c->n_spaces == FUMI_COUNT(c->spaces))
        die("too many spaces", NULL);
    c->spaces[c->n_spaces++] = fumi_dup(&c->names, space);
}

/* "1:56 pm on 8 May, 2023" in UTC. */
static struct fumi_time time_of(struct fumi_arena *a, struct fumi_str date)
{
    struct tm tm = {0};
    struct fumi_str text = fumi_fmt(a, "%.*s", FUMI_ARG(date));
    if (!date.n || !strptime(text.p, "%I:%M %p on %d %B, %Y", &tm))
        return (struct fumi_time){0};
    return (struct fumi_time){(int64_t)timegm(&tm) * 1000, true};
}

static void add(struct calibration *c, struct fumi_arena *a, const struct fumi_val *row)
{
    struct fumi_err e = {0};
    struct written w = {.pending = false};
    struct fumi_str space = fumi_text(a, fumi_get(row, "space"));
    struct note n = {.id = fumi_fmt(a, "%.*s %.*s", FUMI_ARG(space),
                                    FUMI_ARG(fumi_text(a, fumi_get(row, "id")))),
                     .project = space,
                     .group = FUMI_STR("g"),
                     .created = time_of(a, fumi_text(a, fumi_get(row, "date"))),
                     .session = fumi_text(a, fumi_get(row, "session")),
                     .text = fumi_text(a, fumi_get(row, "text"))};
    if (n.created.set)
        n.created.ms += (int64_t)c->added++ % 1000; /* the order of the file */
    if (n.text.n && (memory_add(c->m, a, &n, 60000, &w, &e) || w.pending))
        die("add", &e);
}

static bool answers(const struct fumi_val *query, struct fumi_arena *a, const struct note *n)
{
    struct fumi_str space = fumi_text(a, fumi_get(query, "space"));
    const struct fumi_val *rel = fumi_get(query, "rel");
    for (const struct fumi_val *r = fumi_first(rel); r; r = fumi_after(rel, r))
        if (fumi_eq(n->id, fumi_fmt(a, "%.*s %.*s", FUMI_ARG(space), FUMI_ARG(fumi_text(a, r)))))
            return true;
    return false;
}

/* The project to search: a foreign one is another conversation for every second query of LoCoMo,
 * otherwise another set. */
static struct fumi_str project_of(const struct calibration *c, struct fumi_str space, size_t number)
{
    size_t i = 0;
    while (i + 1 < c->n_spaces && !fumi_eq(c->spaces[i], space))
        i++;
    if (c->kind != FOREIGN)
        return space;
    size_t conversations = c->n_spaces - (SETS - 1);
    if (i < conversations && number % 2)
        return c->spaces[(i + 1) % conversations];
    if (i < conversations)
        return c->spaces[conversations];
    return c->spaces[number % conversations];
}

static void keep(struct calibration *c, const struct result *r, bool good)
{
    if (c->n == c->capacity)
        c->rows = fumi_resize(c->rows, (c->capacity = c->capacity * 2 + 4096) * sizeof(*c->rows));
    c->rows[c->n++] = (struct row){{1, r->meaning, r->share, r->meaning * r->share},
                                   good,
                                   r->meaning_rank == 0 || !strcmp(sets[c->set], "jsquad")};
}

struct judged {
    double best;
    bool first;
};

/* Looks at the first results, without those that answer a hard query. The coefficients are fitted
 * to notes that answer and to the first ones of another project. Hard queries are left out, because
 * many of the notes that they find are relevant all the same. */
static struct judged judge(struct calibration *c, struct fumi_arena *a,
                           const struct fumi_val *query, const struct results *found)
{
    struct judged out = {0, false};
    size_t taken = 0;
    if (c->lines)
        printf("%s\t%s\t%zu", sets[c->set], kinds[c->kind], c->outcomes[c->set][c->kind].n);
    for (size_t i = 0; i < found->n && taken < LOOKED_AT; i++) {
        const struct result *r = &found->items[i];
        bool good = c->kind != FOREIGN && answers(query, a, &r->note);
        if (c->kind == HARD && good)
            continue;
        out.best = fmax(out.best, r->relevance);
        out.first = out.first || (taken == 0 && good);
        if (c->kind == ANSWER ? good : c->kind == FOREIGN && taken < 2)
            keep(c, r, good);
        taken++;
        if (c->lines)
            printf("\t%zu %d %.4f %.4f %.4f", i + 1, good, r->meaning, r->share, r->relevance);
    }
    if (c->lines)
        puts("");
    return out;
}

static void ask(struct calibration *c, struct fumi_arena *a, const struct fumi_val *query)
{
    struct fumi_err e = {0};
    struct outcome *o = &c->outcomes[c->set][c->kind];
    size_t relevant = fumi_size(fumi_get(query, "rel"));
    struct search s = {
        .filter = {.project = project_of(c, fumi_text(a, fumi_get(query, "space")), o->n),
                   .since = INT64_MIN,
                   .until = INT64_MAX},
        .query = fumi_text(a, fumi_get(query, "text")),
        .top = c->kind == HARD ? TOP + relevant : TOP,
        .off = c->off,
        .ms = 60000};
    struct found f;
    if (memory_search(c->m, a, &s, &f, &e))
        die("search", &e);
    struct judged j = judge(c, a, query, &f.results);
    bool high = relevance_confidence(j.best) == CONFIDENCE_HIGH;
    o->n++;
    o->by[relevance_confidence(j.best)]++;
    o->first += j.first;
    o->first_high += j.first && high;
    size_t got = 0;
    for (size_t i = 0; c->kind == ANSWER && i < f.results.n && i < TOP; i++)
        got += answers(query, a, &f.results.items[i].note);
    c->recall[c->set] += (double)got / (double)relevant;
    c->recall1[c->set] += j.first / (double)relevant;
}

/* Solves the n equations m x = y in place; the result is in y. */
static void solve(double m[FEATURES][FEATURES], double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (k == i)
                continue;
            double f = m[k][i] / m[i][i];
            for (size_t j = i; j < n; j++)
                m[k][j] -= f * m[i][j];
            y[k] -= f * y[i];
        }
    for (size_t i = 0; i < n; i++)
        y[i] /= m[i][i];
}

/* Logistic regression by Newton's method. Both outcomes weigh the same in all. The features of a
 * row are those at `use`. */
static void fit(const struct calibration *c, bool words, const size_t *use, size_t n, double *w)
{
    double count[2] = {0, 0};
    for (size_t i = 0; i < c->n; i++)
        count[c->rows[i].good] += words || !c->rows[i].words;
    memset(w, 0, n * sizeof(*w));
    for (size_t round = 0; round < 25; round++) {
        double m[FEATURES][FEATURES] = {0}, y[FEATURES] = {0};
        for (size_t i = 0; i < c->n; i++) {
            const struct row *r = &c->rows[i];
            double z = 0;
            for (size_t k = 0; k < n; k++)
                z += w[k] * r->x[use[k]];
            double p = 1 / (1 + exp(-z)), weight = 1 / count[r->good];
            if (!words && r->words)
                continue;
            for (size_t k = 0; k < n; k++) {
                y[k] += weight * (r->good - p) * r->x[use[k]];
                for (size_t l = 0; l < n; l++)
                    m[k][l] += weight * p * (1 - p) * r->x[use[k]] * r->x[use[l]];
            }
        }
        for (size_t k = 0; k < n; k++)
            m[k][k] += 1e-9;
        solve(m, y, n);
        for (size_t k = 0; k < n; k++)
            w[k] += y[k];
    }
}

static double percent(size_t part, size_t of)
{
    return of ? 100 * (double)part / (double)of : 0;
}

static void print(const struct calibration *c)
{
    static const size_t all[] = {0, 1, 2, 3}, three[] = {0, 1, 2}, words[] = {0, 2};
    double w[FEATURES];
    fit(c, false, all, 4, w);
    printf("with both    bias %.2f cosine %.2f share %.2f both %.2f\n", w[0], w[1], w[2], w[3]);
    fit(c, false, three, 3, w);
    printf("without both bias %.2f cosine %.2f share %.2f\n", w[0], w[1], w[2]);
    fit(c, true, words, 2, w);
    printf("words alone  bias %.2f share %.2f\n", w[0], w[1]);
    puts("set      queries      n    none     low    high   first: high    R@1   R@10");
    for (size_t s = 0; s < SETS; s++)
        for (size_t k = 0; k < KINDS; k++) {
            const struct outcome *o = &c->outcomes[s][k];
            printf("%-8s %-8s %5zu %6.1f%% %6.1f%% %6.1f%%", sets[s], kinds[k], o->n,
                   percent(o->by[CONFIDENCE_NONE], o->n), percent(o->by[CONFIDENCE_LOW], o->n),
                   percent(o->by[CONFIDENCE_HIGH], o->n));
            if (k == ANSWER)
                printf("  %6.1f%%     %6.1f %6.1f", percent(o->first_high, o->first),
                       100 * c->recall1[s] / (double)o->n, 100 * c->recall[s] / (double)o->n);
            puts("");
        }
}

static struct memory *open_memory(const char *path)
{
    struct fumi_err e = {0};
    const struct store_sqlite_options options = {.path = path, .nosync = true, .log = &quiet};
    struct memory_options o = {.store = store_sqlite_open(&options, &e),
                               .embed = {.provider = FUMI_STR("local")},
                               .log = &quiet};
    struct memory *m = o.store ? memory_open(&o, &e) : NULL;
    if (!m)
        die(path, &e);
    return m;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: calibrate DIRECTORY STORE [QUERIES]\n");
        return 2;
    }
    bool made = access(argv[2], F_OK) == 0;
    struct calibration c = {.dir = argv[1],
                            .most = SIZE_MAX,
                            .lines = getenv("CALIBRATE_LINES"),
                            .off = getenv("CALIBRATE_OFF") ? (unsigned)atoi(getenv("CALIBRATE_OFF"))
                                                           : 0,
                            .m = open_memory(argv[2])};
    for (c.set = 0; c.set < SETS; c.set++) {
        each_line(&c, "docs", learn_space);
        if (!made)
            each_line(&c, "docs", add);
    }
    c.most = argc > 3 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
    for (c.set = 0; c.set < SETS; c.set++)
        for (c.kind = 0; c.kind < KINDS; c.kind++)
            each_line(&c, "queries", ask);
    print(&c);
    memory_close(c.m);
    fumi_arena_done(&c.names);
    fumi_resize(c.rows, 0);
    return 0;
}
