/* The distance of two names is their Levenshtein distance without regard to ASCII case. A candidate
 * must be within a third of the length of the name, or 2 if that is more, but must share at least
 * one letter with the name. */
#include "base/closest_name.h"

enum { LENGTH_MAX = 64 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static size_t distance(struct fumi_str a, struct fumi_str b)
{
    size_t row[LENGTH_MAX + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t changed = corner + (lower(a.p[i - 1]) != lower(b.p[j - 1]));
            size_t moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = changed < moved ? changed : moved;
        }
    }
    return row[b.n];
}

struct closest_name closest_name_start(struct fumi_str name)
{
    size_t limit = name.n / 3 > 2 ? name.n / 3 : 2;
    return (struct closest_name){name, limit < name.n ? limit + 1 : name.n};
}

bool closest_name_improves(struct closest_name *n, struct fumi_str candidate)
{
    if (n->name.n > LENGTH_MAX || candidate.n > LENGTH_MAX)
        return false;
    size_t d = distance(n->name, candidate);
    if (d >= n->distance)
        return false;
    n->distance = d;
    return true;
}
