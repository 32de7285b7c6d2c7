#include "test.h"

#include "app/config.h"
#include "app/files.h"
#include "model/secrets.h"
#include "store/postgres.h"
#include "json/json.h"

#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A temporary home directory, without the variables of fumi. */
struct fixture {
    char home[64];
    struct fumi_arena a;
    struct config c;
    struct config_overrides w;
    struct fumi_err e;
    int rc;
};

static const char *const variables[] = {
    "FUMI_EMBEDDER_ALLOWED_HOSTS",
    "FUMI_CONFIG",
    "FUMI_DATA_DIR",
    "FUMI_STORE_PATH",
    "FUMI_STORE_TYPE",
    "FUMI_EMBEDDER_PROVIDER",
    "FUMI_EMBEDDER_MODEL",
    "FUMI_EMBEDDER_DIM",
    "FUMI_EMBEDDER_API_KEY",
    "FUMI_EMBEDDER_BASE_URL",
    "FUMI_HTTP_LISTEN",
    "FUMI_HTTP_IDLE_TIME",
    "FUMI_HTTP_ACCESS_LOG",
    "FUMI_DEFAULT_TRANSPORT",
    "FUMI_FREEZE_CONFIG",
    "OPENAI_API_KEY",
    "OLLAMA_HOST",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
};

static void begin(struct fixture *s)
{
    *s = (struct fixture){.home = "/tmp/fumi-config-XXXXXX"};
    for (size_t i = 0; i < FUMI_COUNT(variables); i++)
        unsetenv(variables[i]);
    if (!mkdtemp(s->home))
        abort();
    setenv("HOME", s->home, 1);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void end(struct fixture *s)
{
    nftw(s->home, drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&s->a);
}

static void load(struct fixture *s)
{
    s->e = (struct fumi_err){0};
    s->rc = config_load(&s->c, &s->a, &s->w, &s->e);
}

static struct fumi_str in_home(struct fixture *s, const char *name)
{
    return files_join(&s->a, fumi_str(s->home), name);
}

static void put(struct fixture *s, const char *name, const char *text)
{
    struct fumi_err e;
    if (files_write(in_home(s, name), fumi_str(text), &e))
        TEST_FAIL("%s: %s", name, e.text);
}

static const char *const ours = ".config/fumi/config.json";
static const char *const theirs = ".local-mcp-memory/config.json";

static struct fumi_str read_back(struct fixture *s, const char *name)
{
    struct file_text t = {0};
    if (files_read(&s->a, in_home(s, name), 1 << 20, &t, &s->e))
        TEST_FAIL("%s: %s", name, s->e.text);
    return t.text;
}

static bool has(struct fumi_str text, const char *part)
{
    return text.p && memmem(text.p, text.n, part, strlen(part));
}

static int save(struct fixture *s, const struct embed_config *now,
                const struct embed_config *before)
{
    const struct embed_config none = {.dim = 0};
    s->e = (struct fumi_err){0};
    return config_save(&s->w, now, before ? before : &none, &s->e);
}

TEST(shapes_are_valid)
{
    struct config_section all[CONFIG_SECTIONS];
    struct fumi_err e;
    config_sections(all);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++)
        if (fumi_shape_check(&all[i].shape, all[i].name, &e))
            TEST_FAIL("%s", e.text);
}

TEST(no_file_means_defaults)
{
    struct fixture s;
    begin(&s);
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.embedder.set.provider, "local");
    CHECK(!s.c.embedder.set.model.p && !s.c.embedder.set.api_key.p && !s.c.previous.set.provider.p);
    CHECK_INT(s.c.embedder.set.dim, 0);
    CHECK_STR(s.c.store.type, "sqlite");
    CHECK_STR(s.c.store.path, in_home(&s, ".local/share/fumi/memory.db").p);
    CHECK_STR(s.c.paths.data_dir, in_home(&s, ".local/share/fumi").p);
    CHECK_STR(s.c.paths.config_path, in_home(&s, ours).p);
    CHECK_INT(s.c.transport.kind, CONFIG_STDIO);
    CHECK_INT(s.c.http.set.workers, 16);
    CHECK(!s.c.source.p && !s.c.warnings.n && !s.c.safety.memory.frozen);
    CHECK_INT(s.c.safety.memory.secrets, SECRETS_MASK);
    CHECK(access(in_home(&s, ".config").p, F_OK) != 0);
    end(&s);
}

