#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int file_write_all(int fd, struct fumi_str bytes)
{
    while (bytes.n) {
        ssize_t did = write(fd, bytes.p, bytes.n);
        if (did < 0 && errno == EINTR)
            continue;
        if (did < 0)
            return -1;
        bytes = (struct fumi_str){bytes.p + did, bytes.n - (size_t)did};
    }
    return 0;
}

int file_sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int number = fsync(fd) && errno != EINVAL ? errno : 0;
    close(fd);
    errno = number;
    return number ? -1 : 0;
}
