/* talk: plays .talk files, which are conversations.
 *
 *   talk direct FILE...           through fumi_handle, in this process
 *   talk stdio PROGRAM FILE...    message by message to a program, which is started for each file
 *   talk burst PROGRAM FILE...    the same, all messages at once
 *   talk MODE PROGRAM FILE...     message by message to a server, which is started for each file:
 *     unix                        lines over its Unix socket
 *     http, httpunix              a POST for each message, over TCP and over the Unix socket
 *     websocket                   a text message for each
 *
 * The beginning of a line tells its kind:
 *
 *   #        comment: what the following messages show
 *   #! MODE  first line only: the modes in which the file is played; default: all
 *   -->      a message, sent byte for byte
 *   ~~>      a message in which \xHH stands for a byte and \(N*TEXT) for N times TEXT
 *   **>      a message that is sent 50 times; each time it must get a result, which may be any
 *   <--      an answer: members in any order, "*" for any value, numbers as written
 *   <==      an answer, byte for byte
 *
 * A message is followed by its expected answers, in order; without any, it must get none. A string
 * such as "$id" in an answer matches any value and captures it; later messages get the captured
 * value in place of "$id", and "=$id" in an answer matches only that value. A member "..." matches
 * any other members.
 *
 * Each file is played in a new directory, named in FUMI_DATA_DIR.
 *
 * Each message counts as one check, and so does the end of a file: no further answer, status 0.
 *
 * Over HTTP the status must be 200 with an answer, 204 without, and 413 for a message of more than
 * 1 MiB. Over WebSocket a message of more than 1 MiB, or one that is not UTF-8, must close the
 * connection with code 1009 or 1007; the talk continues on a new connection. */
#include "talk.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static const struct {
    bool program; /* needs a program */
    talk_play_fn *play;
} modes[MODES] = {
    [DIRECT] = {false, play_direct},      [STDIO] = {true, play_stdio},
    [BURST] = {true, play_burst},         [UNIX] = {true, play_unix},
    [HTTP] = {true, play_http},           [HTTPUNIX] = {true, play_httpunix},
    [WEBSOCKET] = {true, play_websocket},
};

static void play(size_t mode, const char *program, const char *path, struct tally *tally)
{
    struct talk talk = {.path = path};
    char dir[] = "/tmp/talk-XXXXXX";
    if (!mkdtemp(dir) || setenv("FUMI_DATA_DIR", dir, 1) || talk_read(&talk))
        tally->failed++;
    else if (!(talk.modes & 1u << mode))
        tally->skipped += (int)talk.n;
    else
        modes[mode].play(&talk, program, tally);
    nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    talk_done(&talk);
}

static int play_all(size_t mode, char **words)
{
    struct tally tally = {0};
    const char *program = modes[mode].program ? *words++ : NULL;
    for (; *words; words++)
        play(mode, program, *words, &tally);
    fflush(stderr);
    printf("%d passed, %d failed", tally.passed, tally.failed);
    if (tally.skipped > 0)
        printf(", %d skipped", tally.skipped);
    printf("\n");
    return tally.failed || !tally.passed;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < MODES && argc > 1; i++)
        if (strcmp(mode_names[i], argv[1]) == 0 && argc > 2 + modes[i].program)
            return play_all(i, argv + 2);
    fprintf(stderr, "usage: talk direct FILE...\n"
                    "       talk stdio PROGRAM FILE...\n"
                    "       talk burst|unix|http|httpunix|websocket PROGRAM FILE...\n");
    return 2;
}
