/* Runs a fuzz target over files and directories, so that the corpus is an ordinary test with any
 * compiler. */
#include "fuzz.h"

#include <dirent.h>

static bool replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    static uint8_t bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof(bytes), f);
    bool whole = feof(f) && !ferror(f);
    fclose(f);
    if (whole)
        LLVMFuzzerTestOneInput(bytes, n);
    return whole;
}

/* Returns the number of files, or -1 if one cannot be read. */
static int replay_dir(const char *path, DIR *dir)
{
    int files = 0;
    for (struct dirent *d; (d = readdir(dir)) && files >= 0;) {
        char file[4096];
        if (d->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, d->d_name);
        files = replay_file(file) ? files + 1 : -1;
    }
    return files;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        int files = dir ? replay_dir(argv[i], dir) : replay_file(argv[i]) ? 1 : -1;
        if (dir)
            closedir(dir);
        if (files < 0) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        total += files;
    }
    printf("%d inputs\n", total);
    return !total;
}
