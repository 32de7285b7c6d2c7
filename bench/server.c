/* The server of the mixed benchmark.
 *
 * Usage: server [ADDRESS]      for example "tcp:127.0.0.1:0"; default: standard input and output */
#include "fumi.h"
#include "mixed.h"

#include <stdio.h>

static void print_address(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
}

int main(int argc, char **argv)
{
    struct fumi_server *server = fumi_server_new("bench", "1");
    struct fumi_str address = fumi_str(argc > 1 ? argv[1] : "stdio");
    struct fumi_serve_options o = {.set = {.listen = {&address, 1}}, .listening = print_address};
    struct fumi_err e = {0};
    mixed_methods(server);
    int rc = fumi_serve(server, &o, &e);
    if (rc < 0)
        fprintf(stderr, "server: %s\n", e.text);
    fumi_server_free(server);
    return rc < 0;
}