TEST(a_file_is_merged_over_defaults)
{
    struct fixture s;
    begin(&s);
    put(&s, ours,
        "{\"embedder\":{\"provider\":\"ollama\",\"model\":\"nomic:v1.5\",\"dim\":768,"
        "\"baseUrl\":null},\"http\":{\"idleTime\":500,\"origins\":[\"https://a.example\"]},"
        "\"transportDefaults\":{\"defaultTransport\":\"http\"}}");
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.embedder.set.provider, "ollama");
    CHECK_STR(s.c.embedder.set.model, "nomic:v1.5");
    CHECK_INT(s.c.embedder.set.dim, 768);
    CHECK(!s.c.embedder.set.base_url.p);
    CHECK_STR(s.c.store.type, "sqlite");
    CHECK_STR(s.c.store.path, in_home(&s, ".local/share/fumi/memory.db").p);
    CHECK_INT(s.c.http.set.idle_time, 500);
    CHECK_INT(s.c.http.set.body_time, 30000);
    CHECK_STR(s.c.http.set.origins.items[0], "https://a.example");
    CHECK_INT(s.c.transport.kind, CONFIG_HTTP);
    end(&s);
}

TEST(home_is_expanded_and_relative_paths_begin_at_the_file)
{
    struct fixture s;
    begin(&s);
    put(&s, ours,
        "{\"store\":{\"path\":\"~/x/y.db\"},\"paths\":{\"dataDir\":\"data\"},"
        "\"embedder\":{\"modelFile\":\"../m.bin\"}}");
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.store.path, in_home(&s, "x/y.db").p);
    CHECK_STR(s.c.paths.data_dir, in_home(&s, ".config/fumi/data").p);
    CHECK_STR(s.c.embedder.set.model_file, in_home(&s, ".config/fumi/../m.bin").p);
    end(&s);
}

TEST(xdg_directories_are_used_when_absolute)
{
    struct fixture s;
    begin(&s);
    setenv("XDG_CONFIG_HOME", in_home(&s, "c").p, 1);
    setenv("XDG_DATA_HOME", "relative", 1);
    load(&s);
    CHECK_STR(s.c.paths.config_path, in_home(&s, "c/fumi/config.json").p);
    CHECK_STR(s.c.paths.data_dir, in_home(&s, ".local/share/fumi").p);
    end(&s);
}

TEST(environment_overrides_the_file)
{
    struct fixture s;
    begin(&s);
    put(&s, ours,
        "{\"embedder\":{\"provider\":\"openai\",\"model\":\"a\",\"dim\":5,\"apiKey\":\"file\"},"
        "\"store\":{\"path\":\"/f.db\"},\"http\":{\"idleTime\":5}}");
    setenv("FUMI_EMBEDDER_MODEL", "b", 1);
    setenv("FUMI_EMBEDDER_DIM", "7", 1);
    setenv("FUMI_STORE_PATH", "~/e.db", 1);
    setenv("FUMI_HTTP_IDLE_TIME", "77", 1);
    setenv("FUMI_HTTP_LISTEN", "tcp:127.0.0.1:1,unix:/x", 1);
    setenv("FUMI_HTTP_ACCESS_LOG", "1", 1);
    setenv("FUMI_DEFAULT_TRANSPORT", "http", 1);
    setenv("FUMI_FREEZE_CONFIG", "true", 1);
    setenv("FUMI_SECRETS", "refuse", 1);
    setenv("OPENAI_API_KEY", "environment", 1);
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.embedder.set.provider, "openai");
    CHECK_STR(s.c.embedder.set.model, "b");
    CHECK_INT(s.c.embedder.set.dim, 7);
    CHECK_STR(s.c.embedder.set.api_key, "environment");
    CHECK_STR(s.c.openai_key, "environment");
    CHECK_STR(s.c.store.path, in_home(&s, "e.db").p);
    CHECK_INT(s.c.http.set.idle_time, 77);
    CHECK_INT(s.c.http.set.listen.n, 2);
    CHECK_STR(s.c.http.set.listen.items[1], "unix:/x");
    CHECK(s.c.http.set.access_log && s.c.safety.memory.frozen);
    CHECK_INT(s.c.safety.memory.secrets, SECRETS_REFUSE);
    CHECK_INT(s.c.transport.kind, CONFIG_HTTP);
    setenv("FUMI_EMBEDDER_API_KEY", "ours", 1);
    load(&s);
    CHECK_STR(s.c.embedder.set.api_key, "ours");
    end(&s);
}

