/* The browser is a grandchild, so that this process need not wait for it. Between fork and exec
 * only functions are called that are safe there in a process with threads. */
#include "app/browser.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *url)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fork())
        _exit(0);
    for (int fd = 0; fd < 3; fd++)
        dup2(nothing, fd);
    setsid();
    execlp("xdg-open", "xdg-open", url, (char *)NULL);
    _exit(1);
}

void browser_open(const char *url)
{
    pid_t child = fork();
    if (child == 0)
        run(url);
    while (child > 0 && waitpid(child, NULL, 0) < 0) {}
}
