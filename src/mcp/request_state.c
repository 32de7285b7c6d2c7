/* requestState: a text that a client keeps between two rounds. It is signed with HMAC-SHA-256,
 * bound to the request it belongs to, and expires after one hour. The key is random and never
 * leaves the process. */
#include "mcp/mcp_parts.h"

#include "base/base64.h"
#include "base/clock.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

enum { MAC = 32, TIME = 8, LIFETIME_MS = 3600000 };

/* Signs the time of expiry, the bound text with its length, and the state. */
static void sign(const struct fumi_mcp *m, int64_t end, struct fumi_str bound,
                 struct fumi_str state, unsigned char mac[MAC])
{
    struct fumi_buf b = {0};
    uint64_t n = bound.n;
    fumi_buf_add(&b, &end, sizeof(end));
    fumi_buf_add(&b, &n, sizeof(n));
    fumi_buf_add(&b, bound.p, bound.n);
    fumi_buf_add(&b, state.p, state.n);
    HMAC(EVP_sha256(), m->key, sizeof(m->key), (unsigned char *)b.p, b.n, mac, NULL);
    fumi_buf_done(&b);
}

struct fumi_str mcp_state_sign(const struct fumi_mcp *m, struct fumi_arena *a,
                               struct fumi_str bound, struct fumi_str state)
{
    char *bytes = fumi_alloc(a, MAC + TIME + state.n);
    int64_t end = fumi_now() + LIFETIME_MS;
    sign(m, end, bound, state, (unsigned char *)bytes);
    memcpy(bytes + MAC, &end, TIME);
    memcpy(bytes + MAC + TIME, state.p, state.n);
    return fumi_base64(a, (struct fumi_str){bytes, MAC + TIME + state.n});
}

bool mcp_state_read(const struct fumi_mcp *m, struct fumi_arena *a, struct fumi_str bound,
                    struct fumi_str token, struct fumi_str *state)
{
    struct fumi_str bytes = fumi_base64_read(a, token);
    unsigned char mac[MAC];
    int64_t end;
    if (!token.p || !bytes.p || bytes.n < MAC + TIME)
        return false;
    memcpy(&end, bytes.p + MAC, TIME);
    *state = (struct fumi_str){bytes.p + MAC + TIME, bytes.n - MAC - TIME};
    sign(m, end, bound, *state, mac);
    return CRYPTO_memcmp(mac, bytes.p, MAC) == 0 && fumi_now() < end;
}