/* OPENAI_API_KEY must be sent to OpenAI only. */
TEST(openai_key_goes_to_openai_only)
{
    static const struct {
        const char *provider, *url, *key;
    } rows[] = {
        {"openai", NULL, "k"},
        {"openai", "https://api.openai.com/v1", "k"},
        {"openai", "https://api.openai.com.evil.example/v1", NULL},
        {"openai", "http://127.0.0.1:1/v1", NULL},
        {"ollama", NULL, NULL},
        {"local", NULL, NULL},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        begin(&s);
        setenv("OPENAI_API_KEY", "k", 1);
        setenv("FUMI_EMBEDDER_PROVIDER", rows[i].provider, 1);
        if (rows[i].url)
            setenv("FUMI_EMBEDDER_BASE_URL", rows[i].url, 1);
        load(&s);
        if (s.rc || !s.c.embedder.set.api_key.p != !rows[i].key)
            TEST_FAIL("row %zu", i);
        end(&s);
    }
}

TEST(ollama_host_is_its_address)
{
    static const struct {
        const char *host, *url;
    } rows[] = {
        {"127.0.0.1:11434", "http://127.0.0.1:11434"},
        {"box", "http://box:11434"},
        {"http://box:9", "http://box:9"},
        {"https://box", "https://box"},
        {"0.0.0.0", "http://127.0.0.1:11434"},
        {"0.0.0.0:5", "http://127.0.0.1:5"},
        {"[::1]", "http://[::1]:11434"},
        {"[::1]:7", "http://[::1]:7"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        begin(&s);
        setenv("OLLAMA_HOST", rows[i].host, 1);
        setenv("FUMI_EMBEDDER_PROVIDER", "ollama", 1);
        load(&s);
        if (s.rc || !fumi_eq(s.c.embedder.set.base_url, fumi_str(rows[i].url)))
            TEST_FAIL("%s: %.*s", rows[i].host, FUMI_ARG(s.c.embedder.set.base_url));
        end(&s);
    }
}

TEST(flags_override_the_environment)
{
    struct fixture s;
    begin(&s);
    setenv("FUMI_CONFIG", "/nowhere/c.json", 1);
    setenv("FUMI_STORE_PATH", "/e.db", 1);
    s.w.data_dir = in_home(&s, "d");
    put(&s, "d/config.json", "{\"store\":{\"path\":\"/file.db\"}}");
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.source, in_home(&s, "d/config.json").p);
    CHECK_STR(s.c.paths.data_dir, in_home(&s, "d").p);
    CHECK_STR(s.c.store.path, in_home(&s, "d/memory.db").p);
    s.w.db = FUMI_STR("~/b.db");
    s.w.config = in_home(&s, "other.json");
    s.w.freeze = true;
    s.w.secrets = 1 + SECRETS_ALLOW;
    load(&s);
    CHECK_STR(s.c.store.path, in_home(&s, "b.db").p);
    CHECK_STR(s.c.paths.config_path, in_home(&s, "other.json").p);
    CHECK(s.c.safety.memory.frozen && !s.c.source.p);
    CHECK_INT(s.c.safety.memory.secrets, SECRETS_ALLOW);
    end(&s);
}

