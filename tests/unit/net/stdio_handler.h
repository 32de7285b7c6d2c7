/* The handler of test_stdio: the first byte of a line selects the action (table `actions`). */
#ifndef FUMI_STDIO_HANDLER_H
#define FUMI_STDIO_HANDLER_H

#include "base/arena.h"
#include "net/pool.h"
#include "net/stdio.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Counts the allocations of libfumi; replaces the library's own function. */
static atomic_size_t allocations, memory, memory_peak;

void *fumi_resize(void *old, size_t size)
{
    size_t before = malloc_usable_size(old);
    void *p = NULL;
    if (size)
        p = realloc(old, size);
    else
        free(old);
    size_t now = atomic_fetch_add(&memory, malloc_usable_size(p) - before);
    now += malloc_usable_size(p) - before;
    if (now > atomic_load(&memory_peak))
        atomic_store(&memory_peak, now);
    atomic_fetch_add(&allocations, size != 0);
    return p;
}

struct fixture {
    struct pool *pool;
    struct post *kept;
    int gate; /* 'g' waits here for a byte */
    atomic_int open, open_peak;
};

/* A message that waits for its answer. */
struct post {
    struct fumi_task task;
    const struct action *action;
    struct fixture *fixture;
    struct fumi_peer *peer;
    struct fumi_str line;
    struct fumi_sink sink;
    struct post *next;
};

static void send_text(struct post *p, void (*how)(void *, struct fumi_buf *), void *arg,
                      const char *text)
{
    struct fumi_buf b = {0};
    fumi_buf_add(&b, text, strlen(text));
    fumi_buf_add(&b, p->line.p, p->line.n);
    how(arg, &b);
    fumi_buf_done(&b);
}

static void answer(struct post *p, const char *text, size_t n)
{
    struct fumi_buf b = {0};
    if (n)
        fumi_buf_add(&b, text, n);
    atomic_fetch_sub(&p->fixture->open, 1);
    p->sink.reply(p->sink.arg, &b, 0);
    fumi_buf_done(&b);
    free(p);
}

static void echo(struct post *p)
{
    answer(p, p->line.p, p->line.n);
}

static void keep_silent(struct post *p)
{
    answer(p, "", 0);
}

static void notify_twice(struct post *p)
{
    send_text(p, p->sink.notify, p->sink.arg, "1 ");
    send_text(p, p->sink.notify, p->sink.arg, "2 ");
    echo(p);
}

static void *notify_there(void *arg)
{
    struct post *p = arg;
    send_text(p, p->sink.notify, p->sink.arg, "there ");
    return NULL;
}

/* Another thread sends a notification, then this one sends another and answers. */
static void notify_by_turns(struct post *p)
{
    pthread_t thread;
    pthread_create(&thread, NULL, notify_there, p);
    pthread_join(thread, NULL);
    notify_twice(p);
}

static void push_to(void *peer, struct fumi_buf *text)
{
    struct fumi_peer *to = peer;
    to->push(to, text);
}

static void push(struct post *p)
{
    send_text(p, push_to, p->peer, "pushed ");
    echo(p);
}

static void wait_at_gate(struct post *p)
{
    char byte;
    send_text(p, p->sink.notify, p->sink.arg, "waiting ");
    while (read(p->fixture->gate, &byte, 1) < 0 && errno == EINTR)
        continue;
    echo(p);
}

static void keep(struct post *p)
{
    p->next = p->fixture->kept;
    p->fixture->kept = p;
}

/* Answers the stored messages on this thread, while it handles another message. */
static void release(struct post *p)
{
    while (p->fixture->kept) {
        struct post *kept = p->fixture->kept;
        p->fixture->kept = kept->next;
        echo(kept);
    }
    echo(p);
}

/* The answer to "b100" has 100 bytes. */
static void answer_big(struct post *p)
{
    size_t n = 0;
    for (size_t i = 1; i < p->line.n; i++)
        n = n * 10 + (size_t)(p->line.p[i] - '0');
    char *text = malloc(n + 1);
    memset(text, 'b', n);
    answer(p, text, n);
    free(text);
}

static void print_stray(struct post *p)
{
    printf("stray\n");
    if (write(STDOUT_FILENO, "written\n", 8) == 8)
        echo(p);
}

static void answer_number(struct post *p, size_t n)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%zu", n);
    answer(p, text, (size_t)len);
}

static void answer_open(struct post *p)
{
    answer_number(p, (size_t)atomic_load(&p->fixture->open_peak));
}

static void answer_allocations(struct post *p)
{
    answer_number(p, atomic_load(&allocations));
}

/* Sends notifications of 64 MiB without waiting. */
static void flood(struct post *p)
{
    for (int i = 0; i < 1024; i++) {
        struct fumi_buf b = {0};
        memset(fumi_buf_reserve(&b, 1 << 16), 'f', 1 << 16);
        b.n = 1 << 16;
        p->sink.notify(p->sink.arg, &b);
        fumi_buf_done(&b);
    }
    echo(p);
}

static const struct action {
    char letter;
    bool elsewhere; /* on a worker */
    void (*run)(struct post *p);
} actions[] = {
    {'e', false, echo},
    {'d', true, echo},
    {'n', false, keep_silent},
    {'N', true, keep_silent},
    {'t', false, notify_twice},
    {'T', true, notify_twice},
    {'p', false, push},
    {'P', true, push},
    {'f', false, flood},
    {'F', true, flood},
    {'k', false, keep},
    {'r', false, release},
    {'b', false, answer_big},
    {'s', false, print_stray},
    {'g', true, wait_at_gate},
    {'m', false, answer_open},
    {'c', false, answer_allocations},
    {'w', false, notify_by_turns},
};

static void run_post(struct fumi_task *task)
{
    struct post *p = FUMI_OWNER(task, struct post, task);
    p->action->run(p);
}

static const struct action *find_action(struct fumi_str line)
{
    for (size_t i = 0; i < FUMI_COUNT(actions); i++)
        if (line.p[0] == actions[i].letter)
            return &actions[i];
    return &actions[0];
}

static void act(void *self, struct fumi_peer *peer, struct fumi_str line, struct fumi_sink sink)
{
    struct fixture *fixture = self;
    struct post *p = malloc(sizeof(*p) + line.n);
    memcpy(p + 1, line.p, line.n); /* the line is borrowed */
    line.p = (const char *)(p + 1);
    *p = (struct post){{run_post, NULL}, find_action(line), fixture, peer, line, sink, NULL};
    int open = atomic_fetch_add(&fixture->open, 1) + 1;
    if (open > atomic_load(&fixture->open_peak))
        atomic_store(&fixture->open_peak, open);
    if (p->action->elsewhere)
        pool_submit(fixture->pool, &p->task);
    else
        run_post(&p->task);
}

#endif
