/* Where the token of a running server can be read, and where it cannot. */
#include "frames.h"
#include "test.h"

#include <sys/stat.h>

#define ECHO  "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1}"
#define TOKEN "0123456789abcdefghij"

static int status_with(const struct live *s, const char *fields)
{
    struct wire w;
    wire_tcp(&w, s);
    wire_post(&w, s, FUMI_STR(ECHO), fields);
    int status = wire_reply(&w, false).status;
    wire_close(&w);
    return status;
}

/* Every user of the machine can read the command line of every process. */
static bool command_line_has(const struct live *s, const char *what)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)s->pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    return n > 0 && memmem(text, (size_t)n, what, strlen(what));
}

TEST(the_token_is_not_in_the_command_line)
{
    static const char *const flags[] = {"--auth token --token " TOKEN " --rate 1000",
                                        "--auth token -token=" TOKEN " --rate 1000"};
    for (size_t i = 0; i < FUMI_COUNT(flags); i++) {
        struct live s;
        CHECK_INT(live_start(&s, SPEC_SERVER, flags[i]), 0);
        CHECK(!command_line_has(&s, TOKEN));
        CHECK(command_line_has(&s, "--rate"));
        CHECK_INT(status_with(&s, "Authorization: Bearer " TOKEN "\r\n"), 200);
        CHECK_INT(live_stop(&s), 0);
    }
}

TEST(the_token_can_be_read_from_a_file)
{
    struct live s;
    char path[] = "/tmp/fumi-token-XXXXXX", flags[128];
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, TOKEN "\n", sizeof(TOKEN)) == (ssize_t)sizeof(TOKEN));
    snprintf(flags, sizeof(flags), "--auth token --token-file %s", path);
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), 0);
    CHECK_INT(status_with(&s, ""), 401);
    CHECK_INT(status_with(&s, "Authorization: Bearer " TOKEN "\r\n"), 200);
    CHECK_INT(live_stop(&s), 0);
    CHECK_INT(fchmod(fd, 0644), 0);
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), -1); /* others can read it */
    unlink(path);
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), -1); /* removed */
    close(fd);
}
