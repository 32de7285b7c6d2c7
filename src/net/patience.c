#include "net/patience.h"

enum {
    SEVERAL = 4,      /* events at a time; a lone caller never makes it look */
    SHARE = 12,       /* of the time it is busy, a twelfth may be spent on looking */
    LONGEST = 100000, /* for one try; some times longer than it takes to be woken */
    FORGIVEN = 3,     /* tries in a row that may fail, by chance */
    MOST_FAILED = 13, /* then it is tried one time in 1024 */
};

static bool sleeps(struct patience *p)
{
    p->awake = false;
    p->looked = 0;
    p->passed -= p->passed > 0;
    return false;
}

static bool goes_on(struct patience *p, unsigned events)
{
    if (p->looked)
        p->failed = 0;
    p->looked = 0;
    p->awake |= events >= SEVERAL && !p->passed;
    return p->awake || sleeps(p);
}

static bool fails(struct patience *p)
{
    p->failed += p->failed < MOST_FAILED;
    p->passed = p->failed > FORGIVEN ? 1u << (p->failed - FORGIVEN) : 0;
    return sleeps(p);
}

static bool tries(struct patience *p, uint64_t t)
{
    if (p->looked)
        p->since += SHARE * (t - p->looked);
    else if (t - p->since > (uint64_t)SHARE * LONGEST)
        p->since = t - (uint64_t)SHARE * LONGEST;
    p->looked = t;
    return p->since < t || fails(p);
}

bool patience_looks(struct patience *p, unsigned events, uint64_t (*now)(void))
{
    if (events)
        return goes_on(p, events);
    return p->awake ? tries(p, now()) : sleeps(p);
}
