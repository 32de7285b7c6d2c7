/* fake-provider: an OpenAI and an Ollama for tests, on 127.0.0.1.
 *
 *   fake-provider [--port N] [--mode MODE] [--dim N]
 *
 * It prints its port and serves until SIGTERM or SIGINT. See fake_provider.h. */
#include "fake_provider.h"

#include <signal.h>

static int mode_of(const char *name)
{
    for (int i = 0; i < FAKE_MODES; i++) {
        if (strcmp(name, fake_modes[i]) == 0)
            return i;
    }
    return -1;
}

static int usage(void)
{
    fprintf(stderr, "usage: fake-provider [--port N] [--mode MODE] [--dim N]\nmodes:");
    for (int i = 0; i < FAKE_MODES; i++)
        fprintf(stderr, " %s", fake_modes[i]);
    fputc('\n', stderr);
    return 2;
}

struct flags {
    long port, dim;
    int mode;
};

static bool read_flags(int argc, char **argv, struct flags *f)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--port") == 0)
            f->port = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--dim") == 0)
            f->dim = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--mode") == 0)
            f->mode = mode_of(value);
        else
            return false;
    }
    return f->mode >= 0 && f->dim > 0 && f->port >= 0 && f->port < 65536;
}

int main(int argc, char **argv)
{
    struct flags flags = {0, 8, FAKE_WELL};
    sigset_t ends;
    int number;
    if (!read_flags(argc, argv, &flags))
        return usage();
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    struct fake *f = fake_start((int)flags.port);
    if (!f) {
        perror("fake-provider");
        return 1;
    }
    f->dim = (size_t)flags.dim;
    f->mode = flags.mode;
    printf("%d\n", f->port);
    fflush(stdout);
    sigwait(&ends, &number);
    fake_stop(f);
    return 0;
}
