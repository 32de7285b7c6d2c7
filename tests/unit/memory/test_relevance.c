#include "memory/relevance.h"
#include "test.h"

static const struct embed_calibration some = {-5, 6, 4, 0};

TEST(relevance_rises_with_the_cosine_and_the_words)
{
    CHECK(relevance_of(&some, 0.2, 0.5) < relevance_of(&some, 0.4, 0.5));
    CHECK(relevance_of(&some, 0.4, 0.2) < relevance_of(&some, 0.4, 0.5));
    CHECK(relevance_of(&some, -1, 0) > 0);
    CHECK(relevance_of(&some, 1, 1) < 1);
}

TEST(without_a_calibration_the_words_alone_decide)
{
    CHECK(relevance_of(NULL, 0.1, 0.5) == relevance_of(NULL, 0.9, 0.5));
    CHECK(relevance_of(NULL, 0, 0.2) < relevance_of(NULL, 0, 0.6));
    CHECK_INT(relevance_confidence(relevance_of(NULL, 0, 0)), CONFIDENCE_NONE);
    CHECK_INT(relevance_confidence(relevance_of(NULL, 0, 1)), CONFIDENCE_HIGH);
}

TEST(confidence_has_fixed_thresholds)
{
    CHECK_INT(relevance_confidence(0), CONFIDENCE_NONE);
    CHECK_INT(relevance_confidence(1), CONFIDENCE_HIGH);
    enum confidence last = CONFIDENCE_NONE;
    for (int i = 0; i <= 100; i++) {
        enum confidence now = relevance_confidence(i / 100.0);
        CHECK(now == last || now == last + 1);
        last = now;
    }
    CHECK_INT(last, CONFIDENCE_HIGH);
}
