/* Requests at the door: what each gets, and why. Our ports are 8765 and, where it says so, 80. The
 * right token is RIGHT. */
#ifndef FUMI_ACCESS_CASES_H
#define FUMI_ACCESS_CASES_H

#define RIGHT "0123456789abcdefghijklmnopqrstuv-_~+/=42"
#define WRONG "0123456789abcdefghijklmnopqrstuv-_~+/=43"
#define LOCAL "Host: 127.0.0.1:8765\r\n"
#define POST  "POST /rpc HTTP/1.1\r\n"
#define ALLOW "OPTIONS /rpc HTTP/1.1\r\n"
#define WANTS "Access-Control-Request-Method: POST\r\n"

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

/* Who comes. */
enum { OWN, OTHER, UNIX_OWN, UNIX_OTHER, REMOTE };

#define ORIGINS                                                                                    \
    "https://Example.org", "http://pages.lan:3000", "vscode-webview://a1b2", "http://[fd00::1]"

#define COMES_IN   0, NULL
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
    {SAME, OWN, POST LOCAL, COMES_IN},                      /* comes in */
    {SAME, OWN, POST "Host: localhost:8765\r\n", COMES_IN}, /* comes in */
    {SAME, OWN, POST "Host: LocalHost:8765\r\n", COMES_IN}, /* names have no case */
    {SAME, OWN, POST "Host: [::1]:8765\r\n", COMES_IN},     /* comes in */
    {SAME, OWN, "POST http://localhost:8765/rpc HTTP/1.1\r\nHost: localhost:8765\r\n", COMES_IN},
    /* comes in: an absolute target */
    {SAME, OWN, "POST http://evil.example/rpc HTTP/1.0\r\n",
     BAD_HOST},                                                     /* Host: that of the target */
    {SAME, OWN, "POST /rpc HTTP/1.0\r\n", NO_HOST},                 /* Host is missing */
    {SAME, OWN, POST "Host: 127.0.0.1\r\n", BAD_HOST},              /* Host: 80 is not ours */
    {SAME | PORT_80, OWN, POST "Host: 127.0.0.1\r\n", COMES_IN},    /* 80 may be left out */
    {SAME | PORT_80, OWN, POST "Host: 127.0.0.1:80\r\n", COMES_IN}, /* or not */
    {SAME | PORT_80, OWN, POST LOCAL, COMES_IN},                    /* any of our ports */
    {SAME, OWN, POST "Host: localhost:8766\r\n", BAD_HOST},         /* Host: not our port */
    {SAME, OWN, POST "Host: localhost:08765\r\n", BAD_HOST},        /* Host: no port has zeros */
    {SAME, OWN, POST "Host: localhost:74301\r\n", BAD_HOST},        /* Host: 8765 + 65536 */
    {SAME, OWN, POST "Host: localhost:\r\n", BAD_HOST},             /* Host: an empty port */
    {SAME | PORT_80, OWN, POST "Host: localhost:\r\n", BAD_HOST},   /* Host: so too */
    {SAME, OWN, POST "Host: localhost.:8765\r\n", BAD_HOST},        /* Host: another name */
    {SAME, OWN, POST "Host: localhost:8765:8765\r\n", BAD_HOST},    /* Host: two ports */
    {SAME, OWN, POST "Host: 0.0.0.0:8765\r\n", BAD_HOST},           /* Host: leads here, but no */
    {SAME, OWN, POST "Host: 127.0.0.2:8765\r\n", BAD_HOST},         /* Host: not one of the three */
    {SAME, OWN, POST "Host: 127.1:8765\r\n", BAD_HOST},             /* Host: short for it */
    {SAME, OWN, POST "Host: ::1:8765\r\n", BAD_HOST},               /* Host: without brackets */
    {SAME, OWN, POST "Host: evil.example:8765\r\n", BAD_HOST},      /* Host: rebinding */
    {SAME, OWN, POST "Host: localhost.evil.example:8765\r\n", BAD_HOST}, /* Host: begins well */
    {SAME, OWN, POST "Host: evil.localhost:8765\r\n", BAD_HOST},         /* Host: ends well */
    {SAME | NO_PORTS, OWN, POST LOCAL, BAD_HOST},                        /* Host: no port is ours */
    {SAME, OWN, POST "Host: memo.example:8765\r\n", BAD_HOST},           /* Host: not listed */
    {NONE | LISTS, OWN, POST "Host: memo.example:8765\r\n",
     COMES_IN},                                                     /* listed for all our ports */
    {NONE | LISTS, OWN, POST "Host: MEMO.example\r\n", COMES_IN},   /* listed, as it stands there */
    {NONE | LISTS, OWN, POST "Host: memo.example:9\r\n", BAD_HOST}, /* Host: not our port */
    {NONE | LISTS, OWN, POST "Host: box.LAN:8765\r\n", COMES_IN},   /* listed with its port */
    {NONE | LISTS, OWN, POST "Host: box.lan\r\n", BAD_HOST},        /* Host: only with its port */
    {NONE | LISTS | PORT_80, OWN, POST "Host: box.lan:80\r\n", BAD_HOST},  /* Host: so too */
    {NONE | LISTS, OWN, POST "Host: [fd00::1]:8765\r\n", COMES_IN},        /* listed, a literal */
    {NONE | LISTS, OWN, POST "Host: sub.memo.example:8765\r\n", BAD_HOST}, /* Host: exact names */
    {NONE, OWN, POST "Host: evil.example:8765\r\n", BAD_HOST}, /* Host: whatever auth is */
    {SAME, OWN, POST "Host: evil.example:8765\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_HOST},
    /* Host: before the token */
    {SAME, UNIX_OWN, POST "Host: evil.example\r\n", COMES_IN}, /* not looked at */
    {SAME, UNIX_OWN, "POST /rpc HTTP/1.0\r\n", COMES_IN},      /* nor needed */
    {SAME, REMOTE, POST "Host: a.example\r\nAuthorization: Bearer " RIGHT "\r\n", COMES_IN},
    /* comes in: no hosts are listed */
    {SAME | LISTS, REMOTE, POST "Host: a.example\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_HOST},
    /* Host: hosts are listed */
    {SAME | LISTS, REMOTE, POST "Host: memo.example\r\nAuthorization: Bearer " RIGHT "\r\n",
     COMES_IN},
    /* comes in */

    /* Origin */
    {SAME, OWN, POST LOCAL "Origin: http://127.0.0.1:8765\r\n", COMES_IN}, /* our own page */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765\r\n",
     COMES_IN},                                                        /* under its other name */
    {SAME, OWN, POST LOCAL "Origin: HTTP://[::1]:8765\r\n", COMES_IN}, /* and its third */
    {SAME, OWN, POST LOCAL "Origin: http://localhost\r\n",
     BAD_ORIGIN}, /* Origin: port 80 is another */
    {SAME | PORT_80, OWN, POST LOCAL "Origin: http://localhost\r\n", COMES_IN}, /* it is ours */
    {SAME, OWN, POST LOCAL "Origin: https://localhost:8765\r\n",
     BAD_ORIGIN}, /* Origin: we have no TLS */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:3000\r\n",
     BAD_ORIGIN}, /* Origin: another server */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765/\r\n", BAD_ORIGIN}, /* Origin: a path */
    {SAME, OWN, POST LOCAL "Origin: http://\r\n", BAD_ORIGIN},                /* Origin: no host */
    {SAME, OWN, POST LOCAL "Origin: null\r\n", BAD_ORIGIN}, /* Origin: a sandboxed page */
    {SAME, OWN, POST LOCAL "Origin:\r\n", BAD_ORIGIN},      /* Origin: empty */
    {SAME, OWN, POST LOCAL "Origin: https://evil.example\r\n", BAD_ORIGIN}, /* Origin: not listed */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\n", COMES_IN}, /* listed */
    {SAME | PAGES, OWN, POST LOCAL "origin: HTTPS://EXAMPLE.ORG\r\n", COMES_IN}, /* no case */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://example.org\r\n",
     BAD_ORIGIN}, /* Origin: scheme */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org:444\r\n",
     BAD_ORIGIN}, /* Origin: port */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://a.example.org\r\n",
     BAD_ORIGIN}, /* Origin: exact */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org.evil\r\n",
     BAD_ORIGIN}, /* Origin: so too */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://pages.lan:3000\r\n",
     COMES_IN}, /* listed, its port */
    {SAME | PAGES, OWN, POST LOCAL "Origin: http://pages.lan\r\n",
     BAD_ORIGIN}, /* Origin: without it */
    {SAME | PAGES, OWN, POST LOCAL "Origin: vscode-webview://a1b2\r\n",
     COMES_IN}, /* listed, any scheme */
    {SAME | LISTS, OWN, POST LOCAL "Origin: http://memo.example:8765\r\n", BAD_ORIGIN},
    /* Origin: hosts are no origins */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org https://evil.example\r\n",
     BAD_ORIGIN},
    /* Origin: a list */
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\nOrigin: https://example.org\r\n",
     ORIGINS_2}, /* more than one Origin */
    {SAME, UNIX_OWN, POST "Host: x\r\nOrigin: https://evil.example\r\n",
     BAD_ORIGIN}, /* Origin: so too */
    {SAME, UNIX_OWN, POST "Host: x\r\nOrigin: http://localhost:8765\r\n",
     COMES_IN}, /* our own page */
    {NONE, OWN, POST LOCAL "Origin: https://evil.example\r\n",
     BAD_ORIGIN}, /* Origin: whatever auth is */
    {SAME, OWN, POST LOCAL "Origin: null\r\nAuthorization: Bearer " RIGHT "\r\n", BAD_ORIGIN},
    /* Origin: before the token */

    /* Pages of other sites, which a browser names even where it sends no Origin */
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "sec-fetch-site: Same-Site\r\n", FOREIGN}, /* another port */
    {SAME, OWN, "GET /metrics HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: same-origin\r\n", COMES_IN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: none\r\n", COMES_IN}, /* typed by the user */
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", FOREIGN},
    {SAME | PAGES, OWN, POST LOCAL "Origin: https://example.org\r\nSec-Fetch-Site: cross-site\r\n",
     COMES_IN},                                                                /* listed */
    {SAME | PAGES, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\n", FOREIGN}, /* which page? */
    {SAME, OWN, POST LOCAL "Origin: http://localhost:8765\r\nSec-Fetch-Site: cross-site\r\n",
     FOREIGN}, /* our own origin is on no list, and says same-origin */
    {SAME, OWN, POST LOCAL "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n",
     BAD_ORIGIN},
    {NONE, UNIX_OWN, POST "Host: x\r\nSec-Fetch-Site: cross-site\r\n", FOREIGN},
    {SAME, OWN, POST LOCAL "Sec-Fetch-Site: cross-site\r\nAuthorization: Bearer " RIGHT "\r\n",
     FOREIGN}, /* before the token */
    {SAME, OWN,
     "GET / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     COMES_IN}, /* a link to us */
    {SAME, OWN,
     "GET /?x HTTP/1.1\r\n" LOCAL "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\n",
     COMES_IN},
    {SAME, OWN,
     "GET / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
     FOREIGN},
    {SAME, OWN,
     "GET /rpc HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     FOREIGN}, /* only / */
    {SAME, OWN,
     "POST / HTTP/1.1\r\n" LOCAL "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
     FOREIGN}, /* a form */
    {TOKEN | PAGES, OTHER,
     ALLOW LOCAL "Origin: https://example.org\r\nSec-Fetch-Site: cross-site\r\n" WANTS, COMES_IN},

    /* Preflight */
    {TOKEN | LISTS, OTHER, ALLOW LOCAL "Origin: https://example.org\r\n" WANTS,
     COMES_IN},                                                                       /* no token */
    {TOKEN, OTHER, ALLOW LOCAL "Origin: https://evil.example\r\n" WANTS, BAD_ORIGIN}, /* Origin */
    {TOKEN, OTHER, ALLOW "Host: evil.example\r\nOrigin: http://localhost:8765\r\n" WANTS, BAD_HOST},
    /* Host */
    {TOKEN, OTHER, ALLOW LOCAL WANTS, NEEDED}, /* a token is needed: without Origin it is none */
    {TOKEN, OTHER, ALLOW LOCAL "Origin: http://localhost:8765\r\n",
     NEEDED}, /* nor without method */
    {TOKEN, OTHER, POST LOCAL "Origin: http://localhost:8765\r\n" WANTS, NEEDED}, /* nor a POST */
    {TOKEN, OTHER, "options /rpc HTTP/1.1\r\n" LOCAL "Origin: http://localhost:8765\r\n" WANTS,
     NEEDED}, /* a token is needed: methods have a case */

    /* User and token */
    {SAME, OTHER, POST LOCAL, NEEDED}, /* a token is needed */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", COMES_IN},     /* comes in */
    {SAME, OTHER, POST LOCAL "authorization: bEARER   " RIGHT "  \r\n", COMES_IN}, /* comes in */
    {SAME, OTHER, POST LOCAL "X-Claude-Code-IDE-Authorization: " RIGHT "\r\n",
     COMES_IN}, /* comes in */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     NOT_IT},                                                              /* the token is wrong */
    {SAME, OWN, POST LOCAL "Authorization: Bearer " WRONG "\r\n", NOT_IT}, /* wrong, also for him */
    {SAME, OWN, POST LOCAL "x-claude-code-ide-authorization: " WRONG "\r\n", NOT_IT}, /* wrong */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "x\r\n", NOT_IT}, /* wrong: longer */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer 0123456789abcdef\r\n", NOT_IT}, /* shorter */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer 0123456789ABCDEFGHIJKLMNOPQRSTUV-_~+/=42\r\n",
     NOT_IT},                                                       /* wrong: it has a case */
    {SAME, OWN, POST LOCAL "Authorization: Bearer\r\n", MALFORMED}, /* malformed token: none */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT " x\r\n",
     MALFORMED}, /* malformed: a blank */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer," RIGHT "\r\n",
     MALFORMED}, /* malformed: a comma */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer\t" RIGHT "\r\n",
     MALFORMED}, /* malformed: a tab */
    {SAME, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\xE9\r\n", MALFORMED}, /* malformed */
    {SAME, OWN, POST LOCAL "x-claude-code-ide-authorization:\r\n",
     MALFORMED},                                                       /* malformed: empty */
    {SAME, OTHER, POST LOCAL "Authorization: " RIGHT "\r\n", NEEDED},  /* needed: another scheme */
    {SAME, OWN, POST LOCAL "Authorization: Basic dTpw\r\n", COMES_IN}, /* another scheme is none */
    {SAME, OWN, POST LOCAL "Authorization: BearerX y\r\n", COMES_IN},  /* another scheme */
    {SAME, OWN, POST LOCAL "Authorization:\r\n", COMES_IN},            /* none */
    {SAME, OTHER, POST LOCAL "Authorization: Basic dTpw\r\nAuthorization: Bearer " RIGHT "\r\n",
     COMES_IN},
    /* comes in: the other scheme is none */
    {SAME, OTHER,
     POST LOCAL "Authorization: Bearer " RIGHT "\r\nx-claude-code-ide-authorization: " RIGHT "\r\n",
     COMES_IN}, /* comes in: twice the same */
    {SAME, OWN,
     POST LOCAL "Authorization: Bearer " RIGHT "\r\nx-claude-code-ide-authorization: " WRONG "\r\n",
     DIFFERENT}, /* two different tokens */
    {SAME, OWN, POST LOCAL "Authorization: Bearer " WRONG "\r\nAuthorization: Bearer " RIGHT "\r\n",
     DIFFERENT},
    /* two different tokens */
    {SAME, OTHER, "POST /rpc?token=" RIGHT "&access_token=" RIGHT " HTTP/1.1\r\n" LOCAL, NEEDED},
    /* a token is needed: the URL is no place for it */
    {SAME, OTHER, POST LOCAL "Cookie: token=" RIGHT "\r\n", NEEDED}, /* a token is needed */
    {SAME, UNIX_OTHER, POST "Host: x\r\n", NEEDED},                  /* a token is needed */
    {SAME, UNIX_OTHER, POST "Host: x\r\nAuthorization: Bearer " RIGHT "\r\n",
     COMES_IN},                                 /* comes in */
    {SAME, REMOTE, POST "Host: x\r\n", NEEDED}, /* a token is needed */
    {SAME | BARE, OWN, POST LOCAL, COMES_IN},   /* needs none */
    {SAME | BARE, OTHER, POST LOCAL, NEEDED},   /* nobody can show one */
    {SAME | BARE, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", NOT_IT}, /* wrong */
    {TOKEN, OWN, POST LOCAL, NEEDED},              /* everybody needs one */
    {TOKEN, UNIX_OWN, POST "Host: x\r\n", NEEDED}, /* everybody */
    {TOKEN, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", COMES_IN},      /* comes in */
    {TOKEN | BARE, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", NOT_IT}, /* wrong */
    {NONE, OTHER, POST LOCAL, COMES_IN},              /* nobody needs one */
    {NONE, UNIX_OTHER, POST "Host: x\r\n", COMES_IN}, /* nobody */
    {NONE, OTHER, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", COMES_IN}, /* comes in */
    {NONE, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     NOT_IT}, /* the token is wrong */
    {NONE | BARE, OTHER, POST LOCAL "Authorization: Bearer " WRONG "\r\n",
     COMES_IN}, /* not looked at */
    {NONE, REMOTE, POST "Host: x\r\n", NEEDED},
    /* never from outside */
    /* Relays: the connection is theirs, whoever asked */
    {SAME, OWN, POST LOCAL "Forwarded: for=192.0.2.1\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forwarded-For: 192.0.2.1\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "x-forwarded-proto: https\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forwarded-Host:\r\n", RELAYED}, /* whatever is in it */
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {SAME, UNIX_OWN, POST "Host: x\r\nVia: 1.1 relay\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\nAuthorization: Bearer " RIGHT "\r\n", COMES_IN},
    {SAME, OWN, POST LOCAL "Via: 1.1 relay\r\nAuthorization: Bearer " WRONG "\r\n", NOT_IT},
    {SAME | BARE, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {SAME, OWN, POST LOCAL "X-Forward: x\r\nForward: x\r\nX-Via: x\r\n",
     COMES_IN}, /* other names */
    {SAME, OTHER, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {NONE, OWN, POST LOCAL "Via: 1.1 relay\r\n", COMES_IN}, /* as it was chosen */
    {TOKEN, OWN, POST LOCAL "Via: 1.1 relay\r\n", NEEDED},

    /* A server that is known by other names has a relay in front of it, which may add no header */
    {SAME | LISTS, OWN, POST "Host: memo.example:8765\r\n", NAMED},
    {SAME | LISTS, OWN, POST LOCAL, NAMED},
    {SAME | LISTS, UNIX_OWN, POST LOCAL, NAMED},
    {SAME | LISTS, OWN, POST LOCAL "Authorization: Bearer " RIGHT "\r\n", COMES_IN},
    {SAME | LISTS, OWN, POST LOCAL "Via: 1.1 relay\r\n", RELAYED},
    {NONE | LISTS, OWN, POST LOCAL, COMES_IN},

    /* The filters of the program look at tokens, and at nothing else */
    {FILTER, OWN, POST LOCAL, COMES_IN},
    {FILTER, OTHER, POST LOCAL, COMES_IN},
    {FILTER, UNIX_OTHER, POST LOCAL, COMES_IN},
    {FILTER, REMOTE, POST LOCAL, COMES_IN},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer of-the-program\r\n", COMES_IN},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer\r\n", COMES_IN},
    {FILTER, OTHER, POST LOCAL "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", COMES_IN},
    {FILTER | LISTS, OWN, POST LOCAL "Via: 1.1 relay\r\n", COMES_IN},
    {FILTER, OWN, POST "Host: evil.example:8765\r\n", BAD_HOST},
    {FILTER, OWN, POST LOCAL "Origin: https://evil.example\r\n", BAD_ORIGIN},
};

#endif
