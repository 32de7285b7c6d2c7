/* TCP does not transmit the user of a client, but the kernel knows the owner of each socket of this
 * machine. The lookup (NETLINK_SOCK_DIAG) specifies both ends of the connection. The reply is used
 * only if it describes exactly that connection, because the kernel falls back to a listening
 * socket, and only if the socket still has an inode: many kernels report a closed socket as one of
 * root, so that another user would only have to send a request and hang up. */
#include "net/access_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { WAIT_US = 100000 }; /* timeout for the reply of the kernel, which is normally immediate */

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
};

static struct in6_addr mapped(uint32_t v4)
{
    struct in6_addr at = {.s6_addr = {[10] = 0xFF, [11] = 0xFF}};
    memcpy(at.s6_addr + 12, &v4, sizeof(v4));
    return at;
}

bool access_endpoint_get(struct access_endpoint *out, int fd, bool peer)
{
    union socket_name n = {0};
    socklen_t size = sizeof(n);
    if ((peer ? getpeername : getsockname)(fd, &n.any, &size) != 0)
        return false;
    if (n.any.sa_family == AF_INET)
        *out = (struct access_endpoint){mapped(n.v4.sin_addr.s_addr), n.v4.sin_port};
    else if (n.any.sa_family == AF_INET6)
        *out = (struct access_endpoint){n.v6.sin6_addr, n.v6.sin6_port};
    else
        return false;
    return true;
}

bool access_endpoint_is_loopback(const struct access_endpoint *e)
{
    if (IN6_IS_ADDR_V4MAPPED(&e->at))
        return e->at.s6_addr[12] == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&e->at);
}

static bool same_endpoint(const struct access_endpoint *a, const struct access_endpoint *b)
{
    return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->at, &b->at);
}

struct diag_request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 about;
};

/* The attributes that follow are cut off by recvfrom. */
struct diag_reply {
    struct nlmsghdr head;
    struct inet_diag_msg of;
};

static void put_address(uint32_t to[4], const struct in6_addr *at, int family)
{
    if (family == AF_INET)
        memcpy(to, at->s6_addr + 12, 4);
    else
        memcpy(to, at, sizeof(*at));
}

static struct diag_request make_request(const struct access_endpoint *peer,
                                        const struct access_endpoint *us)
{
    int family = IN6_IS_ADDR_V4MAPPED(&peer->at) ? AF_INET : AF_INET6;
    struct diag_request q = {
        .head = {sizeof(q), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, .nlmsg_seq = 1},
        .about = {.sdiag_family = (uint8_t)family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = ~0U,
                  .id = {.idiag_sport = peer->port,
                         .idiag_dport = us->port,
                         .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    put_address(q.about.id.idiag_src, &peer->at, family);
    put_address(q.about.id.idiag_dst, &us->at, family);
    return q;
}

/* An IPv6 socket of the peer may use an IPv4-mapped address. */
static struct access_endpoint endpoint_in(const struct inet_diag_msg *m, const uint32_t at[4],
                                          in_port_t port)
{
    struct access_endpoint e = {mapped(at[0]), port};
    if (m->idiag_family == AF_INET6)
        memcpy(&e.at, at, sizeof(e.at));
    return e;
}

/* Whether the socket is established, or half-closed, and belongs to a process. */
static bool is_open(const struct inet_diag_msg *m)
{
    return m->idiag_inode != 0 &&
           (m->idiag_state == TCP_ESTABLISHED || m->idiag_state == TCP_FIN_WAIT1 ||
            m->idiag_state == TCP_FIN_WAIT2);
}

static bool receive(int netlink, struct diag_reply *a)
{
    struct sockaddr_nl from = {0};
    socklen_t size = sizeof(from);
    ssize_t n = recvfrom(netlink, a, sizeof(*a), 0, (struct sockaddr *)&from, &size);
    return n == (ssize_t)sizeof(*a) && from.nl_pid == 0 && a->head.nlmsg_seq == 1 &&
           a->head.nlmsg_type == SOCK_DIAG_BY_FAMILY && a->head.nlmsg_len >= sizeof(*a);
}

static bool query(int netlink, const struct diag_request *q, struct diag_reply *a)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval wait = {.tv_usec = WAIT_US};
    return setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
           sendto(netlink, q, sizeof(*q), MSG_DONTWAIT, (struct sockaddr *)&kernel,
                  sizeof(kernel)) == (ssize_t)sizeof(*q) &&
           receive(netlink, a);
}

static bool tcp_user(const struct access_endpoint *peer, const struct access_endpoint *us,
                     uid_t *uid)
{
    struct diag_reply a = {0};
    struct diag_request q = make_request(peer, us);
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0)
        return false;
    bool answered = query(netlink, &q, &a);
    close(netlink);
    if (!answered)
        return false;
    struct access_endpoint from = endpoint_in(&a.of, a.of.id.idiag_src, a.of.id.idiag_sport);
    struct access_endpoint to = endpoint_in(&a.of, a.of.id.idiag_dst, a.of.id.idiag_dport);
    *uid = a.of.idiag_uid;
    return same_endpoint(&from, peer) && same_endpoint(&to, us) && is_open(&a.of);
}

static bool unix_user(int fd, uid_t *uid)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof(peer);
    *uid = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        *uid = peer.uid;
    return *uid != (uid_t)-1;
}

