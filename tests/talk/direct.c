/* Plays a talk in this process, through fumi_handle. */
#include "talk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct output_message {
    struct fumi_str text;
    struct output_message *next;
};

struct output {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct fumi_arena arena;
    struct output_message *first, **last;
    bool done;
};

static void receive(struct output *h, const struct fumi_buf *text, bool done)
{
    pthread_mutex_lock(&h->lock);
    if (text->n > 0) {
        struct output_message *s = fumi_alloc(&h->arena, sizeof(*s));
        s->text = fumi_dup(&h->arena, fumi_buf_str(text));
        *h->last = s;
        h->last = &s->next;
    }
    h->done = done;
    pthread_cond_signal(&h->arrived);
    pthread_mutex_unlock(&h->lock);
}

static void on_notification(void *arg, struct fumi_buf *message)
{
    receive(arg, message, false);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    (void)code;
    receive(arg, answer, true);
}

static bool wait_all(struct output *h)
{
    struct timespec end;
    int rc = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE;
    pthread_mutex_lock(&h->lock);
    while (!h->done && rc == 0)
        rc = pthread_cond_timedwait(&h->arrived, &h->lock, &end);
    pthread_mutex_unlock(&h->lock);
    return rc == 0;
}

static bool matches_step(struct talk *t, const struct step *step, const struct output_message *said)
{
    const struct want *want = step->wants;
    while (want && said && talk_answers(t, want, said->text)) {
        want = want->next;
        said = said->next;
    }
    if (!want && !said)
        return true;
    talk_report(t, step, want, said ? said->text : (struct fumi_str){0});
    return false;
}

/* The message is passed in a block of exactly its size, so that a sanitizer detects reads past it.
 */
static bool play_step(struct talk *t, const struct step *step, struct fumi_server *server,
                      struct fumi_peer *peer)
{
    struct output h = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
    struct fumi_str message = talk_message(t, step);
    char *block = malloc(message.n);
    h.last = &h.first;
    if (message.n > 0)
        memcpy(block, message.p, message.n);
    fumi_handle(server, peer, (struct fumi_str){message.n > 0 ? block : "", message.n},
                (struct fumi_sink){.notify = on_notification, .reply = on_reply, .arg = &h});
    if (!wait_all(&h)) {
        talk_report(t, step, step->wants, (struct fumi_str){0});
        fprintf(stderr, "not finished within %d s\n", PATIENCE);
        exit(1); /* an unfinished call still uses this stack frame */
    }
    bool right = matches_step(t, step, h.first);
    free(block);
    fumi_arena_done(&h.arena);
    return right;
}

void play_direct(struct talk *t, const char *program, struct tally *tally)
{
    struct fumi_server *server = fumi_server_new("talk", "1.0");
    struct fumi_peer peer = {.transport = "direct"};
    struct fumi_err e = {0};
    struct fixture *fixture = fixture_open(server, &e);
    (void)program;
    if (!fixture)
        fprintf(stderr, "%s: %s\n", t->path, e.text);
    for (struct step *step = t->steps; step; step = step->next)
        tally_add(tally, fixture && play_step(t, step, server, &peer));
    fumi_peer_close(&peer);
    if (fixture)
        fixture_close(fixture);
    fumi_peer_done(&peer);
    fumi_server_free(server);
}
