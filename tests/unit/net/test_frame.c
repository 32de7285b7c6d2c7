/* Content-Length headers on byte buffers. */
#include "net/frame.h"
#include "test.h"

struct row {
    struct fumi_str head;
    int rc; /* 1: read, 0: more is needed, -1: refused */
    size_t length;
    const char *text; /* part of the error text */
};

#define HEAD(head)                                                                                 \
    {                                                                                              \
        head, sizeof(head) - 1                                                                     \
    }

static const struct row rows[] = {
    {HEAD("Content-Length: 5\r\n\r\n"), 1, 5, NULL},
    {HEAD("content-length:5\r\n\r\n"), 1, 5, NULL},
    {HEAD("CONTENT-LENGTH: \t 0 \t\r\n\r\n"), 1, 0, NULL},
    {HEAD("Content-Length: 007\r\n\r\n"), 1, 7, NULL},
    {HEAD("Content-Length: 999999999999999\r\n\r\n"), 1, 999999999999999, NULL},
    {HEAD("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 9\r\n\r\n"),
     1, 9, NULL},
    {HEAD("Content-Length: 9\r\nContent-Type: x; charset=\"UTF8\"; y\r\n\r\n"), 1, 9, NULL},
    {HEAD("Content-Type: x\r\nX-Other: 1\r\nContent-Length: 1\r\n\r\n"), 1, 1, NULL},
    {HEAD("Content-Length: 9\r\nContent-Type: x; charset=utf-16\r\n\r\n"), -1, 0,
     "Content-Type must have the charset utf-8"},
    {HEAD("Content-Type: x\r\n\r\n"), -1, 0, "the header has no Content-Length"},
    {HEAD("\r\n"), -1, 0, "the header has no Content-Length"},
    {HEAD("Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), -1, 0,
     "the header has two Content-Length fields"},
    {HEAD("Content-Length: +5\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: -5\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: 0x5\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: 5, 5\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: 5 5\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length:\r\n\r\n"), -1, 0, "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: 1000000000000000\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length: 18446744073709551621\r\n\r\n"), -1, 0,
     "Content-Length must be a number of 1 to 15 digits"},
    {HEAD("Content-Length : 5\r\n\r\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("Content-Length: 5\n\r\n\r\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("Content-Length: 5\0\r\n\r\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("Content-Length: 5\r\n folded\r\n\r\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("{}\r\n"), -1, 0, "a header line must be \"Name: value\" followed by CR LF"},
    /* A peer that ends lines with LF alone would otherwise wait forever. */
    {HEAD("Content-Length: 5\n\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}\n"), -1, 0,
     "a header line must be \"Name: value\" followed by CR LF"},
    {HEAD("Content-Length: 5\r"), 0, 0, NULL},
};

TEST(heads)
{
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        size_t used = 0, length = 0;
        int rc = frame_read(rows[i].head, &used, &length, &e);
        if (rc != rows[i].rc || (rc == 1 && (used != rows[i].head.n || length != rows[i].length)) ||
            (rc < 0 && (e.code != FUMI_INVALID_REQUEST || strcmp(e.text, rows[i].text))))
            TEST_FAIL("row %zu: %d, %zu used, length %zu: %s", i, rc, used, length, e.text);
    }
}

/* At every length of an incomplete header more bytes are needed; bytes after it are not read. */
TEST(a_head_in_pieces)
{
    static const char text[] = "Content-Type: x\r\nContent-Length: 3\r\n\r\nabc";
    size_t head = sizeof(text) - 1 - 3, used, length;
    struct fumi_err e;
    for (size_t n = 0; n < head; n++)
        CHECK_INT(frame_read((struct fumi_str){text, n}, &used, &length, &e), 0);
    for (size_t n = head; n < sizeof(text); n++) {
        CHECK_INT(frame_read((struct fumi_str){text, n}, &used, &length, &e), 1);
        CHECK_INT(used, head);
        CHECK_INT(length, 3);
    }
}

TEST(a_head_that_is_too_long)
{
    char text[FRAME_HEAD_MAX + 100];
    size_t used, length;
    struct fumi_err e;
    memset(text, 'x', sizeof(text));
    memcpy(text, "X: ", 3);
    CHECK_INT(frame_read((struct fumi_str){text, FRAME_HEAD_MAX - 1}, &used, &length, &e), 0);
    CHECK_INT(frame_read((struct fumi_str){text, FRAME_HEAD_MAX}, &used, &length, &e), -1);
    CHECK_STR(fumi_str(e.text), "the header is longer than 4096 bytes");
    memcpy(text + FRAME_HEAD_MAX - 23, "\r\nContent-Length: 1\r\n\r\n", 23);
    CHECK_INT(frame_read((struct fumi_str){text, sizeof(text)}, &used, &length, &e), 1);
    CHECK_INT(used, FRAME_HEAD_MAX);
}

TEST(the_first_bytes)
{
    CHECK_INT(frame_detect(FUMI_STR("")), 0);
    CHECK_INT(frame_detect(FUMI_STR("C")), 0);
    CHECK_INT(frame_detect(FUMI_STR("content")), 0);
    CHECK_INT(frame_detect(FUMI_STR("Content-")), 1);
    CHECK_INT(frame_detect(FUMI_STR("CONTENT-TYPE: x")), 1);
    CHECK_INT(frame_detect(FUMI_STR("CONNECT")), -1);
    CHECK_INT(frame_detect(FUMI_STR("{")), -1);
    CHECK_INT(frame_detect(FUMI_STR("\n")), -1);
}

TEST(a_written_frame_is_read_back)
{
    struct fumi_buf out = {0};
    size_t used, length;
    struct fumi_err e;
    frame_put(&out, FUMI_STR("{\"a\":\"\xc3\xa9\"}"));
    CHECK_STR(fumi_buf_str(&out), "Content-Length: 10\r\n\r\n{\"a\":\"\xc3\xa9\"}");
    CHECK_INT(frame_read(fumi_buf_str(&out), &used, &length, &e), 1);
    CHECK_INT(used + length, out.n);
    fumi_buf_done(&out);
}
