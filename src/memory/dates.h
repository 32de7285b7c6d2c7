/* Understands dates in a question, in English and Japanese: "in September 2022", "three days ago",
 * "last Tuesday", "between March and May", 昨日, 先週の金曜日, 9月3日. Pure; thread-safe. */
#ifndef FUMI_MEMORY_DATES_H
#define FUMI_MEMORY_DATES_H

#include "base/str.h"

/* The time that a part of the query names. Both ends are starts of days in the local time zone; a
 * day that begins with a change of the clocks begins at its first moment. */
struct date_span {
    int64_t since, until; /* milliseconds UTC; until is exclusive, since < until */
    uint32_t begin, end;  /* bytes of the query; they begin and end with a character */
};

/* Writes the spans in order of their place in the query, at most `most`, and returns their number.
 * They do not overlap as parts of the query, but may as times. `now` is in milliseconds UTC.
 *
 * - A month, day or weekday without a year is the last one that has begun, today included.
 * - A week begins on Monday. "A week ago" is the calendar week, "a month ago" the calendar month;
 *   "in the last week" and "past week" are the seven days up to today, today included.
 * - "since X" and "after X" end with today. "before X" and "until X" are no spans, nor is the
 *   future ("tomorrow", "next week").
 * - What can be an ordinary word or number is a date only beside other words of a date: "may" and
 *   "march" as verbs, "1984" without "in", "of" or the like. 5/8 and 5/8/2023 are not understood.
 *   Years are 1970 to the year after that of now.
 *
 * Any bytes are accepted. Only the first 4 KiB or 512 words are read. */
size_t dates_read(struct fumi_str query, int64_t now, struct date_span *out, size_t most);

#endif