/* The connection must still exist after the reply. Otherwise another connection may have taken both
 * endpoints before the lookup. */
bool access_peer_uid(int fd, bool unix_socket, uid_t *uid)
{
    struct access_endpoint peer, us, later;
    if (unix_socket)
        return unix_user(fd, uid);
    return access_endpoint_get(&peer, fd, true) && access_endpoint_get(&us, fd, false) &&
           access_endpoint_is_loopback(&peer) && tcp_user(&peer, &us, uid) &&
           access_endpoint_get(&later, fd, true) && same_endpoint(&later, &peer);
}

struct access_guess_key access_guess_key_of(int fd, bool unix_socket)
{
    struct access_guess_key c = {0};
    struct access_endpoint peer;
    uid_t uid;
    if (unix_socket && unix_user(fd, &uid)) {
        c.kind = 'u';
        memcpy(c.key, &uid, sizeof(uid));
    } else if (access_endpoint_get(&peer, fd, true)) {
        c.kind = 't';
        memcpy(c.key, &peer.at, sizeof(peer.at));
    }
    return c;
}

static bool same_key(const struct access_guess_key *a, const struct access_guess_key *b)
{
    return a->kind == b->kind && memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

static struct access_guesser *find(struct access_guesses *g, const struct access_guess_key *who)
{
    for (size_t i = 0; i < GUESSERS; i++)
        if (g->of[i].n && same_key(&g->of[i].who, who))
            return &g->of[i];
    return NULL;
}

static int64_t last(const struct access_guesser *g)
{
    return g->n ? g->at[(g->n - 1) % GUESSES] : INT64_MIN;
}

static struct access_guesser *replace(struct access_guesses *g, const struct access_guess_key *who)
{
    struct access_guesser *oldest = g->of;
    for (size_t i = 1; i < GUESSERS; i++)
        if (last(&g->of[i]) < last(oldest))
            oldest = &g->of[i];
    *oldest = (struct access_guesser){.who = *who};
    return oldest;
}

bool access_guesses_exceeded(struct access_guesses *g, const struct access_guess_key *who,
                             int64_t now)
{
    pthread_mutex_lock(&g->lock);
    const struct access_guesser *one = find(g, who);
    bool many = one && one->n >= GUESSES && now - one->at[one->n % GUESSES] < GUESS_TIME;
    pthread_mutex_unlock(&g->lock);
    return many;
}

void access_guesses_add(struct access_guesses *g, const struct access_guess_key *who, int64_t now)
{
    pthread_mutex_lock(&g->lock);
    struct access_guesser *one = find(g, who);
    if (!one)
        one = replace(g, who);
    one->at[one->n++ % GUESSES] = now;
    pthread_mutex_unlock(&g->lock);
}
