/* Texts that are JSON and texts that are not, by category. Each is a whole document; all are nested
 * less than 64 deep. */
#ifndef FUMI_JSON_CASES_H
#define FUMI_JSON_CASES_H

#include "base/str.h"

#define ROW(literal)                                                                               \
    {                                                                                              \
        "" literal, sizeof(literal) - 1                                                            \
    }
#define TEN(s) s s s s s s s s s s

/* clang-format off */
static const struct fumi_str valid_texts[] = {
    /* words */
    ROW("null"), ROW("true"), ROW("false"),
    /* whole numbers */
    ROW("0"), ROW("-0"), ROW("1"), ROW("-1"), ROW("9"), ROW("10"), ROW("-10"), ROW("1234567890"),
    ROW("12345678"), ROW("123456789012345"), ROW("1234567890123456"), ROW("12345678901234567"),
    ROW("9007199254740993"), ROW("9223372036854775807"), ROW("-9223372036854775808"),
    ROW("18446744073709551616"), ROW("123456789012345678901234567890"),
    ROW("1" TEN(TEN("0"))), ROW("-9" TEN(TEN("8"))),
    /* fractions */
    ROW("0.0"), ROW("-0.0"), ROW("0.5"), ROW("1.5"), ROW("-1.50"), ROW("10.01"), ROW("0.000001"),
    ROW("3.14159265358979323846"), ROW("0." TEN(TEN("0")) "1"), ROW("100.00"),
    /* exponents */
    ROW("0e0"), ROW("0E0"), ROW("-0e-0"), ROW("0e+5"), ROW("1e1"), ROW("1E1"), ROW("1e+1"),
    ROW("1E-1"), ROW("1e00"), ROW("1e+007"), ROW("1.5e3"), ROW("123.456E-78"), ROW("1e400"),
    ROW("-1e400"), ROW("1e-400"), ROW("1e99999999999999999999"), ROW("0.1e-99999999999999999999"),
    /* strings without escapes */
    ROW("\"\""), ROW("\"a\""), ROW("\" \""), ROW("\"/\""), ROW("\"'\""), ROW("\"null\""),
    ROW("\"[1,2]\""), ROW("\"{}\""), ROW("\"//\""), ROW("\"/* */\""), ROW("\"a:b,c\""),
    ROW("\"123456789012345\""), ROW("\"1234567890123456\""), ROW("\"12345678901234567\""),
    ROW("\"1234567890123456789012345678901\""), ROW("\"12345678901234567890123456789012\""),
    ROW("\"123456789012345678901234567890123\""), ROW("\"" TEN(TEN("long ")) "\""),
    /* escapes */
    ROW("\"\\\"\""), ROW("\"\\\\\""), ROW("\"\\/\""), ROW("\"\\b\\f\\n\\r\\t\""),
    ROW("\"\\\\\\\\\""), ROW("\"\\\\\\\"\""), ROW("\"\\\\u0041\""), ROW("\"\\\\n\""),
    ROW("\"\\u0000\""), ROW("\"a\\u0000b\""), ROW("\"\\u0041\""), ROW("\"\\u00e9\""),
    ROW("\"\\u00E9\""), ROW("\"\\uabcd\\uABCD\\uAbCd\""), ROW("\"\\u2028\\u2029\""),
    ROW("\"\\uD7FF\""), ROW("\"\\uE000\""), ROW("\"\\uFFFE\\uFFFF\""), ROW("\"\\u0022\\u005c\""),
    ROW("\"\\ud83d\\ude00\""), ROW("\"\\uD800\\uDC00\""), ROW("\"\\uDBFF\\uDFFF\""),
    ROW("\"\\ud83d\\uDE00\\ud83d\\ude00\""), ROW("\"x\\ud834\\udd1ey\""),
    ROW("\"" TEN("\\u0041") "\""), ROW("\"" TEN("plain and \\\" ") "\""),
    /* UTF-8: the first and last character of each length, and characters that are often refused by
     * mistake */
    ROW("\"\x7f\""), ROW("\"\xc2\x80\""), ROW("\"\xc3\xa9\""), ROW("\"\xdf\xbf\""),
    ROW("\"\xe0\xa0\x80\""), ROW("\"\xe2\x82\xac\""), ROW("\"\xe2\x80\xa8\xe2\x80\xa9\""),
    ROW("\"\xed\x9f\xbf\""), ROW("\"\xee\x80\x80\""), ROW("\"\xef\xbb\xbf\""),
    ROW("\"\xef\xbf\xbd\""), ROW("\"\xef\xbf\xbe\xef\xbf\xbf\""), ROW("\"\xf0\x90\x80\x80\""),
    ROW("\"\xf0\x9f\x98\x80\""), ROW("\"\xf4\x8f\xbf\xbf\""), ROW("\"\xe6\x97\xa5\xe6\x9c\xac\""),
    ROW("\"123456789012345\xc3\xa9\""), ROW("\"12345678901234\xe2\x82\xac\""),
    ROW("\"" TEN(TEN("\xc3\xa9")) "\""), ROW("\"e\xcc\x81\""), ROW("\"\xc2\xa0\""),
    /* arrays */
    ROW("[]"), ROW("[ ]"), ROW("[1]"), ROW("[1,2]"), ROW("[-1,0.5,1e9]"), ROW("[[]]"),
    ROW("[[],[]]"), ROW("[[[1]],[2],3]"), ROW("[null,true,false]"), ROW("[\"\",\"\"]"), ROW("[{}]"),
    ROW("[{},{},[]]"), ROW("[" TEN("1,") "1]"), ROW("[" TEN(TEN("[],")) "0]"), ROW("[\"a\",1,null,{}]"),
    ROW("[" TEN("[") TEN("]") "]"), ROW("[\"]\"]"), ROW("[\"\\\\\",\"\\\"\"]"),
    /* objects */
    ROW("{}"), ROW("{ }"), ROW("{\"a\":1}"), ROW("{\"a\":1,\"b\":2}"), ROW("{\"\":0}"),
    ROW("{\"\":{\"\":{}}}"), ROW("{\"a\":1,\"a\":2}"), ROW("{\"a\":{},\"b\":[]}"),
    ROW("{\"a\":{\"a\":{\"a\":null}}}"), ROW("{\"\\u0061\":1,\"a\":2}"), ROW("{\"\\u0000\":null}"),
    ROW("{\"\xc3\xa9\":\"\xc3\xa9\"}"), ROW("{\"a\":\"b\",\"c\":\"d\",\"e\":[{\"f\":\"g\"}]}"),
    ROW("{\"}\":\"{\"}"), ROW("{\"a\\\"b\":\"c\\\\\"}"), ROW("{" TEN("\"k\":[1],") "\"k\":0}"),
    ROW("{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23],\"id\":1}"),
    /* white space */
    ROW(" 1"), ROW("1 "), ROW("\t\r\n 1\t\r\n "), ROW(" []"), ROW("[] "), ROW("\n{}\n"),
    ROW("\r\n\"a\"\r\n"), ROW("[ 1 , 2 ]"), ROW("[\t1\n,\r2 ]"), ROW("{ \"a\" : 1 , \"b\" : [ ] }"),
    ROW("{\n\t\"a\":\r\n\t[\n\t\ttrue\n\t]\n}\n"), ROW(TEN(TEN(" ")) "0" TEN(TEN("\n"))),
    ROW("[" TEN(TEN(" ")) "1" TEN(TEN("\t")) "," TEN(TEN("\r\n")) "2" TEN(TEN(" ")) "]"),
    ROW(" null "), ROW(" true\n"), ROW("\tfalse"),
};

