/* fumi version: the version, and with --build what a bug report should say of the program. */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/session.h"
#include "app/show.h"
#include "embed/curl.h"
#include "embed/model.h"
#include "store/sqlite_parts.h"

#include <gnu/libc-version.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <utf8proc.h>
#include <uv.h>
#include <zlib.h>

struct version_flags {
    bool build;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct version_flags, build, "build",
               "Also print how the program was built, and the versions of its libraries."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct version_flags, fields);

struct build {
    struct fumi_str version, preset, flags, compiler, system, libc, sqlite, libuv, openssl, zlib,
        utf8proc, curl, model;
    int64_t schema;
};

#define BUILD(member, help, ...) FUMI_FIELD(struct build, member, #member, help, __VA_ARGS__)
static const struct fumi_field build_fields[] = {
    BUILD(version, "Version of the program."),
    BUILD(preset, "Preset of the build, or name of its directory.", .flags = FUMI_OMIT),
    BUILD(flags, "Flags of the compiler.", .flags = FUMI_OMIT),
    BUILD(compiler, "The compiler.", .flags = FUMI_OMIT),
    BUILD(system, "Operating system and architecture.", .flags = FUMI_OMIT),
    BUILD(libc, "Version of glibc.", .flags = FUMI_OMIT),
    BUILD(sqlite, "Version of SQLite.", .flags = FUMI_OMIT),
    BUILD(libuv, "Version of libuv.", .flags = FUMI_OMIT),
    BUILD(openssl, "Version of OpenSSL.", .flags = FUMI_OMIT),
    BUILD(zlib, "Version of zlib.", .flags = FUMI_OMIT),
    BUILD(utf8proc, "Version of utf8proc.", .flags = FUMI_OMIT),
    BUILD(curl, "Whether libcurl was found.", .flags = FUMI_OMIT),
    BUILD(schema, "Version of the format of databases.", .flags = FUMI_OMIT),
    BUILD(model, "The local model, or why there is none.", .flags = FUMI_OMIT),
};
static const struct fumi_shape build_shape = FUMI_SHAPE(struct build, build_fields);

static struct fumi_str system_name(struct fumi_arena *a)
{
    struct utsname u;
    return uname(&u) ? FUMI_STR("unknown")
                     : fumi_fmt(a, "%s %s %s", u.sysname, u.release, u.machine);
}

/* The name of the model file that is found without a configuration. */
static struct fumi_str model_in_use(struct fumi_arena *a)
{
    struct fumi_err e = {0};
    struct fumi_str path = model_find(a, &e);
    struct model *m = path.n ? model_open(files_name(a, path), &e) : NULL;
    if (!m)
        return fumi_dup(a, fumi_str(e.text));
    struct fumi_str name = fumi_fmt(a, "%.*s (%.*s)", FUMI_ARG(model_name(m)), FUMI_ARG(path));
    model_close(m);
    return name;
}

static struct build describe(struct fumi_arena *a)
{
    return (struct build){
        .version = FUMI_STR(FUMI_VERSION),
        .preset = FUMI_STR(FUMI_BUILD_NAME),
        .flags = FUMI_STR(FUMI_BUILD_FLAGS),
#ifdef __clang__
        .compiler = FUMI_STR("clang " __clang_version__),
#else
        .compiler = FUMI_STR("gcc " __VERSION__),
#endif
        .system = system_name(a),
        .libc = fumi_str(gnu_get_libc_version()),
        .sqlite = fumi_str(sqlite3_libversion()),
        .libuv = fumi_str(uv_version_string()),
        .openssl = fumi_str(OpenSSL_version(OPENSSL_VERSION)),
        .zlib = fumi_str(zlibVersion()),
        .utf8proc = fumi_str(utf8proc_version()),
        .curl = curl_calls() ? FUMI_STR("found") : FUMI_STR("not found"),
        .schema = STORE_SCHEMA,
        .model = model_in_use(a),
    };
}

static int version(struct invocation *i)
{
    const struct version_flags *f = i->flags;
    struct build b = {.version = FUMI_STR(FUMI_VERSION)};
    struct fumi_buf text = {0};
    struct fumi_err e = {0};
    if (f->build)
        b = describe(i->a);
    fumi_emit(&(struct fumi_out){.buf = &text}, &build_shape, &b);
    if (i->json) {
        notes_print_json(i->a, &text);
        return STATUS_OK;
    }
    const struct fumi_val *v = fumi_parse(i->a, fumi_buf_keep(&text, i->a), &e);
    puts("fumi version " FUMI_VERSION);
    for (const struct fumi_val *k = fumi_first(v); k && f->build; k = fumi_after(v, k)) {
        const struct fumi_val *is = fumi_of(k);
        struct fumi_str value = fumi_is(is, FUMI_STRING) ? fumi_text(i->a, is) : fumi_raw(is);
        if (!fumi_text_is(k, FUMI_STR("version")))
            printf("%-9.*s %.*s\n", FUMI_ARG(fumi_text(i->a, k)), FUMI_ARG(show_line(i->a, value)));
    }
    return STATUS_OK;
}

const struct command command_version = {
    .name = "version",
    .usage = "",
    .help = "Prints the version, or with --build what a bug report needs.",
    .shape = &shape,
    .result = &build_shape,
    .bare = true,
    .output = OUTPUT_JSON,
    .run = version,
};
