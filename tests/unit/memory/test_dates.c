#include "memory/dates.h"

#include "base/clock.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The spans of a question as "part=since..until", with local days, or times if a span does not
 * begin at midnight. */
static void written(char *out, size_t size, struct fumi_str query, int64_t now)
{
    struct date_span spans[4];
    size_t n = dates_read(query, now, spans, FUMI_COUNT(spans)), used = 0;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        char from[40], to[40];
        time_t since = (time_t)(spans[i].since / 1000), until = (time_t)(spans[i].until / 1000);
        struct tm a, b;
        localtime_r(&since, &a);
        localtime_r(&until, &b);
        strftime(from, sizeof(from), a.tm_hour ? "%Y-%m-%dT%H:%M" : "%Y-%m-%d", &a);
        strftime(to, sizeof(to), b.tm_hour ? "%Y-%m-%dT%H:%M" : "%Y-%m-%d", &b);
        used += (size_t)snprintf(out + used, size - used, "%s%.*s=%s..%s", i ? "; " : "",
                                 (int)(spans[i].end - spans[i].begin), query.p + spans[i].begin,
                                 from, to);
    }
}

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static int64_t time_of(const char *text)
{
    int64_t ms = 0;
    if (!fumi_time_read(fumi_str(text), &ms))
        TEST_FAIL("%s is no time", text);
    return ms;
}

struct row {
    const char *query, *spans;
};

/* Wednesday, 15 November 2023, noon in Tokyo */
static void check_rows(const struct row *rows, size_t n)
{
    set_zone("JST-9");
    int64_t now = time_of("2023-11-15T03:00:00Z");
    for (size_t i = 0; i < n; i++) {
        char got[600];
        written(got, sizeof(got), fumi_str(rows[i].query), now);
        if (strcmp(got, rows[i].spans))
            TEST_FAIL("\"%s\": got %s, want %s", rows[i].query, got, rows[i].spans);
    }
}