TEST(variables_for_the_directory_and_the_file)
{
    struct fixture s;
    begin(&s);
    setenv("FUMI_DATA_DIR", "~/d", 1);
    load(&s);
    CHECK_STR(s.c.paths.config_path, in_home(&s, "d/config.json").p);
    CHECK_STR(s.c.store.path, in_home(&s, "d/memory.db").p);
    setenv("FUMI_CONFIG", "~/c.json", 1);
    load(&s);
    CHECK_STR(s.c.paths.config_path, in_home(&s, "c.json").p);
    CHECK_STR(s.c.store.path, in_home(&s, "d/memory.db").p);
    end(&s);
}

TEST(file_of_local_mcp_memory_is_used_without_our_own)
{
    struct fixture s;
    begin(&s);
    put(&s, theirs,
        "{\"transportDefaults\":{\"defaultTransport\":\"http\"},\"embedder\":{\"provider\":"
        "\"openai\",\"model\":\"text-embedding-3-small\",\"dim\":0,\"baseUrl\":\"\"},"
        "\"store\":{\"type\":\"chroma\",\"path\":\"/theirs.db\"},\"paths\":{\"dataDir\":\"/t\"},"
        "\"odd\":1}");
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK(s.c.foreign);
    CHECK_STR(s.c.embedder.set.provider, "openai");
    CHECK_INT(s.c.transport.kind, CONFIG_HTTP);
    CHECK_STR(s.c.store.type, "sqlite");
    CHECK_STR(s.c.store.path, in_home(&s, ".local/share/fumi/memory.db").p);
    CHECK_STR(s.c.paths.config_path, in_home(&s, ours).p);
    put(&s, ours, "{}");
    load(&s);
    CHECK(!s.c.foreign);
    CHECK_STR(s.c.embedder.set.provider, "local");
    CHECK_INT(unlink(in_home(&s, ours).p), 0);
    s.w.data_dir = in_home(&s, "d"); /* with --data-dir the file is not used */
    load(&s);
    CHECK_STR(s.c.embedder.set.provider, "local");
    end(&s);
}

TEST(an_address_is_shown_without_its_password)
{
    static const char *const rows[][2] = {
        {"postgres://h/d", "postgres://h/d"},
        {"postgres://u@h/d", "postgres://u@h/d"},
        {"postgres://u:p%40w@h:5432/d?x=y", "postgres://u@h:5432/d?x=y"},
        {"postgresql://u:a@b:c@h", "postgresql://u@h"},
        {"postgres:///d?password=secret&user=u", "postgres:///d?password=&user=u"},
        {"postgres:///d?user=u&password=secret", "postgres:///d?user=u&password="},
        {"postgres://h:5432/d?options=a@b", "postgres://h:5432/d?options=a@b"},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_STR(store_postgres_shown(&a, fumi_str(rows[i][0])), rows[i][1]);
        CHECK_INT(store_postgres_secret(fumi_str(rows[i][0])), strcmp(rows[i][0], rows[i][1]) != 0);
    }
    CHECK(!store_postgres_shown(&a, (struct fumi_str){0}).p);
    fumi_arena_done(&a);
}

