/* The coefficients and thresholds are fitted by bench/calibrate.c. */
#include "memory/relevance.h"

#include <math.h>

static const double LOW = 0.25, HIGH = 0.95;
/* Of the words alone. */
static const double WORDS_BIAS = -5.9, WORDS_SHARE = 18;

double relevance_of(const struct embed_calibration *c, double cosine, double share)
{
    double x = WORDS_BIAS + WORDS_SHARE * share;
    if (c)
        x = c->bias + c->cosine * cosine + c->share * share + c->both * cosine * share;
    return 1 / (1 + exp(-x));
}

enum confidence relevance_confidence(double best)
{
    return best >= HIGH ? CONFIDENCE_HIGH : best >= LOW ? CONFIDENCE_LOW : CONFIDENCE_NONE;
}
