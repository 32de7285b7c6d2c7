/* The input is a stream of Content-Length headers and messages. A header is read the same byte by
 * byte or at once, and a written message is read back. */
#include "base/arena.h"
#include "fuzz.h"
#include "net/frame.h"

static void check_in_pieces(struct fumi_str all, int rc, size_t used, size_t length)
{
    size_t end = all.n < FRAME_HEAD_MAX ? all.n : FRAME_HEAD_MAX;
    for (size_t n = 0; n <= end; n++) {
        size_t some = 0, of = 0;
        struct fumi_err e = {0};
        int now = frame_read((struct fumi_str){all.p, n}, &some, &of, &e);
        if (!now)
            continue;
        MUST(now == rc && (rc < 0 || (some == used && of == length)));
        MUST(rc < 0 ? e.code == FUMI_INVALID_REQUEST && e.text[0] : n == used);
        return;
    }
    MUST(rc == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fumi_str rest = {(const char *)bytes, n};
    struct fumi_buf out = {0};
    MUST(frame_detect(rest) >= -1 && frame_detect(rest) <= 1);
    for (;;) {
        size_t used = 0, length = 0;
        struct fumi_err e = {0};
        int rc = frame_read(rest, &used, &length, &e);
        check_in_pieces(rest, rc, used, length);
        if (rc <= 0 || length > rest.n - used)
            break;
        MUST(used >= sizeof("Content-Length:0\r\n\r\n") - 1 && used <= FRAME_HEAD_MAX);
        struct fumi_str message = {rest.p + used, length};
        fumi_buf_reset(&out, 0);
        frame_put(&out, message);
        size_t head = 0, again = 0;
        MUST(frame_read(fumi_buf_str(&out), &head, &again, &e) == 1 && again == length);
        MUST(out.n == head + length && !memcmp(out.p + head, message.p, length));
        rest = (struct fumi_str){message.p + length, rest.n - used - length};
    }
    fumi_buf_done(&out);
    return 0;
}
