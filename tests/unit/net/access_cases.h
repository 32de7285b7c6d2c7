/* Requests and the access decision for each, with the reason. The server listens on port 8765 and,
 * where a row says so, on port 80. The valid token is RIGHT. */
#ifndef FUMI_ACCESS_CASES_H
#define FUMI_ACCESS_CASES_H

#define RIGHT   "0123456789abcdefghijklmnopqrstuv-_~+/=42"
#define WRONG   "0123456789abcdefghijklmnopqrstuv-_~+/=43"
#define SOCKET  "GET /ws HTTP/1.1\r\n"
#define BEARER  "base64url.bearer."
#define ENCODED "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXYtX34rLz00Mg" /* RIGHT in base64url */
#define LOCAL   "Host: 127.0.0.1:8765\r\n"
#define POST    "POST /rpc HTTP/1.1\r\n"
#define ALLOW   "OPTIONS /rpc HTTP/1.1\r\n"
#define WANTS   "Access-Control-Request-Method: POST\r\n"

/* The settings of a row. */
enum {
    SAME = 0,      /* auth same-user */
    TOKEN = 1,     /* auth token */
    NONE = 2,      /* auth none */
    BARE = 4,      /* no token is configured */
    LISTS = 8,     /* hosts "memo.example", "Box.lan:8765", "[fd00::1]"; origins as below */
    PORT_80 = 16,  /* ours too */
    NO_PORTS = 32, /* only Unix sockets are open */
    PAGES = 64,    /* only the origins of LISTS */
    FILTER = 3,    /* auth is up to the filters of the program */
    AUTH = FILTER,
};

/* The client. */
enum { OWN, OTHER, UNIX_OWN, UNIX_OTHER, REMOTE };

#define ORIGINS                                                                                    \
    "https://Example.org", "http://pages.lan:3000", "vscode-webview://a1b2", "http://[fd00::1]"

#define ACCEPTED   0, NULL
#define NO_HOST    403, "Host is missing"
#define BAD_HOST   403, "this Host is not served here"
#define BAD_ORIGIN 403, "this Origin is not allowed"
#define ORIGINS_2  403, "more than one Origin"
#define NEEDED     401, "a token is needed"
#define RELAYED    401, "a token is needed: the request came through a relay"
#define NAMED      401, "a token is needed: the server has additional hosts"
#define FOREIGN    403, "request from a page of another site (Sec-Fetch-Site)"
#define NOT_IT     401, "the token is wrong"
#define MALFORMED  401, "malformed token"
#define DIFFERENT  401, "two different tokens"

