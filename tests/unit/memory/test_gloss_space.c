/* Memories whose local embedder has a dictionary, gets one, and loses it. */
#include "base/clock.h"
#include "embed/model_file.h"
#include "gloss_fixture.h"
#include "memory/memory.h"
#include "model_fixture.h"
#include "store/sqlite.h"

#include <time.h>

enum { PATIENCE_MS = 60000, EMBED_MS = 10000 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct fixture {
    struct fumi_arena a;
    struct fumi_err e;
    struct tiny *t;
    char model[256];
    const char *name; /* of the model */
    int saves;
    struct memory *m;
};

static int save(void *arg, const struct embed_config *now, const struct embed_config *previous,
                struct fumi_err *e)
{
    (void)now, (void)previous, (void)e;
    ((struct fixture *)arg)->saves++;
    return 0;
}

/* Packs a small model and marks it as English. */
static void begin(struct fixture *f)
{
    uint32_t flags = WORDPIECE_CLEAN | WORDPIECE_CJK | WORDPIECE_STRIP | WORDPIECE_LOWER |
                     MODEL_ENGLISH_ONLY;
    *f = (struct fixture){.t = tiny_new()};
    tiny_tfjs(f->t);
    tiny_tokenizer(f->t);
    model_close(tiny_open(f->t, &f->e));
    tiny_path(f->t, "out.fumi", f->model);
    int fd = open(f->model, O_WRONLY);
    if (pwrite(fd, &flags, sizeof(flags), offsetof(struct model_head, flags)) != sizeof(flags))
        abort();
    close(fd);
    f->name = strrchr(f->t->dir, '/') + 1;
}

static void end(struct fixture *f)
{
    memory_close(f->m);
    tiny_free(f->t);
    fumi_arena_done(&f->a);
}

/* Opens the memory again; model NULL: the small one. */
static bool reopen(struct fixture *f, const char *model)
{
    struct fumi_str path = fumi_fmt(&f->a, "%s/memory.db", f->t->dir);
    memory_close(f->m);
    struct memory_options o = {
        .store = store_sqlite_open(&(struct store_sqlite_options){.path = path.p, .log = &quiet},
                                   &f->e),
        .embed = {.provider = FUMI_STR("local"),
                  .model = model ? (struct fumi_str){0} : fumi_str(f->name),
                  .model_file = fumi_str(model ? model : f->model)},
        .log = &quiet,
        .save = save,
        .arg = f,
    };
    f->m = o.store ? memory_open(&o, &f->e) : NULL;
    return f->m;
}

static bool add(struct fixture *f, const char *text)
{
    struct written w = {.pending = false};
    struct note n = {.project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = fumi_str(text)};
    return !memory_add(f->m, &f->a, &n, EMBED_MS, &w, &f->e) && !w.pending;
}

/* The best note by meaning; {0} if there is none. */
static struct result best(struct fixture *f, const char *query)
{
    struct found found;
    struct search q = {.filter = {.project = FUMI_STR("p"), .since = INT64_MIN, .until = INT64_MAX},
                       .query = fumi_str(query),
                       .top = 5,
                       .mode = SEARCH_MEANING,
                       .ms = EMBED_MS};
    if (memory_search(f->m, &f->a, &q, &found, &f->e) || !found.results.n || found.warning.p)
        return (struct result){.score = 0};
    return found.results.items[0];
}

static struct fumi_str serving(struct fixture *f)
{
    struct embedding_progress p;
    return memory_progress(f->m, &f->a, &p, &f->e) ? (struct fumi_str){0} : p.serving;
}

static bool complete(struct fixture *f)
{
    int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 10000000};
    if (memory_start(f->m, &f->e))
        return false;
    while (fumi_ticks() < until && !fumi_eq(serving(f), memory_space(f->m, &f->a)))
        nanosleep(&moment, NULL);
    return fumi_eq(serving(f), memory_space(f->m, &f->a));
}

