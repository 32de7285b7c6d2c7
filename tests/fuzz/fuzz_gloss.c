/* The dictionary. The first byte selects what the rest is: lines of EDICT (in UTF-8, converted to
 * EUC-JP where possible), a text to gloss, or patches of a packed file (2 bytes of offset and 4 of
 * data each). Nothing may crash, and ranges must cover the text. */
#include "../unit/embed/gloss_fixture.h"
#include "base/buf.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void use(const struct gloss *g, struct fumi_str text)
{
    struct fumi_arena a = {0};
    struct glossed t = gloss_text(g, &a, text);
    uint32_t end = 0;
    for (size_t i = 0; i < t.n; i++) {
        MUST(t.ranges[i].begin == end && t.ranges[i].end > end && t.ranges[i].at <= t.text.n);
        end = t.ranges[i].end;
    }
    MUST(t.n ? end == text.n : t.text.p == text.p && t.text.n == text.n);
    struct model_token token = {0, (uint32_t)t.text.n / 2, (uint32_t)t.text.n / 2};
    gloss_map_back(&t, &token, 1);
    MUST(token.begin <= text.n && token.end <= text.n);
    gloss_is_japanese(g, text);
    fumi_arena_done(&a);
}

static struct gloss *open_bytes(const void *bytes, size_t n, struct fumi_err *e)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct gloss *g = gloss_open(path, e);
    close(fd);
    return g;
}

/* The packed fixture. */
static struct fumi_str packed(void)
{
    static char image[1 << 16];
    static size_t n;
    char dir[] = "/tmp/fuzz-gloss-XXXXXX", path[64];
    if (n)
        return (struct fumi_str){image, n};
    MUST(mkdtemp(dir));
    edict_pack(dir);
    snprintf(path, sizeof(path), "%s/" GLOSS_FILE, dir);
    FILE *f = fopen(path, "rb");
    MUST(f && (n = fread(image, 1, sizeof(image), f)) < sizeof(image));
    fclose(f);
    unlink(path);
    snprintf(path, sizeof(path), "%s/edict", dir);
    unlink(path);
    rmdir(dir);
    return (struct fumi_str){image, n};
}

static void try_lines(const uint8_t *data, size_t n)
{
    static const char first[] = "/EDICT/Created: 2021-02-03/\n";
    struct fumi_err e = {0};
    struct fumi_buf b = {0};
    char from[64], to[] = "/tmp/fuzz-gloss-XXXXXX";
    int fd = memfd_create("fuzz", MFD_CLOEXEC), out = mkstemp(to);
    fumi_buf_add(&b, first, sizeof(first) - 1);
    fumi_buf_add(&b, data, n);
    MUST(fd >= 0 && out >= 0 && write(fd, b.p, b.n) == (ssize_t)b.n);
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    MUST(!pack_edict(from, to, &e) == !e.code);
    struct gloss *g = e.code ? NULL : gloss_open(to, &e);
    if (!e.code) {
        MUST(g && !gloss_verify(g, to, &e));
        use(g, fumi_buf_str(&b));
    }
    gloss_close(g);
    fumi_buf_done(&b);
    unlink(to);
    close(out);
    close(fd);
}

static void try_patches(const uint8_t *data, size_t n)
{
    struct fumi_err e = {0};
    struct fumi_str file = packed();
    char *copy = fumi_resize(NULL, file.n);
    memcpy(copy, file.p, file.n);
    for (; n >= 6; data += 6, n -= 6)
        memcpy(copy + ((size_t)data[0] << 8 | data[1]) % (file.n - 4), data + 2, 4);
    struct gloss *g = open_bytes(copy, file.n - (n && data[0] == 'x'), &e);
    MUST(g || e.code);
    if (g) {
        use(g, FUMI_STR("hello 人は世界を高く食べた。スケート 3匹の猫"));
        gloss_verify(g, "fuzzed", &e);
    }
    gloss_close(g);
    fumi_resize(copy, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_err e = {0};
    if (!n)
        return 0;
    if (data[0] % 3 == 0) {
        try_lines(data + 1, n - 1);
    } else if (data[0] % 3 == 1) {
        struct gloss *g = open_bytes(packed().p, packed().n, &e);
        MUST(g);
        use(g, (struct fumi_str){(const char *)data + 1, n - 1});
        gloss_close(g);
    } else {
        try_patches(data + 1, n - 1);
    }
    return 0;
}
