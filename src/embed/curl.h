/* libcurl, loaded at its first use. Loading it and its own libraries takes longer than the rest of
 * the start, and most users never use a remote provider. */
#ifndef FUMI_EMBED_CURL_H
#define FUMI_EMBED_CURL_H

#include <curl/curl.h>

#define CURL_CALLS(X)                                                                              \
    X(CURLcode, global_init, (long flags))                                                         \
    X(CURL *, easy_init, (void))                                                                   \
    X(void, easy_reset, (CURL * c))                                                                \
    X(void, easy_cleanup, (CURL * c))                                                              \
    X(CURLcode, easy_setopt, (CURL * c, CURLoption option, ...))                                   \
    X(CURLcode, easy_getinfo, (CURL * c, CURLINFO info, ...))                                      \
    X(CURLcode, easy_perform, (CURL * c))                                                          \
    X(const char *, easy_strerror, (CURLcode code))                                                \
    X(CURLU *, url, (void))                                                                        \
    X(void, url_cleanup, (CURLU * u))                                                              \
    X(CURLUcode, url_get, (const CURLU *u, CURLUPart part, char **text, unsigned flags))           \
    X(CURLUcode, url_set, (CURLU * u, CURLUPart part, const char *text, unsigned flags))           \
    X(void, free, (void *p))

/* curl_easy_init is ->easy_init, and so on. */
struct curl_calls {
#define CURL_CALL(type, name, args) type(*name) args;
    CURL_CALLS(CURL_CALL)
#undef CURL_CALL
};

/* Returns NULL if libcurl is not installed. Any thread may call it. */
const struct curl_calls *curl_calls(void);

#endif