TEST(errors_name_line_and_setting)
{
    static const struct {
        const char *text, *parts[3];
    } rows[] = {
        {"{\n\"embedder\": {\n\"dim\": \"x\"}}",
         {"config.json: line 3: ", "embedder.dim", "integer"}},
        {"{\n\n{}", {"line 3"}},
        {"{\"embedder\":[]}", {"line 1: embedder must be an object"}},
        {"[]", {"must contain an object"}},
        {"7", {"must contain an object"}},
        {"{\"store\":{\"type\":\"qdrant\"}}", {"store.type qdrant", "sqlite"}},
        {"{\"store\":{\"type\":\"volatile\"}}", {"volatile"}},
        {"{\"store\":{\"type\":\"postgres\"}}", {"store.url", "postgres://"}},
        {"{\"store\":{\"url\":\"http://x\"}}", {"store.url", "postgres://"}},
        {"{\"transportDefaults\":{\"defaultTransport\":\"tcp\"}}",
         {"transportDefaults.defaultTransport", "stdio, http"}},
        {"{\"embedder\":{\"model\":\"a\",\"model\":\"b\"}}", {"embedder.model is given twice"}},
        {"{\n\"embedder\":{\"provider\":\"local\",\n\"baseUrl\":\"file:///etc/passwd\"}}",
         {"config.json: line 3: ", "embedder.baseUrl must begin with http:// or https://"}},
        {"{\"embedder\":{\"baseUrl\":\"http://u:p@localhost\"}}",
         {"line 1: embedder.baseUrl must not contain a user or a password"}},
        {"{\"embedder\":{\"baseUrl\":\"http://localhost/\\nX: y\"}}",
         {"line 1: embedder.baseUrl must not contain blanks or control characters"}},
        {"{\"previousEmbedder\":{\"baseUrl\":\"ftp://x\"}}",
         {"line 1: previousEmbedder.baseUrl must begin"}},
        {"{\"embedder\":{\"allowedHosts\":[\"a\",\"http://b\"]}}",
         {"embedder.allowedHosts[1] must be HOST or HOST:PORT"}},
        {"{\"safety\":{\"project\":\"\"}}", {"line 1: safety.project must have 1 to 4096"}},
        {"{\"http\":{\"idleTime\":0}}", {"http.idleTime"}},
        {"{\"http\":{\"origins\":[1]}}", {"http.origins[0]"}},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        begin(&s);
        put(&s, ours, rows[i].text);
        load(&s);
        for (size_t k = 0; k < 3 && rows[i].parts[k]; k++)
            if (!s.rc || !strstr(s.e.text, rows[i].parts[k]))
                TEST_FAIL("%s: %d %s", rows[i].text, s.rc, s.e.text);
        end(&s);
    }
}

