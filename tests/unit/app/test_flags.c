#include "test.h"

#include "app/flags.h"
#include "base/utf8.h"
#include "net/serve.h"

enum { WORDS = 24 };

static const char *no_vowels(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr("aeiou", s.p[i]))
            return "must have no vowels";
    return NULL;
}

/* A member of each type, used together with the settings of a server. */
struct extra {
    struct fumi_str name;
    double share;
    int mode;
    struct fumi_json about;
    struct fumi_strs tags;
    bool very_loud_noise;
    int64_t wait_time;
};

static const char *const modes[] = {"slow", "fast", NULL};
static const struct fumi_field extra_fields[] = {
    FUMI_FIELD(struct extra, name, "name", "Whom to greet.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct extra, share, "share", "A part of it.", .min = 0, .max = 1, .def = "0.5"),
    FUMI_FIELD(struct extra, mode, "mode", "How.", .choices = modes, .def = "\"fast\""),
    FUMI_FIELD(struct extra, about, "about", "Anything.", .flags = FUMI_OBJECT_ONLY),
    FUMI_FIELD(struct extra, tags, "tags", "A word.", .max = 3, .check = no_vowels),
    FUMI_FIELD(struct extra, very_loud_noise, "veryLoudNoise", "Shouts."),
    FUMI_FIELD(struct extra, wait_time, "waitTime", "Milliseconds to wait.", .def = "7"),
};
static const struct fumi_shape extra_shape = FUMI_SHAPE(struct extra, extra_fields);

/* A parsed command line. */
struct run {
    struct fumi_arena a;
    struct fumi_settings settings;
    struct extra extra;
    struct fumi_strs words;
    struct fumi_err e;
    int rc;
};

/* Arguments are separated by '~'. They are freed after the call, so the result must not point to
 * them. */
static void run_sets(struct run *r, const char *line, const struct flag_set *sets, size_t n)
{
    char *text = strdup(line), *rest = text, *argv[WORDS] = {text}, *program = strdup("program");
    size_t count = 1;
    argv[0] = program;
    while (rest && *rest && count < WORDS - 1)
        argv[count++] = strsep(&rest, "~");
    r->rc = flags_parse(&r->a, &(struct flag_table){.sets = sets, .n = n}, argv, &r->words, &r->e);
    free(text);
    free(program);
}

static void run(struct run *r, const char *line)
{
    *r = (struct run){0};
    run_sets(r, line, &(struct flag_set){.shape = &fumi_settings_shape, .into = &r->settings}, 1);
}

static void run_both(struct run *r, const char *line)
{
    *r = (struct run){0};
    struct flag_set sets[] = {{.shape = &fumi_settings_shape, .into = &r->settings},
                              {.shape = &extra_shape, .into = &r->extra}};
    run_sets(r, line, sets, 2);
}

static struct fumi_str joined(struct run *r, const struct fumi_strs *list)
{
    struct fumi_str all = FUMI_STR("");
    for (size_t i = 0; i < list->n; i++)
        all = fumi_fmt(&r->a, "%.*s%s%.*s", FUMI_ARG(all), i ? "," : "", FUMI_ARG(list->items[i]));
    return all;
}

TEST(shape_of_settings_is_valid)
{
    struct fumi_err e = {0};
    CHECK_INT(fumi_shape_check(&fumi_settings_shape, "settings", &e), 0);
    CHECK_INT(fumi_shape_check(&extra_shape, "extra", &e), 0);
}

TEST(nothing_given_means_defaults)
{
    struct run r;
    run(&r, "");
    CHECK_INT(r.rc, 0);
    const struct fumi_settings *s = &r.settings;
    CHECK_INT(s->listen.n + s->origins.n + s->hosts.n + r.words.n, 0);
    CHECK(!s->token.p && !s->directory.p && !s->allow_remote && !s->access_log);
    CHECK_INT(s->auth, FUMI_AUTH_SAME_USER);
    const int64_t got[] = {s->threads,   s->workers,   s->drain,      s->connections,
                           s->queue,     s->rate,      s->head_time,  s->body_time,
                           s->idle_time, s->ping_time, s->write_time, s->unsent};
    const int64_t want[] = {1, 16, 0, 1024, 1024, 0, 10000, 30000, 75000, 30000, 30000, 16 << 20};
    for (size_t i = 0; i < FUMI_COUNT(got); i++)
        if (got[i] != want[i])
            TEST_FAIL("default %zu is %" PRId64, i, got[i]);
    fumi_arena_done(&r.a);
}

TEST(all_ways_to_write_a_flag)
{
    static const char *const lines[] = {
        "--idle-time~500", "--idle-time=500", "-idle-time~500", "-idle-time=500", "--idle-time=5e2",
    };
    for (size_t i = 0; i < FUMI_COUNT(lines); i++) {
        struct run r;
        run(&r, lines[i]);
        if (r.rc || r.settings.idle_time != 500 || r.words.n)
            TEST_FAIL("%s: %s", lines[i], r.e.text);
        fumi_arena_done(&r.a);
    }
}

TEST(every_setting_has_a_flag)
{
    struct run r;
    run(&r, "--listen~stdio~--threads=2~--workers=3~--drain=4~--auth=none~"
            "--token=0123456789abcdef~--directory=d~--origins=https://x~--hosts=h~--allow-remote~"
            "--connections=5~--queue=6~--rate=7~--head-time=8~--body-time=9~--idle-time=10");
    CHECK_INT(r.rc, 0);
    const struct fumi_settings *s = &r.settings;
    CHECK_STR(joined(&r, &s->listen), "stdio");
    CHECK_STR(joined(&r, &s->origins), "https://x");
    CHECK_STR(joined(&r, &s->hosts), "h");
    CHECK_STR(s->token, "0123456789abcdef");
    CHECK_STR(s->directory, "d");
    CHECK_INT(s->auth, FUMI_AUTH_NONE);
    CHECK(s->allow_remote && !s->access_log);
    const int64_t got[] = {s->threads, s->workers,   s->drain,     s->connections, s->queue,
                           s->rate,    s->head_time, s->body_time, s->idle_time};
    for (size_t i = 0; i < FUMI_COUNT(got); i++)
        if (got[i] != (int64_t)i + 2)
            TEST_FAIL("number %zu is %" PRId64, i, got[i]);
    fumi_arena_done(&r.a);
    run(&r, "--write-time=11~--ping-time=12~--unsent=8192~--access-log~--auth=token");
    CHECK_INT(r.rc, 0);
    CHECK_INT(r.settings.write_time, 11);
    CHECK_INT(r.settings.ping_time, 12);
    CHECK_INT(r.settings.unsent, 8192);
    CHECK_INT(r.settings.auth, FUMI_AUTH_TOKEN);
    CHECK(r.settings.access_log);
    fumi_arena_done(&r.a);
}

TEST(bools_need_no_value)
{
    static const struct {
        const char *line;
        bool log;
        const char *words;
    } rows[] = {
        {"--access-log", true, ""},        {"--access-log=true", true, ""},
        {"--access-log=false", false, ""}, {"--access-log~false", true, "false"},
        {"-access-log~--", true, ""},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct run r;
        run(&r, rows[i].line);
        struct fumi_str words = joined(&r, &r.words);
        if (r.rc || r.settings.access_log != rows[i].log ||
            !fumi_eq(words, fumi_str(rows[i].words)))
            TEST_FAIL("%s: %s, words %.*s", rows[i].line, r.e.text, FUMI_ARG(words));
        fumi_arena_done(&r.a);
    }
}

TEST(arguments_and_flags_in_any_order)
{
    static const struct {
        const char *line, *words;
        int64_t threads;
    } rows[] = {
        {"serve~--threads~2~now", "serve,now", 2},
        {"a~-~b", "a,-,b", 1},
        {"--~--threads~2", "--threads,2", 1},
        {"a~--~--~-x", "a,--,-x", 1},
        {"--threads=2~--~", "", 2},
        {"\303\244rger~--threads=3", "\303\244rger", 3},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct run r;
        run(&r, rows[i].line);
        struct fumi_str words = joined(&r, &r.words);
        if (r.rc || r.settings.threads != rows[i].threads ||
            !fumi_eq(words, fumi_str(rows[i].words)))
            TEST_FAIL("%s: %s, words %.*s", rows[i].line, r.e.text, FUMI_ARG(words));
        fumi_arena_done(&r.a);
    }
}

TEST(lists_are_flags_given_several_times)
{
    struct run r;
    run(&r, "--listen~stdio~--hosts=a~--listen=unix:x=y~-listen~tcp:127.0.0.1:0");
    CHECK_INT(r.rc, 0);
    CHECK_STR(joined(&r, &r.settings.listen), "stdio,unix:x=y,tcp:127.0.0.1:0");
    CHECK_STR(joined(&r, &r.settings.hosts), "a");
    fumi_arena_done(&r.a);
}

TEST(strings_are_taken_as_they_are)
{
    static const struct {
        const char *line, *directory;
    } rows[] = {
        {"--directory=a \"b\" \\c\t\n", "a \"b\" \\c\t\n"},
        {"--directory~-dash", "-dash"},
        {"--directory~--two-dashes", "--two-dashes"},
        {"--directory=--threads", "--threads"},
        {"--directory~\346\227\245\346\234\254", "\346\227\245\346\234\254"},
        {"--directory=null", "null"},
        {"--directory~=x", "=x"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct run r;
        run(&r, rows[i].line);
        if (r.rc || !fumi_eq(r.settings.directory, fumi_str(rows[i].directory)))
            TEST_FAIL("%s: %s", rows[i].line, r.e.text);
        fumi_arena_done(&r.a);
    }
}

TEST(several_sets_and_every_type)
{
    struct run r;
    run_both(&r, "--name~Ann~--threads=3~--share=0.25~--mode=slow~--about={\"a\": [1, 2]}~"
                 "--very-loud-noise~--tags~x~--tags~y~go");
    CHECK_INT(r.rc, 0);
    CHECK_INT(r.settings.threads, 3);
    CHECK_STR(r.extra.name, "Ann");
    CHECK(r.extra.share == 0.25 && r.extra.very_loud_noise);
    CHECK_INT(r.extra.mode, 0);
    CHECK_STR(r.extra.about.text, "{\"a\":[1,2]}");
    CHECK_STR(joined(&r, &r.extra.tags), "x,y");
    CHECK_INT(r.extra.wait_time, 7);
    CHECK_STR(joined(&r, &r.words), "go");
    fumi_arena_done(&r.a);
}

/* Invalid command lines and their error messages. */
static const struct {
    const char *line, *text;
} refused[] = {
    {"--name=x~--threads=0", "--threads must be 1 to 256"},
    {"--name=x~--threads~-5", "--threads must be 1 to 256"},
    {"--name=x~--threads=many", "--threads must be an integer"},
    {"--name=x~--threads=1.5", "--threads must be an integer"},
    {"--name=x~--threads=0x10", "--threads must be an integer"},
    {"--name=x~--threads=true", "--threads must be an integer"},
    {"--name=x~--threads=", "--threads must be an integer"},
    {"--name=x~--threads=99999999999999999999", "--threads must be an integer of at most 64 bits"},
    {"--name=x~--head-time=0", "--head-time must be 1 to 86400000"},
    {"--name=x~--auth=maybe", "--auth must be one of same-user, token, none"},
    {"--name=x~--token=short", "--token must have 16 to 512 characters"},
    {"--name=x~--directory=", "--directory must have 1 to 3500 characters"},
    {"--name=x~--share=2", "--share must be 0 to 1"},
    {"--name=x~--share=none", "--share must be a number"},
    {"--name=x~--about=[1]", "--about must be an object"},
    {"--name=x~--about={", "--about must be an object"},
    {"--name=x~--access-log=yes", "--access-log must be true or false"},
    {"--name=x~--access-log=", "--access-log must be true or false"},
    {"--name=x~--tags=b~--tags=a", "--tags a must have no vowels"},
    {"--name=x~--tags=b~--tags=b~--tags=b~--tags=b", "--tags must have at most 3 items"},
    {"--threads=2", "--name is required"},
    {"--name=", "--name is required"},
    {"--name=x~--threads", "--threads needs a value"},
    {"--name=x~--token~--threads~2",
     "--token needs a value; write --token=VALUE if the value is the name of a flag"},
    {"--name~-threads=2",
     "--name needs a value; write --name=VALUE if the value is the name of a flag"},
    {"--name=x~--threads=1~--threads=2", "--threads is given twice"},
    {"--name=x~--access-log~--access-log=false", "--access-log is given twice"},
    {"--name=x~--treads=2", "unknown flag --treads; did you mean --threads?"},
    {"--name=x~-idleTime=2", "unknown flag -idleTime; did you mean --idle-time?"},
    {"--name=x~--very-loud-nose", "unknown flag --very-loud-nose; did you mean --very-loud-noise?"},
    {"--name=x~--tokn=secret", "unknown flag --tokn; did you mean --token?"},
    {"--name=x~--xyzzy", "unknown flag --xyzzy; --help lists all flags"},
    {"--name=x~--=5", "unknown flag --; --help lists all flags"},
    {"--name=x~-5", "unknown flag -5; --help lists all flags"},
    {"--name=x~--\033[2J\377", "unknown flag --?[2J?; --help lists all flags"},
    {"--name=x\377", "--name must be UTF-8 text"},
    {"--name~\300\200", "--name must be UTF-8 text"},
    {"--name=x~--hosts=\355\240\200", "--hosts must be UTF-8 text"},
    {"--name=x~w\377rd", "the argument w?rd must be UTF-8 text"},
    {"--name=x~--~\377", "the argument ? must be UTF-8 text"},
};

TEST(errors_name_flag_and_remedy)
{
    for (size_t i = 0; i < FUMI_COUNT(refused); i++) {
        struct run r;
        run_both(&r, refused[i].line);
        if (r.rc != -1 || r.e.code != FUMI_INVALID_PARAMS || strcmp(r.e.text, refused[i].text) != 0)
            TEST_FAIL("%s:\n   got %d %s\n  want %s", refused[i].line, r.rc, r.e.text,
                      refused[i].text);
        fumi_arena_done(&r.a);
    }
}

TEST(a_very_long_flag_is_refused_briefly)
{
    char line[5000];
    memset(line, 'a', sizeof(line));
    memcpy(line, "--", 2);
    line[sizeof(line) - 1] = '\0';
    struct run r;
    run(&r, line);
    CHECK_INT(r.rc, -1);
    CHECK(strstr(r.e.text, "; --help lists"));
    fumi_arena_done(&r.a);
}

TEST(empty_argv)
{
    struct run r = {0};
    struct flag_set set = {.shape = &fumi_settings_shape, .into = &r.settings};
    char *none[] = {NULL};
    CHECK_INT(flags_parse(&r.a, &(struct flag_table){.sets = &set, .n = 1}, none, &r.words, &r.e),
              0);
    CHECK_INT(r.settings.threads, 1);
    CHECK_INT(r.words.n, 0);
    fumi_arena_done(&r.a);
}

TEST(help_lists_every_flag)
{
    struct fumi_buf out = {0};
    struct flag_set sets[] = {{.shape = &extra_shape, .into = NULL}};
    flags_explain(&(struct flag_table){.sets = sets, .n = 1}, &out, 78);
    CHECK_STR(fumi_buf_str(&out),
              "  --name TEXT               Whom to greet (required)\n"
              "  --share NUMBER            A part of it (default 0.5)\n"
              "  --mode slow|fast          How (default fast)\n"
              "  --about JSON              Anything\n"
              "  --tags TEXT               A word (may be given several times)\n"
              "  --very-loud-noise         Shouts\n"
              "  --wait-time MS            Milliseconds to wait (default 7)\n");
    fumi_buf_done(&out);
}

TEST(help_of_the_settings_fits_a_terminal)
{
    struct fumi_buf out = {0};
    struct flag_set sets[] = {{.shape = &fumi_settings_shape, .into = NULL}};
    flags_explain(&(struct flag_table){.sets = sets, .n = 1}, &out, 78);
    size_t column = 0, widest = 0;
    for (size_t i = 0; i < out.n; i++) {
        column = out.p[i] == '\n' ? 0 : column + 1;
        widest = column > widest ? column : widest;
    }
    CHECK(widest <= 80);
    fumi_buf_done(&out);
}

static const struct flag_alias short_names[] = {{"n", "name"}, {"w", "wait-time"}, {NULL, NULL}};

TEST(aliases_are_accepted)
{
    char *argv[] = {(char *)"program", (char *)"-w",    (char *)"3",
                    (char *)"word",    (char *)"-n=me", NULL};
    struct run r = {0};
    struct flag_set set = {.shape = &extra_shape, .into = &r.extra};
    struct flag_table t = {.sets = &set, .n = 1, .aliases = short_names};
    CHECK_INT(flags_parse(&r.a, &t, argv, &r.words, &r.e), 0);
    CHECK_INT(r.extra.wait_time, 3);
    CHECK_STR(r.extra.name, "me");
    CHECK_STR(joined(&r, &r.words), "word");
    argv[2] =
        (char *)"-n"; /* the name of a flag is not accepted as a value, not even a short one */
    CHECK_INT(flags_parse(&r.a, &t, argv, &r.words, &r.e), -1);
    CHECK(strstr(r.e.text, "--wait-time needs a value"));
    fumi_arena_done(&r.a);
}

TEST(aliases_are_shown)
{
    struct flag_set set = {.shape = &extra_shape, .into = NULL};
    struct flag_table t = {.sets = &set, .n = 1, .aliases = short_names};
    struct fumi_buf out = {0};
    flags_explain(&t, &out, 78);
    fumi_buf_put(&out, '\0');
    CHECK(strstr(out.p, "  -n, --name TEXT "));
    CHECK(strstr(out.p, "\n  --share NUMBER "));
    fumi_buf_done(&out);
}

/* Nothing is checked: neither required flags, nor limits, nor types. */
TEST(a_set_that_is_not_bound_becomes_json)
{
    static const struct {
        const char *words[6], *json;
    } rows[] = {
        {{NULL}, "{}"},
        {{"--share", "7", "--mode", "odd"}, "{\"share\":7,\"mode\":\"odd\"}"},
        {{"--tags", "a", "--tags=b", "--very-loud-noise"},
         "{\"tags\":[\"a\",\"b\"],\"veryLoudNoise\":true}"},
        {{"--about", "{\"x\": [1.50]}"}, "{\"about\":{\"x\":[1.50]}}"},
        {{"--about=plain", "--wait-time=soon"}, "{\"about\":\"plain\",\"waitTime\":\"soon\"}"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        char *argv[8] = {(char *)"program"};
        struct run r = {0};
        struct fumi_json json = {{0}};
        struct flag_set set = {.shape = &extra_shape, .into = NULL};
        struct flag_table t = {.sets = &set, .n = 1, .unbound = &json};
        for (size_t k = 0; k < 6 && rows[i].words[k]; k++)
            argv[k + 1] = (char *)rows[i].words[k];
        if (flags_parse(&r.a, &t, argv, &r.words, &r.e) ||
            !fumi_eq(json.text, fumi_str(rows[i].json)))
            TEST_FAIL("%s: %.*s %s", rows[i].json, FUMI_ARG(json.text), r.e.text);
        fumi_arena_done(&r.a);
    }
}
