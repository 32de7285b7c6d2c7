/* The version of libfumi. */
#ifndef FUMI_BASE_VERSION_H
#define FUMI_BASE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. CMakeLists.txt reads the three numbers from this file. */
#define FUMI_VERSION_MAJOR 0
#define FUMI_VERSION_MINOR 1
#define FUMI_VERSION_PATCH 0

/* For #if: FUMI_VERSION_NUMBER >= 100 means 0.1.0 or later. */
#define FUMI_VERSION_NUMBER                                                                        \
    (FUMI_VERSION_MAJOR * 10000 + FUMI_VERSION_MINOR * 100 + FUMI_VERSION_PATCH)

#define FUMI_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch
#define FUMI_VERSION_TEXT(major, minor, patch) FUMI_VERSION_JOIN(major, minor, patch)
#define FUMI_VERSION                           FUMI_VERSION_TEXT(FUMI_VERSION_MAJOR, FUMI_VERSION_MINOR, FUMI_VERSION_PATCH)

/* The version of the library at run time, such as "0.1.0". */
const char *fumi_version(void);

#ifdef __cplusplus
}
#endif

#endif