TEST(glosses_have_a_space_of_their_own)
{
    struct fixture f;
    begin(&f);
    struct fumi_str plain = fumi_fmt(&f.a, "local:%s:%d", f.name, TINY_HIDDEN);
    struct fumi_str glossed = fumi_fmt(&f.a, "local:%s+edict:%d", f.name, TINY_HIDDEN);
    CHECK(reopen(&f, NULL) && add(&f, "挨拶") && add(&f, "run , un i"));
    CHECK_STR(memory_space(f.m, &f.a), plain.p);
    CHECK(best(&f, "hello").meaning < 0.999);

    edict_pack(f.t->dir); /* the dictionary is installed; until all is embedded again, */
    CHECK(reopen(&f, NULL));
    CHECK_STR(memory_space(f.m, &f.a), glossed.p);
    CHECK_STR(serving(&f), plain.p); /* the vectors without glosses answer */
    CHECK_STR(best(&f, "run , un i").note.text, "run , un i");
    CHECK(complete(&f));
    CHECK_STR(best(&f, "hello").note.text, "挨拶");
    CHECK(best(&f, "hello").meaning > 0.999);
    CHECK(reopen(&f, NULL)); /* this is stored */
    CHECK_STR(serving(&f), glossed.p);
    CHECK(best(&f, "hello").meaning > 0.999);
    CHECK_INT(f.saves, 0); /* the configuration is as it was */

    CHECK_INT(unlink(fumi_fmt(&f.a, "%s/" GLOSS_FILE, f.t->dir).p), 0);
    CHECK(reopen(&f, NULL)); /* without the dictionary, the vectors without glosses answer again */
    CHECK_STR(memory_space(f.m, &f.a), plain.p);
    CHECK_STR(serving(&f), plain.p);
    CHECK_STR(best(&f, "run , un i").note.text, "run , un i");
    CHECK(best(&f, "hello").meaning < 0.999);
    end(&f);
}

/* Passages of a long Japanese text are parts of the original, and none has more tokens than fit. */
TEST(passages_are_parts_of_the_original)
{
    struct fixture f;
    struct fumi_buf text = {0};
    begin(&f);
    edict_pack(f.t->dir);
    CHECK(reopen(&f, NULL));
    for (int i = 0; i < 60; i++)
        say(&text, "人は世界%d。", i);
    say(&text, "終わりに挨拶を");
    fumi_buf_put(&text, 0);
    CHECK(add(&f, text.p));
    struct result r = best(&f, "hello");
    CHECK(r.end <= text.n && r.begin < r.end && r.end - r.begin < text.n / 2);
    CHECK(((unsigned char)text.p[r.begin] & 0xC0) != 0x80);
    CHECK(r.end == text.n - 1 || ((unsigned char)text.p[r.end] & 0xC0) != 0x80);
    fumi_buf_done(&text);
    end(&f);
}

/* With the published model and the real dictionary, where these are built. */
TEST(japanese_and_english_find_each_other)
{
    struct fixture f;
    begin(&f);
    if (access(SHARE "/fumi-minilm.bin", R_OK) || access(SHARE "/" GLOSS_FILE, R_OK)) {
        fprintf(stderr, "skipped: " SHARE " lacks the model or the dictionary\n");
        end(&f);
        return;
    }
    CHECK(reopen(&f, SHARE "/fumi-minilm.bin"));
    CHECK_STR(memory_space(f.m, &f.a), "local:all-MiniLM-L6-v2+edict:384");
    CHECK(add(&f, "The cat sleeps on the sofa.") && add(&f, "飛行機が空港に着陸しました。"));
    CHECK(add(&f, "We drink green tea in the morning.") && add(&f, "医者が病院で患者を診察した。"));
    CHECK_STR(best(&f, "朝にお茶を飲む").note.text, "We drink green tea in the morning.");
    CHECK_STR(best(&f, "猫が寝ている").note.text, "The cat sleeps on the sofa.");
    CHECK_STR(best(&f, "the airplane landed").note.text, "飛行機が空港に着陸しました。");
    CHECK_STR(best(&f, "a doctor examines a patient").note.text, "医者が病院で患者を診察した。");
    end(&f);
}