TEST(errors_name_the_variable)
{
    static const char *const rows[][2] = {
        {"FUMI_EMBEDDER_DIM", "many"},
        {"FUMI_EMBEDDER_BASE_URL", "file:///etc/passwd"},
        {"FUMI_EMBEDDER_BASE_URL", "http://me@localhost"},
        {"FUMI_EMBEDDER_ALLOWED_HOSTS", "a,b/c"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        begin(&s);
        setenv(rows[i][0], rows[i][1], 1);
        load(&s);
        CHECK_INT(s.rc, -1);
        CHECK(strstr(s.e.text, rows[i][0]));
        end(&s);
    }
}

TEST(invalid_ollama_host_is_an_error)
{
    struct fixture s;
    begin(&s);
    setenv("OLLAMA_HOST", "me:secret@localhost", 1);
    load(&s);
    CHECK_INT(s.rc, 0); /* the variable applies to ollama only */
    setenv("FUMI_EMBEDDER_PROVIDER", "ollama", 1);
    load(&s);
    CHECK_INT(s.rc, -1);
    CHECK(strstr(s.e.text, "OLLAMA_HOST must not contain a user or a password"));
    end(&s);
}

TEST(allowed_hosts_are_kept_when_the_embedder_changes)
{
    struct fixture s;
    begin(&s);
    put(&s, ours, "{\"embedder\":{\"allowedHosts\":[\"gpu.example\",\"a.example:8443\"]}}");
    load(&s);
    struct embed_config now = config_embed(&s.c, &s.c.embedder);
    CHECK_INT(now.allowed_hosts.n, 2);
    CHECK_STR(now.allowed_hosts.items[1], "a.example:8443");
    now.provider = FUMI_STR("ollama");
    CHECK_INT(save(&s, &now, NULL), 0);
    load(&s);
    CHECK_INT(s.c.embedder.set.allowed_hosts.n, 2);
    setenv("FUMI_EMBEDDER_ALLOWED_HOSTS", "one.example,two.example:1,three.example", 1);
    load(&s);
    CHECK_INT(s.c.embedder.set.allowed_hosts.n, 3);
    CHECK_STR(s.c.embedder.set.allowed_hosts.items[2], "three.example");
    end(&s);
}

/* Earlier versions saved any dimension that a provider returned. */
TEST(invalid_dimension_in_the_file_is_ignored)
{
    static const char *const bad[] = {"-1", "1", "8193", "9000", "65537", "70000"};
    for (size_t i = 0; i < FUMI_COUNT(bad); i++) {
        struct fixture s;
        begin(&s);
        put(&s, ours,
            fumi_fmt(&s.a,
                     "{\"embedder\":{\"provider\":\"ollama\",\"dim\":%s},"
                     "\"previousEmbedder\":{\"provider\":\"openai\",\"dim\":%s}}",
                     bad[i], bad[i])
                .p);
        load(&s);
        CHECK_INT(s.rc, 0);
        CHECK_INT(s.c.embedder.set.dim, 0);
        CHECK_INT(s.c.previous.set.dim, 0);
        CHECK_INT(s.c.warnings.n, 2);
        CHECK(has(s.c.warnings.items[0], "config.json: embedder.dim ") &&
              has(s.c.warnings.items[0], "is ignored: a vector has 2 to 8192 numbers"));
        CHECK(has(s.c.warnings.items[1], "previousEmbedder.dim "));
        struct embed_config now = config_embed(&s.c, &s.c.embedder);
        now.model = FUMI_STR("b");
        CHECK_INT(save(&s, &now, NULL), 0);
        CHECK(!has(read_back(&s, ours), "dim"));
        setenv("FUMI_EMBEDDER_DIM", bad[i], 1);
        load(&s);
        CHECK_INT(s.rc, -1);
        CHECK_STR(fumi_str(s.e.text), "FUMI_EMBEDDER_DIM must be 0 or 2 to 8192");
        end(&s);
    }
}

TEST(empty_file_means_defaults)
{
    struct fixture s;
    begin(&s);
    put(&s, ours, " \n");
    load(&s);
    CHECK_INT(s.rc, 0);
    s.w.config = FUMI_STR("/dev/null");
    load(&s);
    CHECK_INT(s.rc, 0);
    end(&s);
}

/* Reading a pipe would block, and a device may never end. /dev/null is read as an empty file. */
TEST(only_a_regular_file_is_read)
{
    struct fixture s;
    begin(&s);
    const char *pipe = in_home(&s, "pipe").p;
    CHECK_INT(mkfifo(pipe, 0600), 0);
    const char *const names[] = {pipe, "/dev/zero", s.home};
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        s.w.config = fumi_str(names[i]);
        alarm(10); /* ends the test if opening the pipe blocks */
        load(&s);
        alarm(0);
        CHECK_INT(s.rc, -1);
        if (!strstr(s.e.text, names[i]) || !strstr(s.e.text, "is not a regular file"))
            TEST_FAIL("%s: %s", names[i], s.e.text);
    }
    end(&s);
}

TEST(unknown_keys_are_ignored_with_a_warning)
{
    struct fixture s;
    begin(&s);
    put(&s, ours, "{\"embeder\":{},\n\"embedder\":{\"modell\":1},\"zzz\":0}");
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_INT(s.c.warnings.n, 3);
    CHECK(has(s.c.warnings.items[0],
              "line 1: the unknown key embeder is ignored; did you mean embedder?"));
    CHECK(has(s.c.warnings.items[1], "line 2: the unknown key embedder.modell"));
    CHECK(has(s.c.warnings.items[1], "did you mean model?"));
    CHECK(!has(s.c.warnings.items[2], "did you mean"));
    end(&s);
}

TEST(key_readable_by_others_is_refused)
{
    static const char *const texts[] = {
        "{\"embedder\":{\"apiKey\":\"secret\"}}",
        "{\"previousEmbedder\":{\"provider\":\"openai\",\"apiKey\":\"secret\"}}",
        "{\"http\":{\"token\":\"0123456789abcdef\"}}",
    };
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct fixture s;
        begin(&s);
        put(&s, ours, texts[i]);
        load(&s);
        CHECK_INT(s.rc, 0);
        CHECK_INT(chmod(in_home(&s, ours).p, 0640), 0);
        load(&s);
        CHECK_INT(s.rc, -1);
        CHECK(strstr(s.e.text, "chmod 600") && !strstr(s.e.text, "secret"));
        put(&s, ours, "{}");
        CHECK_INT(chmod(in_home(&s, ours).p, 0644), 0);
        load(&s);
        CHECK_INT(s.rc, 0);
        end(&s);
    }
}

