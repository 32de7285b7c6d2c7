#include "base/clock.h"

#include "test.h"

#include <time.h>

static const int64_t first = -62167219200000, last = 253402300799999;

static int64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(now_is_the_wall_clock)
{
    int64_t before = wall(), now = fumi_now(), after = wall();
    CHECK(before <= now && now <= after);
}

TEST(ticks_never_go_back)
{
    int64_t before = fumi_ticks();
    for (int i = 0; i < 10000; i++) {
        int64_t now = fumi_ticks();
        CHECK(now >= before);
        before = now;
    }
    CHECK(before > 0);
}

/* Times and their texts, in both directions. */
TEST(known_times)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {999, "1970-01-01T00:00:00.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {86400000, "1970-01-02T00:00:00.000Z"},
        {-86400000, "1969-12-31T00:00:00.000Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {1000000000000, "2001-09-09T01:46:40.000Z"},
        {1709164800000, "2024-02-29T00:00:00.000Z"},
        {1794779338123, "2026-11-15T21:48:58.123Z"},
        {2147483647000, "2038-01-19T03:14:07.000Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {-2203891200000, "1900-03-01T00:00:00.000Z"},
        {-62162035200000, "0000-03-01T00:00:00.000Z"},
        {-62162121600000, "0000-02-29T00:00:00.000Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        char out[FUMI_TIME_SIZE];
        int64_t ms = 42;
        fumi_time_write(rows[i].ms, out);
        if (memcmp(out, rows[i].text, FUMI_TIME_SIZE) != 0)
            TEST_FAIL("%s was written as %.*s", rows[i].text, FUMI_TIME_SIZE, out);
        if (!fumi_time_read(fumi_str(rows[i].text), &ms) || ms != rows[i].ms)
            TEST_FAIL("%s was read as %" PRId64, rows[i].text, ms);
    }
}

TEST(accepted_forms)
{
    static const struct {
        const char *text, *same;
    } rows[] = {
        {"2026-11-15T21:48:58Z", "2026-11-15T21:48:58.000Z"},
        {"2026-11-15T21:48Z", "2026-11-15T21:48:00.000Z"},
        {"2026-11-15T21:48+09:00", "2026-11-15T12:48:00.000Z"},
        {"2026-11-15t21:48:58z", "2026-11-15T21:48:58.000Z"},
        {"2026-11-15T21:48:58.1Z", "2026-11-15T21:48:58.100Z"},
        {"2026-11-15T21:48:58.12Z", "2026-11-15T21:48:58.120Z"},
        {"2026-11-15T21:48:58.1239999999999999999999Z", "2026-11-15T21:48:58.123Z"},
        {"2026-11-15T21:48:58.0009Z", "2026-11-15T21:48:58.000Z"},
        {"1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"},
        {"2026-11-15T21:48:58+00:00", "2026-11-15T21:48:58.000Z"},
        {"2026-11-15T21:48:58-00:00", "2026-11-15T21:48:58.000Z"},
        {"2026-11-15T21:48:58+09:00", "2026-11-15T12:48:58.000Z"},
        {"2026-11-15T06:48:58.5+09:00", "2026-11-14T21:48:58.500Z"},
        {"2026-11-15T21:48:58-03:30", "2026-11-16T01:18:58.000Z"},
        {"2026-12-31T23:59:00-23:59", "2027-01-01T23:58:00.000Z"},
        {"2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000Z"},
        {"2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00.000Z"},
        {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
        {"2016-12-31T23:59:60.75Z", "2017-01-01T00:00:00.750Z"},
        {"2017-01-01T08:59:60+09:00", "2017-01-01T00:00:00.000Z"},
        {"0000-01-01T00:01:00+00:01", "0000-01-01T00:00:00.000Z"},
        {"9999-12-31T23:58:59.999-00:01", "9999-12-31T23:59:59.999Z"},
        {"9999-12-31T23:59:60+00:01", "9999-12-31T23:59:00.000Z"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int64_t ms;
        char out[FUMI_TIME_SIZE];
        if (!fumi_time_read(fumi_str(rows[i].text), &ms)) {
            TEST_FAIL("%s was refused", rows[i].text);
            continue;
        }
        fumi_time_write(ms, out);
        if (memcmp(out, rows[i].same, FUMI_TIME_SIZE) != 0)
            TEST_FAIL("%s is %.*s", rows[i].text, FUMI_TIME_SIZE, out);
    }
}

TEST(refused_forms)
{
    static const char *const rows[] = {
        "",
        "2026",
        "2026-11-15",
        "21:48:58Z",
        "2026-11-15T21:48:58", /* no zone */
        "2026-11-15T21:48:58.123",
        "2026-11-15T21Z",
        "2026-11-15T21:48:Z",
        "2026-11-15T21:48.5Z",
        "2026-11-15 21:48:58Z",
        "2026-11-15T21:48:58Z ",
        " 2026-11-15T21:48:58Z",
        "2026-11-15T21:48:58ZZ",
        "2026-11-15T21:48:58.Z",
        "2026-11-15T21:48:58,5Z",
        "2026-11-15T21:48:58.5.5Z",
        "2026-11-15T21:48:58.-5Z",
        "2026-11-15T21:48:58UTC",
        "2026-11-15T21:48:58+0900",
        "2026-11-15T21:48:58+09",
        "2026-11-15T21:48:58+9:00",
        "2026-11-15T21:48:58+09:0",
        "2026-11-15T21:48:58+09:000",
        "2026-11-15T21:48:58+09-00",
        "2026-11-15T21:48:58 09:00",
        "2026-11-15T21:48:58+24:00",
        "2026-11-15T21:48:58+00:60",
        "2026-11-15T21:48:58-24:00",
        "2026-11-15T21:48:58+-9:00",
        "2026-11-15T24:00:00Z",
        "2026-11-15T25:00:00Z",
        "2026-11-15T21:60:00Z",
        "2026-11-15T21:48:61Z",
        "2026-11-15T1:48:58Z",
        "2026-11-15T-1:48:58Z",
        "2026-11-15T+1:48:58Z",
        "2026-00-15T21:48:58Z",
        "2026-13-15T21:48:58Z",
        "2026-11-00T21:48:58Z",
        "2026-11-31T21:48:58Z",
        "2026-1-15T21:48:58Z",
        "2026-11-5T21:48:58Z",
        "2026/11/15T21:48:58Z",
        "20261115T214858Z",
        "026-11-15T21:48:58Z",
        "12026-11-15T21:48:58Z",
        "+2026-11-15T21:48:58Z",
        "-001-11-15T21:48:58Z",
        "2026-11-15T21.48.58Z",
        "2O26-11-15T21:48:58Z",
        "٢٠٢٦-11-15T21:48:58Z",
        "2026-W46-7T21:48:58Z",
        "0000-01-01T00:00:00+00:01", /* before the year 0 */
        "0000-01-01T00:00:00.999+23:59",
        "9999-12-31T23:59:59-00:01", /* after the year 9999 */
        "9999-12-31T23:59:60Z",
        "9999-12-31T23:59:60.5Z",
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int64_t ms = 42;
        if (fumi_time_read(fumi_str(rows[i]), &ms))
            TEST_FAIL("%s was read as %" PRId64, rows[i], ms);
        CHECK_INT(ms, 42);
    }
    CHECK(!fumi_time_read((struct fumi_str){0}, &(int64_t){0}));
    CHECK(!fumi_time_read(FUMI_STR("2026-11-15T21:48:58\0Z"), &(int64_t){0}));
    CHECK(!fumi_time_read(FUMI_STR("2026-11-15T21:48:58Z\0"), &(int64_t){0}));
}

/* Every prefix of a time is refused. It is in a block of its own size, so that ASan finds a read
 * past its end. */
TEST(prefixes_are_refused)
{
    static const char whole[] = "2026-11-15T21:48:58.123+09:00";
    for (size_t n = 1; n < sizeof(whole) - 1; n++) {
        char *copy = malloc(n);
        memcpy(copy, whole, n);
        int64_t ms;
        bool read = fumi_time_read((struct fumi_str){copy, n}, &ms);
        free(copy);
        CHECK(!read);
    }
}

static bool leap(int year)
{
    return year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
}

static int month_length(int year, int month)
{
    static const char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && leap(year) ? 29 : lengths[month - 1];
}

static void render(char out[32], int year, int month, int day)
{
    static const char shape[] = "0000-00-00T00:00:00.000Z";
    memcpy(out, shape, sizeof(shape));
    for (int i = 3, y = year; i >= 0; i--, y /= 10)
        out[i] = (char)('0' + y % 10);
    out[5] = (char)('0' + month / 10);
    out[6] = (char)('0' + month % 10);
    out[8] = (char)('0' + day / 10);
    out[9] = (char)('0' + day % 10);
}

static bool same_day(int64_t ms, int year, int month, int day)
{
    char want[32], got[FUMI_TIME_SIZE];
    int64_t back = 0;
    render(want, year, month, day);
    fumi_time_write(ms, got);
    return memcmp(got, want, FUMI_TIME_SIZE) == 0 &&
           fumi_time_read((struct fumi_str){got, FUMI_TIME_SIZE}, &back) && back == ms;
}

/* All days of the calendar, from the first to the last. */
TEST(every_day_of_ten_thousand_years)
{
    int64_t ms = first;
    for (int year = 0; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= month_length(year, month); day++, ms += 86400000)
                CHECK(same_day(ms, year, month, day));
    CHECK_INT(ms, last + 1);
}

TEST(every_day_that_does_not_exist)
{
    for (int year = 0; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = month_length(year, month) + 1; day <= 32; day++) {
                char text[32];
                int64_t ms;
                render(text, year, month, day);
                CHECK(!fumi_time_read(fumi_str(text), &ms));
            }
}

TEST(random_times_come_back)
{
    uint64_t random = 3339;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t ms = first + (int64_t)((random >> 8) % (uint64_t)(last - first + 1)), back = 0;
        char text[FUMI_TIME_SIZE];
        fumi_time_write(ms, text);
        CHECK(fumi_time_read((struct fumi_str){text, sizeof(text)}, &back));
        CHECK_INT(back, ms);
    }
}

TEST(every_offset)
{
    for (int minutes = -1439; minutes <= 1439; minutes++) {
        int size = minutes < 0 ? -minutes : minutes;
        char text[48];
        int64_t ms = 0;
        snprintf(text, sizeof(text), "2000-03-01T00:00:00.25%c%02d:%02d", minutes < 0 ? '-' : '+',
                 size / 60, size % 60);
        CHECK(fumi_time_read(fumi_str(text), &ms));
        CHECK_INT(ms, 951868800250 - minutes * (int64_t)60000);
    }
}
