/* Opens a page in the user's browser. */
#ifndef FUMI_APP_BROWSER_H
#define FUMI_APP_BROWSER_H

/* Runs xdg-open with the URL, in a process of its own that outlives this one, and does not wait for
 * it. Nothing happens if there is no such program or no desktop, so the caller should also print
 * the URL. */
void browser_open(const char *url);

#endif