static const struct access_case {
    int set, who;
    const char *head; /* without the empty line */
    int status;
    const char *reason;
} access_cases[] = {
    /* Host */
    {SAME, OWN, POST LOCAL, ACCEPTED},                      /* allowed */
    {SAME, OWN, POST "Host: localhost:8765\r\n", ACCEPTED}, /* allowed */
    {SAME, OWN, POST "Host: LocalHost:8765\r\n", ACCEPTED}, /* host names are case-insensitive */
    {SAME, OWN, POST "Host: [::1]:8765\r\n", ACCEPTED},     /* allowed */
    {SAME, OWN, "POST http://localhost:8765/rpc HTTP/1.1\r\nHost: localhost:8765\r\n", ACCEPTED},
    /* allowed: an absolute target */
    {SAME, OWN, "POST http://evil.example/rpc HTTP/1.0\r\n",
     BAD_HOST},                                                  /* Host: taken from the target */
    {SAME, OWN, "POST /rpc HTTP/1.0\r\n", NO_HOST},              /* Host is missing */
    {SAME, OWN, POST "Host: 127.0.0.1\r\n", BAD_HOST},           /* Host: port 80 is not ours */
    {SAME | PORT_80, OWN, POST "Host: 127.0.0.1\r\n", ACCEPTED}, /* port 80 may be omitted */
    {SAME | PORT_80, OWN, POST "Host: 127.0.0.1:80\r\n", ACCEPTED}, /* or given */
    {SAME | PORT_80, OWN, POST LOCAL, ACCEPTED},                    /* any of our ports */
    {SAME, OWN, POST "Host: localhost:8766\r\n", BAD_HOST},         /* Host: not our port */
    {SAME, OWN, POST "Host: localhost:08765\r\n", BAD_HOST}, /* Host: a port has no leading zeros */
    {SAME, OWN, POST "Host: localhost:74301\r\n", BAD_HOST}, /* Host: 8765 + 65536 */
    {SAME, OWN, POST "Host: localhost:\r\n", BAD_HOST},      /* Host: an empty port */
    {SAME | PORT_80, OWN, POST "Host: localhost:\r\n", BAD_HOST}, /* Host: likewise */
    {SAME, OWN, POST "Host: localhost.:8765\r\n", BAD_HOST},      /* Host: another name */
    {SAME, OWN, POST "Host: localhost:8765:8765\r\n", BAD_HOST},  /* Host: two ports */
    {SAME, OWN, POST "Host: 0.0.0.0:8765\r\n",
     BAD_HOST}, /* Host: resolves to this machine, but is not allowed */
    {SAME, OWN, POST "Host: 127.0.0.2:8765\r\n", BAD_HOST},    /* Host: not an allowed name */
    {SAME, OWN, POST "Host: 127.1:8765\r\n", BAD_HOST},        /* Host: an abbreviated address */
    {SAME, OWN, POST "Host: ::1:8765\r\n", BAD_HOST},          /* Host: without brackets */
    {SAME, OWN, POST "Host: evil.example:8765\r\n", BAD_HOST}, /* Host: DNS rebinding */
    {SAME, OWN, POST "Host: localhost.evil.example:8765\r\n",
     BAD_HOST},                                                  /* Host: only the prefix matches */
    {SAME, OWN, POST "Host: evil.localhost:8765\r\n", BAD_HOST}, /* Host: only the suffix matches */
    {SAME | NO_PORTS, OWN, POST LOCAL, BAD_HOST},                /* Host: there is no TCP port */
    {SAME, OWN, POST "Host: memo.example:8765\r\n", BAD_HOST},   /* Host: not listed */
    {NONE | LISTS, OWN, POST "Host: memo.example:8765\r\n",
     ACCEPTED},                                                     /* listed for all our ports */
    {NONE | LISTS, OWN, POST "Host: MEMO.example\r\n", ACCEPTED},   /* listed with that spelling */
    {NONE | LISTS, OWN, POST "Host: memo.example:9\r\n", BAD_HOST}, /* Host: not our port */
    {NONE | LISTS, OWN, POST "Host: box.LAN:8765\r\n", ACCEPTED},   /* listed with its port */
    {NONE | LISTS, OWN, POST "Host: box.lan\r\n", BAD_HOST},        /* Host: only with its port */
    {NONE | LISTS | PORT_80, OWN, POST "Host: box.lan:80\r\n", BAD_HOST},  /* Host: likewise */
    {NONE | LISTS, OWN, POST "Host: [fd00::1]:8765\r\n", ACCEPTED},        /* listed, a literal */
    {NONE | LISTS, OWN, POST "Host: sub.memo.example:8765\r\n", BAD_HOST}, /* Host: exact names */
    {NONE, OWN, POST "Host: evil.example:8765\r\n",
     BAD_HOST}, /* Host: checked with every auth setting */
    {SAME, OWN, POST "Host: evil.example:8765\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_HOST},
    /* Host: checked before the token */
    {SAME, UNIX_OWN, POST "Host: evil.example\r\n", ACCEPTED}, /* not checked */
    {SAME, UNIX_OWN, "POST /rpc HTTP/1.0\r\n", ACCEPTED},      /* not required */
    {SAME, REMOTE, POST "Host: a.example\r\nAuthorization: Bearer " RIGHT "\r\n", ACCEPTED},
    /* allowed: no hosts are listed */
    {SAME | LISTS, REMOTE, POST "Host: a.example\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_HOST},
    /* Host: hosts are listed */
    {SAME | LISTS, REMOTE, POST "Host: memo.example\r\nAuthorization: Bearer " RIGHT "\r\n",
     ACCEPTED},
    /* allowed */

    /* Origin */
    {SAME, OWN, POST LOCAL "Origin: http://127.0.0.1:8765\r\n", ACCEPTED}, /* our own page */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765\r\n",
     ACCEPTED},                                                        /* under its second name */
    {SAME, OWN, POST LOCAL "Origin: HTTP://[::1]:8765\r\n", ACCEPTED}, /* and its third */
    {SAME, OWN, POST LOCAL "Origin: http://localhost\r\n",
     BAD_ORIGIN}, /* Origin: port 80 is another origin */
    {SAME | PORT_80, OWN, POST LOCAL "Origin: http://localhost\r\n",
     ACCEPTED}, /* port 80 is ours */
    {SAME, OWN, POST LOCAL "Origin: https://localhost:8765\r\n",
     BAD_ORIGIN}, /* Origin: there is no TLS */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:3000\r\n",
     BAD_ORIGIN}, /* Origin: another server */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765/\r\n", BAD_ORIGIN}, /* Origin: a path */
    {SAME, OWN, POST LOCAL "Origin: http://\r\n", BAD_ORIGIN},                /* Origin: no host */
    {SAME, OWN, POST LOCAL "Origin: null\r\n", BAD_ORIGIN}, /* Origin: a sandboxed page */
    {SAME, OWN, POST LOCAL "Origin:\r\n", BAD_ORIGIN},      /* Origin: empty */
    {SAME, OWN, POST LOCAL "Origin: https://evil.example\r\n", BAD_ORIGIN}, /* Origin: not listed */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\n", ACCEPTED}, /* listed */
    {SAME | PAGES, OWN, POST LOCAL "origin: HTTPS://EXAMPLE.ORG\r\n",
     ACCEPTED}, /* case-insensitive */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://example.org\r\n",
     BAD_ORIGIN}, /* Origin: scheme */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org:444\r\n",
     BAD_ORIGIN}, /* Origin: port */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://a.example.org\r\n",
     BAD_ORIGIN}, /* Origin: exact */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org.evil\r\n",
     BAD_ORIGIN}, /* Origin: likewise */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://pages.lan:3000\r\n",
     ACCEPTED}, /* listed, its port */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://pages.lan\r\n",
     BAD_ORIGIN}, /* Origin: without its port */
    {SAME | PAGES, OWN, POST LOCAL "Origin: vscode-webview://a1b2\r\n",
     ACCEPTED}, /* listed, any scheme */
    {SAME | LISTS, OWN, POST LOCAL "Origin: http://memo.example:8765\r\n", BAD_ORIGIN},
    /* Origin: a host is not an origin */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org https://evil.example\r\n",
     BAD_ORIGIN},
    /* Origin: a list */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\nOrigin: https://example.org\r\n",
     ORIGINS_2}, /* more than one Origin */
    {SAME, UNIX_OWN, POST "Host: x\r\nOrigin: https://evil.example\r\n",
     BAD_ORIGIN}, /* Origin: likewise */
    {SAME, UNIX_OWN, POST "Host: x\r\nOrigin: http://localhost:8765\r\n",
     ACCEPTED}, /* our own page */
    {NONE, OWN, POST LOCAL "Origin: https://evil.example\r\n",
     BAD_ORIGIN}, /* Origin: checked with every auth setting */
    {SAME, OWN, POST LOCAL "Origin: null\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_ORIGIN},
    /* Origin: checked before the token */

    /* Pages of other sites. Browsers send Sec-Fetch-Site even where they send no Origin. */
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "sec-fetch-site: Same-Site\r\n", FOREIGN}, /* another port */
    {SAME, OWN, "GET /metrics HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: same-origin\r\n", ACCEPTED},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: none\r\n", ACCEPTED}, /* typed by the user */
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", FOREIGN},
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\nSec-Fetch-Site: cross-site\r\n",
     ACCEPTED}, /* listed */
    {SAME | PAGES, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\n",
     FOREIGN}, /* from an unknown page */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765\r\nSec-Fetch-Site: cross-site\r\n",
     FOREIGN}, /* our own origin is not listed and sends same-origin */
    {SAME, OWN, POST LOCAL "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n",
     BAD_ORIGIN},
    {NONE, UNIX_OWN, POST "Host: x\r\nSec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\nAuthorization: Bearer " RIGHT "\r\n",
     FOREIGN}, /* checked before the token */
    {SAME, OWN,
     "GET / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     ACCEPTED}, /* a link to this server */
    {SAME, OWN,
     "GET /?x HTTP/1.1\r\n" LOCAL "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\n",
     ACCEPTED},
    {SAME, OWN,
     "GET / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
     FOREIGN},
    {SAME, OWN,
     "GET /rpc HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     FOREIGN}, /* only for / */
    {SAME, OWN,
     "POST / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     FOREIGN}, /* a form */
    {TOKEN | PAGES, OTHER,
     ALLOW LOCAL "Origin: https://example.org\r\nSec-Fetch-Site: cross-site\r\n" WANTS, ACCEPTED},

    /* Preflight */
    {TOKEN | LISTS, OTHER, ALLOW LOCAL "Origin: https://example.org\r\n" WANTS,
     ACCEPTED},                                                                       /* no token */
    {TOKEN, OTHER, ALLOW LOCAL "Origin: https://evil.example\r\n" WANTS, BAD_ORIGIN}, /* Origin */
    {TOKEN, OTHER, ALLOW "Host: evil.example\r\nOrigin: http://localhost:8765\r\n" WANTS, BAD_HOST},
    /* Host */
    {TOKEN, OTHER, ALLOW LOCAL WANTS,
     NEEDED}, /* a token is required: without Origin this is no preflight */
    {TOKEN, OTHER, ALLOW LOCAL "Origin: http://localhost:8765\r\n",
     NEEDED}, /* nor without a method */
    {TOKEN, OTHER, POST LOCAL "Origin: http://localhost:8765\r\n" WANTS,
     NEEDED}, /* nor with POST */
    {TOKEN, OTHER, "options /rpc HTTP/1.1\r\n" LOCAL "Origin: http://localhost:8765\r\n" WANTS,
     NEEDED}, /* a token is required: methods are case-sensitive */

    /* User and token */
    {SAME, OTHER, POST LOCAL, NEEDED}, /* a token is required */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", ACCEPTED},     /* allowed */
    {SAME, OTHER, POST LOCAL "authorization: bEARER   " RIGHT "  \r\n", ACCEPTED}, /* allowed */
    {SAME, OTHER, POST LOCAL "X-Claude-Code-IDE-Authorization: " RIGHT "\r\n",
     ACCEPTED}, /* allowed */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     NOT_IT}, /* the token is wrong */
    {SAME, OWN, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     NOT_IT}, /* the token is wrong, for the same user too */
    {SAME, OWN, POST LOCAL "x-claude-code-ide-authorization: " WRONG "\r\n", NOT_IT}, /* wrong */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "x\r\n", NOT_IT}, /* wrong: longer */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer 0123456789abcdef\r\n", NOT_IT}, /* shorter */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer 0123456789ABCDEFGHIJKLMNOPQRSTUV-_~+/=42\r\n",
     NOT_IT}, /* wrong: tokens are case-sensitive */
    {SAME, OWN, POST LOCAL "Authorization: Bearer\r\n", MALFORMED}, /* malformed: no token */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT " x\r\n",
     MALFORMED}, /* malformed: a space */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer," RIGHT "\r\n",
     MALFORMED}, /* malformed: a comma */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer\t" RIGHT "\r\n",
     MALFORMED}, /* malformed: a tab */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\xE9\r\n", MALFORMED}, /* malformed */
    {SAME, OWN, POST LOCAL "x-claude-code-ide-authorization:\r\n",
     MALFORMED},                                                      /* malformed: empty */
    {SAME, OTHER, POST LOCAL "Authorization: " RIGHT "\r\n", NEEDED}, /* required: another scheme */
    {SAME, OWN, POST LOCAL "Authorization: Basic dTpw\r\n",
     ACCEPTED}, /* another scheme counts as no token */
    {SAME, OWN, POST LOCAL "Authorization: BearerX y\r\n", ACCEPTED}, /* another scheme */
    {SAME, OWN, POST LOCAL "Authorization:\r\n", ACCEPTED},           /* no token */
    {SAME, OTHER, POST LOCAL "Authorization: Basic dTpw\r\nAuthorization: Bearer " RIGHT "\r\n",
     ACCEPTED},
    /* allowed: the other scheme is ignored */
    {SAME, OTHER,
     POST LOCAL "Authorization: Bearer " RIGHT "\r\nx-claude-code-ide-authorization: " RIGHT "\r\n",
     ACCEPTED}, /* allowed: the same token twice */
    {SAME, OWN,
     POST LOCAL "Authorization: Bearer " RIGHT "\r\nx-claude-code-ide-authorization: " WRONG "\r\n",
     DIFFERENT}, /* two different tokens */
    {SAME, OWN, POST LOCAL "Authorization: Bearer " WRONG "\r\nAuthorization: Bearer " RIGHT "\r\n",
     DIFFERENT},
    /* two different tokens */
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi, " BEARER ENCODED "\r\n",
     ACCEPTED}, /* allowed: the token as a subprotocol, which pages can set */
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: " BEARER ENCODED ",fumi\r\n", ACCEPTED},
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi\r\n", NEEDED}, /* required */
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi, " BEARER "MDEyMzQ1Njc4OWFiY2RlZg\r\n",
     NOT_IT}, /* wrong: another token */
    {SAME, OWN, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi, " BEARER "\r\n",
     MALFORMED}, /* malformed: empty */
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi, " BEARER ENCODED "=\r\n",
     MALFORMED}, /* malformed: padding */
    {SAME, OTHER, SOCKET LOCAL "Sec-WebSocket-Protocol: fumi, x" BEARER ENCODED "\r\n",
     NEEDED}, /* required: another subprotocol */
    {SAME, OWN,
     SOCKET LOCAL "Authorization: Bearer " WRONG "\r\nSec-WebSocket-Protocol: " BEARER ENCODED
                  "\r\n",
     DIFFERENT}, /* two different tokens */
    {SAME, OTHER, "POST /rpc?token=" RIGHT "&access_token=" RIGHT " HTTP/1.1\r\n" LOCAL, NEEDED},
    /* a token is required: not accepted in the URL */
    {SAME, OTHER, POST LOCAL "Cookie: token=" RIGHT "\r\n", NEEDED}, /* a token is required */
    {SAME, UNIX_OTHER, POST "Host: x\r\n", NEEDED},                  /* a token is required */
    {SAME, UNIX_OTHER, POST "Host: x\r\nAuthorization: Bearer " RIGHT "\r\n",
     ACCEPTED},                                 /* allowed */
    {SAME, REMOTE, POST "Host: x\r\n", NEEDED}, /* a token is required */
    {SAME | BARE, OWN, POST LOCAL, ACCEPTED},   /* no token is required */
    {SAME | BARE, OTHER, POST LOCAL, NEEDED},   /* no token is configured, so none can match */
    {SAME | BARE, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", NOT_IT}, /* wrong */
    {TOKEN, OWN, POST LOCAL, NEEDED},              /* required for every user */
    {TOKEN, UNIX_OWN, POST "Host: x\r\n", NEEDED}, /* required for every user */
    {TOKEN, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", ACCEPTED},      /* allowed */
    {TOKEN | BARE, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", NOT_IT}, /* wrong */
    {NONE, OTHER, POST LOCAL, ACCEPTED},              /* required for no user */
    {NONE, UNIX_OTHER, POST "Host: x\r\n", ACCEPTED}, /* required for no user */
    {NONE, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", ACCEPTED}, /* allowed */
    {NONE, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     NOT_IT}, /* the token is wrong */
    {NONE | BARE, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     ACCEPTED}, /* not checked */
    {NONE, REMOTE, POST "Host: x\r\n", NEEDED},
    /* never from other machines */
    /* Proxies: the connection belongs to the proxy, not to the client behind it */
    {SAME, OWN, POST LOCAL "Forwarded: for=192.0.2.1\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forwarded-For: 192.0.2.1\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "x-forwarded-proto: https\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forwarded-Host:\r\n", RELAYED}, /* whatever its value */
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {SAME, UNIX_OWN, POST "Host: x\r\nVia: 1.1 relay\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\nAuthorization: Bearer " RIGHT "\r\n", ACCEPTED},
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\nAuthorization: Bearer " WRONG "\r\n", NOT_IT},
    {SAME | BARE, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forward: x\r\nForward: x\r\nX-Via: x\r\n",
     ACCEPTED}, /* names of other fields */
    {SAME, OTHER, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {NONE, OWN, POST LOCAL "Via: 1.1 relay\r\n", ACCEPTED}, /* as configured */
    {TOKEN, OWN, POST LOCAL "Via: 1.1 relay\r\n", NEEDED},

    /* A server with other host names is behind a proxy, which may add no header field */
    {SAME | LISTS, OWN, POST "Host: memo.example:8765\r\n", NAMED},
    {SAME | LISTS, OWN, POST LOCAL, NAMED},
    {SAME | LISTS, UNIX_OWN, POST LOCAL, NAMED},
    {SAME | LISTS, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", ACCEPTED},
    {SAME | LISTS, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {NONE | LISTS, OWN, POST LOCAL, ACCEPTED},

    /* The filters of the program check tokens and nothing else */
    {FILTER, OWN, POST LOCAL, ACCEPTED},
    {FILTER, OTHER, POST LOCAL, ACCEPTED},
    {FILTER, UNIX_OTHER, POST LOCAL, ACCEPTED},
    {FILTER, REMOTE, POST LOCAL, ACCEPTED},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer of-the-program\r\n", ACCEPTED},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer\r\n", ACCEPTED},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", ACCEPTED},
    {FILTER | LISTS, OWN, POST LOCAL "Via: 1.1 relay\r\n", ACCEPTED},
    {FILTER, OWN, POST "Host: evil.example:8765\r\n", BAD_HOST},
    {FILTER, OWN, POST LOCAL "Origin: https://evil.example\r\n", BAD_ORIGIN},
};

#endif