TEST(absolute_dates)
{
    static const struct row rows[] = {
        {"what broke on 2023-05-08?", "2023-05-08=2023-05-08..2023-05-09"},
        {"2023/05/08", "2023/05/08=2023-05-08..2023-05-09"},
        {"deploy 2023-05-08T12:30 failed", "2023-05-08=2023-05-08..2023-05-09"},
        {"invoices 2023-05", "2023-05=2023-05-01..2023-06-01"},
        {"seen 8 May 2023.", "8 May 2023=2023-05-08..2023-05-09"},
        {"on 1 February, 2023", "1 February, 2023=2023-02-01..2023-02-02"},
        {"on 8th of may", "8th of may=2023-05-08..2023-05-09"},
        {"May 8th, 2023", "May 8th, 2023=2023-05-08..2023-05-09"},
        {"December 1,2022", "December 1,2022=2022-12-01..2022-12-02"},
        {"Sept. 3, 2022", "Sept. 3, 2022=2022-09-03..2022-09-04"},
        {"3 Sept. 2022", "3 Sept. 2022=2022-09-03..2022-09-04"},
        {"Sept. 2022", "Sept. 2022=2022-09-01..2022-10-01"},
        {"May 8", "May 8=2023-05-08..2023-05-09"},
        {"notes of dec 24, 2022", "dec 24, 2022=2022-12-24..2022-12-25"},
        {"December 24", "December 24=2022-12-24..2022-12-25"},
        {"February 29", "February 29=2020-02-29..2020-03-01"},
        {"February 29, 2023", ""},
        {"Monday, 8 May 2023", "Monday, 8 May 2023=2023-05-08..2023-05-09"},
        {"in September", "September=2023-09-01..2023-10-01"},
        {"in December", "December=2022-12-01..2023-01-01"},
        {"in november", "november=2023-11-01..2023-12-01"},
        {"in September 2022", "September 2022=2022-09-01..2022-10-01"},
        {"September last year", "September last year=2022-09-01..2022-10-01"},
        {"September's budget", "September=2023-09-01..2023-10-01"},
        {"in April and May", "April=2023-04-01..2023-05-01; May=2023-05-01..2023-06-01"},
        {"mid-August 2023", "August 2023=2023-08-01..2023-09-01"},
        {"in 2022", "2022=2022-01-01..2023-01-01"},
        {"the year 2022", "2022=2022-01-01..2023-01-01"},
        {"in summer 2021", "summer 2021=2021-06-01..2021-09-01"},
        {"the winter of 2021", "the winter of 2021=2021-12-01..2022-03-01"},
        {"during the summer", "the summer=2023-06-01..2023-09-01"},
        {"the last week of August 2023", "the last week of August 2023=2023-08-01..2023-09-01"},
        {"the week of 8 May 2023", "the week of 8 May 2023=2023-05-08..2023-05-15"},
        {"the weekend of 10 May", "the weekend of 10 May=2023-05-13..2023-05-15"},
        {"the first weekend of October", "weekend of October=2023-10-01..2023-11-01"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(relative_dates)
{
    static const struct row rows[] = {
        {"what did I do today", "today=2023-11-15..2023-11-16"},
        {"Yesterday's error", "Yesterday=2023-11-14..2023-11-15"},
        {"the day before yesterday", "the day before yesterday=2023-11-13..2023-11-14"},
        {"last night", "last night=2023-11-14..2023-11-15"},
        {"this morning", "this morning=2023-11-15..2023-11-16"},
        {"last week", "last week=2023-11-06..2023-11-13"},
        {"this week", "this week=2023-11-13..2023-11-20"},
        {"the week before last", "the week before last=2023-10-30..2023-11-06"},
        {"last weekend", "last weekend=2023-11-11..2023-11-13"},
        {"last month", "last month=2023-10-01..2023-11-01"},
        {"this month", "this month=2023-11-01..2023-12-01"},
        {"last year", "last year=2022-01-01..2023-01-01"},
        {"this year", "this year=2023-01-01..2024-01-01"},
        {"in the last week", "the last week=2023-11-09..2023-11-16"},
        {"past month", "past month=2023-10-16..2023-11-16"},
        {"within the last 3 days", "the last 3 days=2023-11-13..2023-11-16"},
        {"last two weeks", "last two weeks=2023-11-02..2023-11-16"},
        {"three days ago", "three days ago=2023-11-12..2023-11-13"},
        {"3 days ago", "3 days ago=2023-11-12..2023-11-13"},
        {"a week ago", "a week ago=2023-11-06..2023-11-13"},
        {"a couple of weeks ago", "a couple of weeks ago=2023-10-30..2023-11-06"},
        {"two months ago", "two months ago=2023-09-01..2023-10-01"},
        {"12 months ago", "12 months ago=2022-11-01..2022-12-01"},
        {"4 years ago", "4 years ago=2019-01-01..2020-01-01"},
        {"an hour ago", "an hour ago=2023-11-15..2023-11-16"},
        {"last Tuesday", "last Tuesday=2023-11-14..2023-11-15"},
        {"last Wednesday", "last Wednesday=2023-11-08..2023-11-09"},
        {"on Monday", "Monday=2023-11-13..2023-11-14"},
        {"on Wednesday", "Wednesday=2023-11-15..2023-11-16"},
        {"on Thursday", "Thursday=2023-11-09..2023-11-10"},
        {"this Monday", "this Monday=2023-11-13..2023-11-14"},
        {"Friday last week", "Friday last week=2023-11-10..2023-11-11"},
        {"last week on Friday", "last week on Friday=2023-11-10..2023-11-11"},
        {"last summer", "last summer=2023-06-01..2023-09-01"},
        {"last fall", "last fall=2022-09-01..2022-12-01"},
        {"last May", "last May=2023-05-01..2023-06-01"},
        {"last November", "last November=2022-11-01..2022-12-01"},
        {"the Sunday before October 25, 2022",
         "the Sunday before October 25, 2022=2022-10-23..2022-10-24"},
        {"the week before August 3, 2023", "the week before August 3, 2023=2023-07-27..2023-08-03"},
        {"the weekend before October 4, 2023",
         "the weekend before October 4, 2023=2023-09-30..2023-10-02"},
        {"the day after May 8", "the day after May 8=2023-05-09..2023-05-10"},
        {"two weeks before August 11, 2023",
         "two weeks before August 11, 2023=2023-07-24..2023-07-31"},
        {"last weekend before April 10, 2023",
         "last weekend before April 10, 2023=2023-04-08..2023-04-10"},
        {"last Friday on 23 January, 2022",
         "last Friday on 23 January, 2022=2022-01-23..2022-01-24"},
        {"last week, as mentioned on November 6, 2023",
         "last week=2023-11-06..2023-11-13; November 6, 2023=2023-11-06..2023-11-07"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(ranges)
{
    static const struct row rows[] = {
        {"between March and May 2023", "between March and May 2023=2023-03-01..2023-06-01"},
        {"between March and May", "between March and May=2023-03-01..2023-06-01"},
        {"between November and February 2023",
         "between November and February 2023=2022-11-01..2023-03-01"},
        {"between December 2022 and March",
         "between December 2022 and March=2022-12-01..2023-04-01"},
        {"between August 11 and August 15 2023",
         "between August 11 and August 15 2023=2023-08-11..2023-08-16"},
        {"from 2020 to 2022", "from 2020 to 2022=2020-01-01..2023-01-01"},
        {"from Monday until yesterday", "from Monday until yesterday=2023-11-13..2023-11-15"},
        {"between last week and today", "between last week and today=2023-11-06..2023-11-16"},
        {"since March", "since March=2023-03-01..2023-11-16"},
        {"since 2022", "since 2022=2022-01-01..2023-11-16"},
        {"since last week", "since last week=2023-11-06..2023-11-16"},
        {"since yesterday", "since yesterday=2023-11-14..2023-11-16"},
        {"after October 2023", "after October 2023=2023-11-01..2023-11-16"},
        {"before May 2023", ""},
        {"until last week", ""},
        {"before yesterday or in 2021", "2021=2021-01-01..2022-01-01"},
        {"by 7 November, 2022", "7 November, 2022=2022-11-07..2022-11-08"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(words_that_only_look_like_dates)
{
    static const char *const queries[] = {
        "may I use tabs",
        "How may 8 threads share a lock",
        "why does this may fail",
        "process 3 may fail",
        "they march on",
        "I want to march 3 miles",
        "the second argument",
        "how many seconds until timeout",
        "What did April say to June",
        "is august company a customer",
        "Spring Boot in Spring",
        "1984",
        "George Orwell 1984",
        "port 2023",
        "HTTP 2000 requests",
        "release 2.0.2023",
        "in v2023.1",
        "in 2022.1",
        "in 2022/23",
        "5/8",
        "on 5/8/2023",
        "on 05.08.2023",
        "CVE-2023-05-12",
        "report-2023-05-08.md",
        "2023-13-01",
        "2023-05-083",
        "the 3 days",
        "for three days",
        "a few days ago",
        "long ago",
        "last time",
        "the last argument",
        "next week",
        "next Friday",
        "next May",
        "tomorrow",
        "in 2100",
        "in 1066",
        "Black Friday",
        "every Monday.com board",
        "5000 years ago",
        "between you and me",
        "since when",
        "hex to dec",
        "convert in dec",
        "in sep",
        "May",
        "",
    };
    set_zone("JST-9");
    for (size_t i = 0; i < FUMI_COUNT(queries); i++) {
        char got[600];
        written(got, sizeof(got), fumi_str(queries[i]), time_of("2023-11-15T03:00:00Z"));
        if (*got)
            TEST_FAIL("\"%s\": got %s", queries[i], got);
    }
}

TEST(japanese)
{
    static const struct row rows[] = {
        {"今日の予定", "今日=2023-11-15..2023-11-16"},
        {"昨日決めたこと", "昨日=2023-11-14..2023-11-15"},
        {"一昨日", "一昨日=2023-11-13..2023-11-14"},
        {"おとといの会議", "おととい=2023-11-13..2023-11-14"},
        {"先週何をした", "先週=2023-11-06..2023-11-13"},
        {"今週", "今週=2023-11-13..2023-11-20"},
        {"先週の金曜日", "先週の金曜日=2023-11-10..2023-11-11"},
        {"先週末", "先週末=2023-11-11..2023-11-13"},
        {"月曜日の障害", "月曜日=2023-11-13..2023-11-14"},
        {"先月", "先月=2023-10-01..2023-11-01"},
        {"先々月", "先々月=2023-09-01..2023-10-01"},
        {"今月", "今月=2023-11-01..2023-12-01"},
        {"先月の5日", "先月の5日=2023-10-05..2023-10-06"},
        {"去年", "去年=2022-01-01..2023-01-01"},
        {"昨年の９月", "昨年の９月=2022-09-01..2022-10-01"},
        {"去年の夏", "去年の夏=2022-06-01..2022-09-01"},
        {"一昨年", "一昨年=2021-01-01..2022-01-01"},
        {"今年", "今年=2023-01-01..2024-01-01"},
        {"3日前", "3日前=2023-11-12..2023-11-13"},
        {"三日前に", "三日前=2023-11-12..2023-11-13"},
        {"2週間前", "2週間前=2023-10-30..2023-11-06"},
        {"二週間前", "二週間前=2023-10-30..2023-11-06"},
        {"3か月前", "3か月前=2023-08-01..2023-09-01"},
        {"３ヶ月前", "３ヶ月前=2023-08-01..2023-09-01"},
        {"2年前", "2年前=2021-01-01..2022-01-01"},
        {"2年前の9月", "2年前の9月=2021-09-01..2021-10-01"},
        {"2022年前半の売上", "2022年=2022-01-01..2023-01-01"},
        {"過去3日間", "過去3日間=2023-11-13..2023-11-16"},
        {"この1週間", "この1週間=2023-11-09..2023-11-16"},
        {"9月", "9月=2023-09-01..2023-10-01"},
        {"十二月", "十二月=2022-12-01..2023-01-01"},
        {"9月3日", "9月3日=2023-09-03..2023-09-04"},
        {"2023年", "2023年=2023-01-01..2024-01-01"},
        {"二〇二二年", "二〇二二年=2022-01-01..2023-01-01"},
        {"2023年9月", "2023年9月=2023-09-01..2023-10-01"},
        {"２０２３年９月３日に", "２０２３年９月３日=2023-09-03..2023-09-04"},
        {"2023 年 9 月", "2023 年 9 月=2023-09-01..2023-10-01"},
        {"令和5年", "令和5年=2023-01-01..2024-01-01"},
        {"令和元年五月", "令和元年五月=2019-05-01..2019-06-01"},
        {"3月から5月まで", "3月から5月まで=2023-03-01..2023-06-01"},
        {"2022年9月〜2023年2月", "2022年9月〜2023年2月=2022-09-01..2023-03-01"},
        {"9月3日から10日", "9月3日から=2023-09-03..2023-11-16"},
        {"3月と5月の間", "3月と5月の間=2023-03-01..2023-06-01"},
        {"3月と5月", "3月=2023-03-01..2023-04-01; 5月=2023-05-01..2023-06-01"},
        {"先月以降", "先月以降=2023-10-01..2023-11-16"},
        {"9月以前", ""},
        {"昨日まで", ""},
        {"来週の金曜日", ""},
        {"毎週月曜日", ""},
        {"明日", ""},
        {"今日本では", ""},
        {"日本日本年金", ""},
        {"2023年度", ""},
        {"1990年代", ""},
        {"3日間", ""},
        {"3か月", ""},
        {"5年", ""},
        {"13月", ""},
        {"2月30日", ""},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(days_are_those_of_the_time_zone)
{
    static const struct {
        const char *zone, *now, *query, *since, *until;
    } rows[] = {
        {"UTC0", "2023-11-15T23:30:00Z", "today", "2023-11-15T00:00:00Z", "2023-11-16T00:00:00Z"},
        {"JST-9", "2023-11-15T23:30:00Z", "today", "2023-11-15T15:00:00Z", "2023-11-16T15:00:00Z"},
        {"EST5EDT,M3.2.0,M11.1.0", "2023-11-15T03:00:00Z", "today", "2023-11-14T05:00:00Z",
         "2023-11-15T05:00:00Z"},
        /* the clocks change inside the span */
        {"EST5EDT,M3.2.0,M11.1.0", "2023-11-15T12:00:00Z", "in March 2023", "2023-03-01T05:00:00Z",
         "2023-04-01T04:00:00Z"},
        {"EST5EDT,M3.2.0,M11.1.0", "2023-11-15T12:00:00Z", "on 2023-11-05", "2023-11-05T04:00:00Z",
         "2023-11-06T05:00:00Z"},
        {"EST5EDT,M3.2.0,M11.1.0", "2023-11-15T12:00:00Z", "on 2023-03-12", "2023-03-12T05:00:00Z",
         "2023-03-13T04:00:00Z"},
        /* 15 October has no midnight, and 18 February has two hours from 23:00 */
        {"BRT3BRST,M10.3.0/0,M2.3.0/0", "2023-11-15T12:00:00Z", "on 15 October 2023",
         "2023-10-15T03:00:00Z", "2023-10-16T02:00:00Z"},
        {"BRT3BRST,M10.3.0/0,M2.3.0/0", "2023-11-15T12:00:00Z", "on 14 October 2023",
         "2023-10-14T03:00:00Z", "2023-10-15T03:00:00Z"},
        {"BRT3BRST,M10.3.0/0,M2.3.0/0", "2023-11-15T12:00:00Z", "on 18 February 2023",
         "2023-02-18T02:00:00Z", "2023-02-19T03:00:00Z"},
        /* the clocks go back from 01:00, so that midnight is twice */
        {"AZO1AZOS,M3.5.0/0,M10.5.0/1", "2023-11-15T12:00:00Z", "on 29 October 2023",
         "2023-10-29T00:00:00Z", "2023-10-30T01:00:00Z"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct date_span s = {0};
        set_zone(rows[i].zone);
        size_t n = dates_read(fumi_str(rows[i].query), time_of(rows[i].now), &s, 1);
        if (n != 1 || s.since != time_of(rows[i].since) || s.until != time_of(rows[i].until))
            TEST_FAIL("%s in %s: %lld to %lld", rows[i].query, rows[i].zone, (long long)s.since,
                      (long long)s.until);
    }
}

TEST(no_more_spans_than_asked_for)
{
    struct date_span s[2];
    set_zone("UTC0");
    struct fumi_str query = FUMI_STR("today, yesterday, last week");
    CHECK_INT(dates_read(query, time_of("2023-11-15T12:00:00Z"), s, 2), 2);
    CHECK_INT(s[1].begin, 7);
    CHECK_INT(s[1].end, 16);
    CHECK_INT(dates_read(query, time_of("2023-11-15T12:00:00Z"), s, 0), 0);
}

TEST(any_time_is_accepted_as_now)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX, 253402300799999};
    struct date_span s[1];
    set_zone("UTC0");
    for (size_t i = 0; i < FUMI_COUNT(times); i++)
        CHECK_INT(dates_read(FUMI_STR("today"), times[i], s, 1), 0);
}