static const struct fumi_str invalid_texts[] = {
    /* an object without a key, like the one before it */
    ROW("{\"a\":{},{}}"), ROW("{\"a\":{\"b\":1},{\"b\":2},\"c\":3}"),
    ROW("[{\"a\":[{},{}],{}}]"),
    /* nothing at all */
    ROW(""), ROW(" "), ROW("\n"), ROW(" \t\r\n"), ROW(TEN(TEN(" "))),
    /* words */
    ROW("n"), ROW("nul"), ROW("nulL"), ROW("NULL"), ROW("Null"), ROW("nulll"), ROW("null0"),
    ROW("null\""), ROW("nil"), ROW("None"), ROW("undefined"), ROW("t"), ROW("tru"), ROW("True"),
    ROW("TRUE"), ROW("truee"), ROW("true1"), ROW("tRue"), ROW("f"), ROW("fals"), ROW("False"),
    ROW("falsee"), ROW("fal se"), ROW("truefalse"), ROW("true false"), ROW("yes"), ROW("a"),
    ROW("[nul]"), ROW("[true false]"), ROW("[nullnull]"), ROW("\xc3\xa9"),
    /* numbers: the sign */
    ROW("-"), ROW("+"), ROW("+1"), ROW("+0"), ROW("--1"), ROW("-+1"), ROW("+-1"), ROW("- 1"),
    ROW("-a"), ROW("-\"1\""), ROW("1-"), ROW("1-1"), ROW("1+1"), ROW("-."), ROW("-.5"), ROW("[-]"),
    ROW("\xe2\x88\x92" "1"),
    /* numbers: leading zeros and other bases */
    ROW("00"), ROW("01"), ROW("-00"), ROW("-01"), ROW("012"), ROW("00.5"), ROW("-012.5"), ROW("0x1"),
    ROW("0X1F"), ROW("0b1"), ROW("0o7"), ROW("1_000"), ROW("1,000"), ROW("1 000"), ROW("1'000"),
    ROW("#1"), ROW("$1"), ROW("1a"), ROW("1true"), ROW("1f"), ROW("1L"), ROW("12n"),
    ROW("\xef\xbc\x91"), ROW("1\xef\xbc\x91"), ROW("\xd9\xa1"), ROW("[01]"), ROW("{\"a\":00}"),
    /* numbers: the fraction */
    ROW("."), ROW(".5"), ROW("2."), ROW("-2."), ROW("0."), ROW("1.."), ROW("1..2"), ROW("1.2.3"),
    ROW("1.a"), ROW("1.-2"), ROW("1. 5"), ROW("1 .5"), ROW("1,5"), ROW("[2.]"), ROW("2.,"),
    /* numbers: the exponent */
    ROW("1e"), ROW("1E"), ROW("1e+"), ROW("1E-"), ROW("1e1."), ROW("1e1.5"), ROW("1ee1"), ROW("1e1e1"),
    ROW("1e+-1"), ROW("1e++1"), ROW("e1"), ROW("1.e1"), ROW(".e1"), ROW("0e"), ROW("0e+"), ROW("1 e1"),
    ROW("1e 1"), ROW("1ea"), ROW("2.5e"), ROW("[1e]"), ROW("[1e+]"), ROW("{\"a\":1E}"),
    /* numbers: things that are not numbers */
    ROW("NaN"), ROW("nan"), ROW("-NaN"), ROW("Infinity"), ROW("-Infinity"), ROW("+Infinity"),
    ROW("inf"), ROW("Inf"), ROW("-inf"), ROW("1.#INF"), ROW("[NaN]"), ROW("[-Infinity]"),
    /* strings: without an end or a beginning */
    ROW("\""), ROW("\"a"), ROW("a\""), ROW("\"\"\""), ROW("\"a\"b\""), ROW("\"a\" \"b\""),
    ROW("\"\\\""), ROW("\"a\\\""), ROW("\"\\\\\\\""), ROW("\"\\"), ROW("[\"a]"), ROW("[\"a,1]"),
    ROW("'a'"), ROW("'a\""), ROW("\"a'"), ROW("`a`"), ROW("\xe2\x80\x9c" "a\xe2\x80\x9d"),
    ROW("\"1234567890123456"), ROW("\"12345678901234567890123456789012"), ROW("['a']"),
    /* strings: raw control characters */
    ROW("\"\x00\""), ROW("\"\x01\""), ROW("\"\x02\""), ROW("\"\x03\""), ROW("\"\x04\""),
    ROW("\"\x05\""), ROW("\"\x06\""), ROW("\"\x07\""), ROW("\"\x08\""), ROW("\"\x09\""),
    ROW("\"\x0a\""), ROW("\"\x0b\""), ROW("\"\x0c\""), ROW("\"\x0d\""), ROW("\"\x0e\""),
    ROW("\"\x0f\""), ROW("\"\x10\""), ROW("\"\x11\""), ROW("\"\x12\""), ROW("\"\x13\""),
    ROW("\"\x14\""), ROW("\"\x15\""), ROW("\"\x16\""), ROW("\"\x17\""), ROW("\"\x18\""),
    ROW("\"\x19\""), ROW("\"\x1a\""), ROW("\"\x1b\""), ROW("\"\x1c\""), ROW("\"\x1d\""),
    ROW("\"\x1e\""), ROW("\"\x1f\""), ROW("\"\\\n\""), ROW("\"\\\x00\""), ROW("[\"a\nb\"]"),
    ROW("{\"a\tb\":1}"), ROW("\"1234567890123456\x1f\""), ROW("\"line one\r\nline two\""),
    /* strings: escapes */
    ROW("\"\\a\""), ROW("\"\\v\""), ROW("\"\\0\""), ROW("\"\\1\""), ROW("\"\\x41\""), ROW("\"\\e\""),
    ROW("\"\\'\""), ROW("\"\\ \""), ROW("\"\\N\""), ROW("\"\\B\""), ROW("\"\\u\""), ROW("\"\\u1\""),
    ROW("\"\\u12\""), ROW("\"\\u123\""), ROW("\"\\u12G4\""), ROW("\"\\uG123\""), ROW("\"\\u123G\""),
    ROW("\"\\u 123\""), ROW("\"\\u+123\""), ROW("\"\\u-001\""), ROW("\"\\u0x41\""), ROW("\"\\U1234\""),
    ROW("\"\\u{41}\""), ROW("\"\\u00\\n\""), ROW("\"\\u123:\""), ROW("\"\\u@123\""), ROW("\"\\u12`4\""),
    ROW("\"\\u"), ROW("\"\\u1"), ROW("\"\\u12"), ROW("\"\\u123"), ROW("\"\\u1234"), ROW("\\u0041"),
    ROW("\"\\\xc3\xa9\""), ROW("\"\\u00\xc3\xa9\""), ROW("\"\\u123\xff\""), ROW("\"\\\x7f\""),
    /* strings: unpaired surrogates */
    ROW("\"\\ud800\""), ROW("\"\\uDBFF\""), ROW("\"\\udc00\""), ROW("\"\\uDFFF\""),
    ROW("\"\\ud800a\""), ROW("\"\\ud800\\n\""), ROW("\"\\ud800\\u0041\""), ROW("\"\\ud800\\ud800\""),
    ROW("\"\\ud800\\ue000\""), ROW("\"\\ud800\\udbff\""), ROW("\"\\udc00\\ud800\""),
    ROW("\"\\udc00\\udc00\""), ROW("\"\\ud800 \\udc00\""), ROW("\"\\ud800\\\\udc00\""),
    ROW("\"\\ud800udc00\""), ROW("\"\\ud800\\"), ROW("\"\\ud800\\u"), ROW("\"\\ud800\\udc0"),
    ROW("\"\\ud800\\u\""), ROW("\"\\ud800\\udc0\""), ROW("\"\\ud800\\udc0g\""), ROW("\"\\ud800\\x\""),
    ROW("\"\\ud83d\\ude00\\ude00\""), ROW("\"\\ud83d\\ud83d\\ude00\""), ROW("{\"\\ud800\":1}"),
    ROW("\"\\ud800\xed\xb0\x80\""), ROW("\"\\ud800"), ROW("\"\\ud800\"\\udc00\""),
    /* UTF-8: stray and truncated sequences */
    ROW("\"\x80\""), ROW("\"\xbf\""), ROW("\"a\x80" "b\""), ROW("\"\xc3\xa9\xa9\""), ROW("\"\xc3\""),
    ROW("\"\xc3" "a\""), ROW("\"\xe2\""), ROW("\"\xe2\x82\""), ROW("\"\xe2" "a\xac\""), ROW("\"\xe2\x82" "a\""),
    ROW("\"\xf0\""), ROW("\"\xf0\x9f\""), ROW("\"\xf0\x9f\x98\""), ROW("\"\xf0\x9f\x98" "a\""),
    ROW("\"\xf0\x9f" "ab\""), ROW("\"\xc3\xc3\xa9\""), ROW("\"\xe2\x82\xc3\xa9\""),
    ROW("\"\xc3"), ROW("\"\xe2\x82"), ROW("\"\xf0\x9f\x98"), ROW("[\"\xe2\x82\"]"), ROW("{\"\xc3\":1}"),
    ROW("\"123456789012345\xc3\""), ROW("\"1234567890123456\x80\""), ROW("\"\xe9t\xe9\""),
    /* UTF-8: overlong forms, surrogates, code points above U+10FFFF, bytes that never occur */
    ROW("\"\xc0\x80\""), ROW("\"\xc0\xaf\""), ROW("\"\xc1\xbf\""), ROW("\"\xe0\x80\x80\""),
    ROW("\"\xe0\x80\xaf\""), ROW("\"\xe0\x9f\xbf\""), ROW("\"\xf0\x80\x80\xaf\""), ROW("\"\xf0\x8f\xbf\xbf\""),
    ROW("\"\xed\xa0\x80\""), ROW("\"\xed\xaf\xbf\""), ROW("\"\xed\xb0\x80\""), ROW("\"\xed\xbf\xbf\""),
    ROW("\"\xed\xa0\xbd\xed\xb8\x80\""), ROW("\"\xf4\x90\x80\x80\""), ROW("\"\xf5\x80\x80\x80\""),
    ROW("\"\xf7\xbf\xbf\xbf\""), ROW("\"\xf8\x88\x80\x80\x80\""), ROW("\"\xfc\x84\x80\x80\x80\x80\""),
    ROW("\"\xfe\""), ROW("\"\xff\""), ROW("\"\xff\xfe\""), ROW("\xff"), ROW("[\xff]"), ROW("\xff\xfe[\x00]\x00"),
    ROW("\x00[\x00]"), ROW("[\x00]\x00"),
    /* arrays */
    ROW("["), ROW("]"), ROW("[1"), ROW("[1,"), ROW("[,"), ROW("[,]"), ROW("[,1]"), ROW("[1,]"),
    ROW("[1,,2]"), ROW("[1 2]"), ROW("[1;2]"), ROW("[1:2]"), ROW("[\"a\":1]"), ROW("[]]"), ROW("[[]"),
    ROW("[][]"), ROW("[1][2]"), ROW("[] 1"), ROW("[1}"), ROW("[(1)]"), ROW("[1,2"), ROW("[\"a\""),
    ROW("[\"a\" \"b\"]"), ROW("[[1,2]"), ROW("[1]]"), ROW("[[],"), ROW("[[],]"), ROW("[{]"), ROW("[{]}"),
    ROW("<1>"), ROW("(1)"), ROW("[1...]"), ROW("[*]"), ROW("[a]"), ROW("]["), ROW("[\"a\",\n4\n,1"),
    ROW("[" TEN("1,") "]"), ROW("[null,"), ROW("[-1,2,x]"), ROW("[[[[]]]"), ROW("1]"), ROW("[\"\\\"]"),
    /* objects */
    ROW("{"), ROW("}"), ROW("{\"a\""), ROW("{\"a\":"), ROW("{\"a\":1"), ROW("{\"a\":1,"), ROW("{\"a\"}"),
    ROW("{\"a\":}"), ROW("{\"a\":1,}"), ROW("{,}"), ROW("{,\"a\":1}"), ROW("{\"a\":1,,\"b\":2}"),
    ROW("{\"a\" 1}"), ROW("{\"a\",1}"), ROW("{\"a\"=1}"), ROW("{\"a\":1 \"b\":2}"), ROW("{\"a\":1;\"b\":2}"),
    ROW("{\"a\"::1}"), ROW("{:1}"), ROW("{\"a\":1:2}"), ROW("{\"a\":1,2}"), ROW("{a:1}"), ROW("{'a':1}"),
    ROW("{1:1}"), ROW("{null:1}"), ROW("{true:1}"), ROW("{[]:1}"), ROW("{{}:1}"), ROW("{\"a\":1}}"),
    ROW("{\"a\":1]"), ROW("{}{}"), ROW("{} []"), ROW("{\"a\":1}#"), ROW("{\"a\":1}/**/"), ROW("{]"),
    ROW("{\"a\":{}"), ROW("{\"a\":[}"), ROW("{\"a\":[]"), ROW("{\"a\":\"b"), ROW("{\"a"), ROW("{1}"),
    ROW("{\"a\":1,\"b\"}"), ROW("{\"a\":1,\"b\":}"), ROW("{\"a\":1,b:2}"), ROW("{\"a\":b}"), ROW("{\"a\":,1}"),
    ROW("{[1]}"), ROW("{\"a\":1 2}"), ROW("{\"\\u0061\""), ROW("{\"a\"\"b\":1}"), ROW("}{"), ROW("{\"a\":1,]"),
    /* text after the document */
    ROW("1 2"), ROW("1,"), ROW("1,2"), ROW(",1"), ROW("1 x"), ROW("\"a\"x"), ROW("\"a\",\"b\""), ROW("{}x"),
    ROW("[]x"), ROW("[1],"), ROW("null,"), ROW("1\x00"), ROW("[]\x00"), ROW("[] \x00"), ROW("\x00" "1"),
    ROW("{}\x00\x00\x00"), ROW("[\x00]"), ROW("{\x00}"), ROW("1\x00" "2"), ROW("[1\x00]"), ROW("[1,\x00" "2]"),
    ROW("1;"), ROW("[]\xff"), ROW("1\xc2\xa0"), ROW("{}:"), ROW("[1]\n[2]"), ROW("{}\n{}\n"),
    /* comments and other extensions */
    ROW("//"), ROW("1//"), ROW("1 // one"), ROW("/**/1"), ROW("[1/**/]"), ROW("[1,/* two */2]"), ROW("#\n1"),
    ROW("[1,2] # both"), ROW("--\n1"), ROW("<!-- -->1"), ROW("{/**/\"a\":1}"), ROW("/1/"), ROW(")]}'\n[]"),
    /* characters that look like white space, and the byte order mark */
    ROW("\x0c" "1"), ROW("1\x0c"), ROW("\x0b" "1"), ROW("1\x0b"), ROW("\x08" "1"), ROW("\x1f" "1"), ROW("\x7f" "1"),
    ROW("\x85" "1"), ROW("\xa0" "1"), ROW("\xc2\x85" "1"), ROW("\xc2\xa0" "1"), ROW("[\xc2\xa0]"),
    ROW("[1\x0c]"), ROW("[\x0c" "1]"), ROW("{\"a\"\x0b:1}"), ROW("\xe2\x80\xa8" "1"), ROW("\xe2\x80\x83" "1"),
    ROW("\xe3\x80\x80" "1"), ROW("[1,\xe2\x81\xa0" "2]"), ROW("\\n1"), ROW("\\t"), ROW("\xef\xbb\xbf"),
    ROW("\xef\xbb\xbf" "1"), ROW("\xef\xbb\xbf{}"), ROW("\xef\xbb[]"), ROW("[]\xef\xbb\xbf"), ROW("[\xef\xbb\xbf" "1]"),
    ROW("\xfe\xff\x00" "1"), ROW("1\x00\x00\x00"), ROW("+\xef\xbb\xbf" "1"),
};
/* clang-format on */

#endif