TEST(a_change_is_saved_and_loaded_again)
{
    struct fixture s;
    struct stat st;
    begin(&s);
    load(&s);
    struct embed_config now = {.provider = FUMI_STR("openai"),
                               .model = FUMI_STR("m"),
                               .api_key = FUMI_STR("sk-1"),
                               .dim = 12};
    struct embed_config before = {.provider = FUMI_STR("local"), .dim = 384};
    CHECK_INT(save(&s, &now, &before), 0);
    CHECK_INT(stat(in_home(&s, ours).p, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK_INT(stat(in_home(&s, ".config/fumi").p, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK_STR(s.c.embedder.set.provider, "openai");
    CHECK_STR(s.c.embedder.set.api_key, "sk-1");
    CHECK_INT(s.c.embedder.set.dim, 12);
    CHECK_STR(s.c.previous.set.provider, "local");
    CHECK_INT(s.c.previous.set.dim, 384);
    CHECK(!has(read_back(&s, ours), "store") && !has(read_back(&s, ours), "baseUrl"));
    CHECK_INT(save(&s, &now, NULL), 0);
    load(&s);
    CHECK(!s.c.previous.set.provider.p);
    end(&s);
}

TEST(unknown_members_are_kept)
{
    struct fixture s;
    begin(&s);
    put(&s, ours,
        "{\"zzz\":[1, 2.50],\"embedder\":{\"dim\":3,\"odd \\u0041\":{\"x\":null},\"model\":\"a\"},"
        "\"http\":{\"idleTime\":9}}");
    load(&s);
    struct embed_config now = config_embed(&s.c, &s.c.embedder);
    now.provider = FUMI_STR("ollama");
    now.model = FUMI_STR("b");
    now.dim = 0;
    CHECK_INT(save(&s, &now, NULL), 0);
    struct fumi_str text = read_back(&s, ours);
    const struct fumi_val *v = fumi_parse(&s.a, text, &s.e);
    CHECK(has(text, "2.50"));
    CHECK(fumi_get(fumi_get(v, "embedder"), "odd A"));
    CHECK(!fumi_get(fumi_get(v, "embedder"), "dim"));
    CHECK(fumi_text_is(fumi_get(fumi_get(v, "embedder"), "model"), FUMI_STR("b")));
    load(&s);
    CHECK_INT(s.c.http.set.idle_time, 9);
    CHECK_STR(s.c.embedder.set.provider, "ollama");
    end(&s);
}

TEST(nothing_from_the_environment_is_written)
{
    struct fixture s;
    begin(&s);
    put(&s, ours, "{\"embedder\":{\"apiKey\":\"file-key\"}}");
    setenv("OPENAI_API_KEY", "env-key", 1);
    setenv("FUMI_EMBEDDER_PROVIDER", "openai", 1);
    setenv("FUMI_STORE_PATH", "/env.db", 1);
    load(&s);
    struct embed_config now = config_embed(&s.c, &s.c.embedder), before = now;
    now.model = FUMI_STR("new");
    CHECK_INT(save(&s, &now, &before), 0);
    struct fumi_str text = read_back(&s, ours);
    CHECK(has(text, "file-key") && has(text, "new"));
    CHECK(!has(text, "env-key") && !has(text, "env.db"));
    CHECK_INT(has(text, "previousEmbedder"), 1);
    load(&s);
    CHECK_STR(s.c.previous.set.api_key, "env-key");
    end(&s);
}

TEST(default_model_is_not_saved)
{
    struct fixture s;
    begin(&s);
    struct embed_config now = {.provider = FUMI_STR("local"),
                               .model = embed_default_model(FUMI_STR("local"))};
    CHECK_INT(save(&s, &now, NULL), 0);
    CHECK(!has(read_back(&s, ours), "model"));
    end(&s);
}

TEST(sections_of_local_mcp_memory_are_copied)
{
    struct fixture s;
    begin(&s);
    put(&s, theirs,
        "{\"transportDefaults\":{\"defaultTransport\":\"http\"},\"embedder\":{\"provider\":"
        "\"openai\",\"apiKey\":\"their-key\"},\"store\":{\"path\":\"/theirs.db\"}}");
    struct fumi_str before = read_back(&s, theirs);
    load(&s);
    struct embed_config now = config_embed(&s.c, &s.c.embedder);
    now.model = FUMI_STR("text-embedding-3-large");
    CHECK_INT(save(&s, &now, NULL), 0);
    CHECK(fumi_eq(before, read_back(&s, theirs)));
    load(&s);
    CHECK(!s.c.foreign);
    CHECK_STR(s.c.embedder.set.provider, "openai");
    CHECK_STR(s.c.embedder.set.api_key, "their-key");
    CHECK_STR(s.c.embedder.set.model, "text-embedding-3-large");
    CHECK_INT(s.c.transport.kind, CONFIG_HTTP);
    CHECK(!has(read_back(&s, ours), "theirs.db"));
    end(&s);
}

TEST(a_linked_file_stays_a_link)
{
    struct fixture s;
    struct stat st;
    begin(&s);
    put(&s, "dotfiles/c.json", "{}");
    put(&s, ours, "{}");
    CHECK_INT(unlink(in_home(&s, ours).p), 0);
    CHECK_INT(symlink(in_home(&s, "dotfiles/c.json").p, in_home(&s, ours).p), 0);
    struct embed_config now = {.provider = FUMI_STR("ollama")};
    CHECK_INT(save(&s, &now, NULL), 0);
    CHECK_INT(lstat(in_home(&s, ours).p, &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    CHECK(has(read_back(&s, "dotfiles/c.json"), "ollama"));
    end(&s);
}

TEST(a_file_that_cannot_be_written_is_an_error)
{
    struct fixture s;
    begin(&s);
    put(&s, "f", "no directory");
    s.w.config = in_home(&s, "f/config.json");
    struct embed_config now = {.provider = FUMI_STR("ollama")};
    CHECK_INT(save(&s, &now, NULL), -1);
    CHECK(s.e.text[0]);
    end(&s);
}

/* Several processes save different changes at the same time: none is lost. */
TEST(processes_save_one_after_the_other)
{
    enum { PROCESSES = 4, TIMES = 20 };
    struct fixture s;
    begin(&s);
    put(&s, ours, "{\"kept\":true}");
    for (int i = 0; i < PROCESSES; i++) {
        if (fork())
            continue;
        int rc = 0;
        for (int k = 0; k < TIMES && !rc; k++) {
            struct embed_config now = {.provider = FUMI_STR("ollama"),
                                       .model = fumi_fmt(&s.a, "model-%d-%d", i, k)};
            rc = save(&s, &now, NULL);
            load(&s);
            rc |= s.rc;
        }
        _exit(rc ? 1 : 0);
    }
    int bad = 0, status;
    for (int i = 0; i < PROCESSES; i++)
        bad |= wait(&status) < 0 || status;
    CHECK_INT(bad, 0);
    load(&s);
    CHECK_INT(s.rc, 0);
    CHECK(has(read_back(&s, ours), "\"kept\": true"));
    end(&s);
}

TEST(every_member_has_a_variable_of_its_own)
{
    struct config_section all[CONFIG_SECTIONS];
    struct fumi_arena a = {0};
    const char *names[128];
    size_t n = 0;
    config_sections(all);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++)
        for (size_t k = 0; k < all[i].shape.n; k++) {
            const char *name = config_variable(&a, &all[i], &all[i].shape.fields[k]);
            for (size_t m = 0; name && m < n; m++)
                if (strcmp(name, names[m]) == 0)
                    TEST_FAIL("%s twice", name);
            if (name && n < FUMI_COUNT(names))
                names[n++] = name;
        }
    CHECK(n > 25);
    fumi_arena_done(&a);
}
