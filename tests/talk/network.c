/* Plays a talk with a server over each of its socket transports. A server is started for each file.
 */
#include "base/utf8.h"
#include "peers/frames.h"
#include "talk.h"

enum { MESSAGE = 1 << 20 }; /* message limit of the server in bytes */

struct scene {
    struct talk *talk;
    const struct way *way;
    struct live live;
    struct wire wire;
};

struct way {
    bool local; /* over the Unix socket */
    bool (*greet)(struct scene *s);
    bool (*play)(struct scene *s, const struct step *step);
    bool (*part)(struct scene *s); /* the talk has ended */
};

static bool join(struct scene *s)
{
    (s->way->local ? wire_unix : wire_tcp)(&s->wire, &s->live);
    return s->way->greet(s);
}

static bool join_again(struct scene *s)
{
    wire_close(&s->wire);
    return join(s);
}

static bool complain(const struct scene *s, const struct step *step, const char *what, int number)
{
    fprintf(stderr, "%s:%d: %s %d\n", s->talk->path, step->line, what, number);
    return false;
}

/* Whether that is the next expected answer; a NULL string: there was none. */
static bool is_next(struct scene *s, const struct step *step, const struct want *want,
                    struct fumi_str got)
{
    if (want && got.p && talk_answers(s->talk, want, got))
        return true;
    talk_report(s->talk, step, want, got);
    return false;
}

static bool end_input(struct scene *s)
{
    wire_half_close(&s->wire);
    if (wire_ends(&s->wire))
        return true;
    fprintf(stderr, "%s: the connection did not end, or more came\n", s->talk->path);
    talk_show("got", wire_unread(&s->wire));
    return false;
}

static bool greet_none(struct scene *s)
{
    (void)s;
    return true;
}

static bool play_line(struct scene *s, const struct step *step)
{
    struct fumi_str line = talk_message(s->talk, step);
    wire_put(&s->wire, line);
    wire_put(&s->wire, FUMI_STR("\n"));
    for (const struct want *want = step->wants; want; want = want->next) {
        line = wire_until(&s->wire, "\n");
        line.n -= line.n > 0;
        if (!is_next(s, step, want, line))
            return false;
    }
    return true;
}

static bool greet_websocket(struct scene *s)
{
    return wire_upgrade(&s->wire, &s->live, "").status == 101;
}

/* The close code for messages that WebSocket forbids; 0: the message is allowed. */
static int forbidden(struct fumi_str message)
{
    if (message.n > MESSAGE)
        return 1009;
    return fumi_utf8_valid(message) ? 0 : 1007;
}

static bool is_closed(struct scene *s, const struct step *step, int code)
{
    struct frame f = wire_read_frame(&s->wire);
    if (f.first != (FIN | CLOSE) || f.code != code)
        return complain(s, step, "the connection must be closed with", code);
    return join_again(s) || complain(s, step, "cannot join again", 0);
}

static bool play_frame(struct scene *s, const struct step *step)
{
    struct fumi_str message = talk_message(s->talk, step);
    wire_frame(&s->wire, FIN | TEXT, message);
    if (forbidden(message))
        return is_closed(s, step, forbidden(message));
    for (const struct want *want = step->wants; want; want = want->next) {
        struct frame f = wire_read_frame(&s->wire);
        if (f.first != (FIN | TEXT))
            f.payload = (struct fumi_str){0};
        if (!is_next(s, step, want, f.payload))
            return false;
    }
    return true;
}

static bool part_websocket(struct scene *s)
{
    wire_frame(&s->wire, FIN | CLOSE, FUMI_STR("\x03\xe8"));
    struct frame f = wire_read_frame(&s->wire);
    if (f.first == (FIN | CLOSE) && f.code == 1000)
        return end_input(s);
    fprintf(stderr, "%s: our close was not answered\n", s->talk->path);
    return false;
}

/* Removes and returns the next event of a stream; a NULL string: there is none. */
static struct fumi_str next_event(struct fumi_str *stream)
{
    struct fumi_str start = FUMI_STR("data: "), event = {0};
    const char *end = stream->n ? memmem(stream->p, stream->n, "\n\n", 2) : NULL;
    if (!end || !fumi_starts(*stream, start))
        return event;
    event = (struct fumi_str){stream->p + start.n, (size_t)(end - stream->p) - start.n};
    *stream = (struct fumi_str){end + 2, (size_t)(stream->p + stream->n - end) - 2};
    return event;
}

static struct fumi_str next_message(struct fumi_str *body, bool events)
{
    struct fumi_str whole = *body;
    if (events)
        return next_event(body);
    *body = (struct fumi_str){0};
    return whole;
}

static bool matches_step(struct scene *s, const struct step *step, const struct reply *r)
{
    struct fumi_str type = reply_field(r, "Content-Type"), body = r->body;
    bool events = fumi_eq(type, FUMI_STR("text/event-stream"));
    if (!events && !fumi_eq(type, FUMI_STR("application/json")))
        return complain(s, step, "wrong Content-Type with status", r->status);
    for (const struct want *want = step->wants; want; want = want->next)
        if (!is_next(s, step, want, next_message(&body, events)))
            return false;
    return body.n == 0 || is_next(s, step, NULL, body);
}

static int status_for(const struct step *step, struct fumi_str message)
{
    if (message.n > MESSAGE)
        return 413;
    return step->wants ? 200 : 204;
}

static bool play_post(struct scene *s, const struct step *step)
{
    struct fumi_str message = talk_message(s->talk, step);
    wire_post(&s->wire, &s->live, message, "Accept: application/json, text/event-stream\r\n");
    struct reply r = wire_reply(&s->wire, false);
    if (r.status != status_for(step, message))
        return complain(s, step, "wrong status:", r.status);
    bool right = r.status == 204 || matches_step(s, step, &r);
    if (!reply_closes(&r))
        return right;
    return join_again(s) && right && r.status == 413;
}

static const struct way lines = {true, greet_none, play_line, end_input},
                        http = {false, greet_none, play_post, end_input},
                        httpunix = {true, greet_none, play_post, end_input},
                        websocket = {false, greet_websocket, play_frame, part_websocket};

static void play(struct talk *t, const char *program, struct tally *tally, const struct way *way)
{
    struct scene s = {.talk = t, .way = way};
    bool up = live_start(&s.live, program, NULL) == 0, on = up && join(&s);
    for (struct step *step = t->steps; step; step = step->next) {
        on = on && s.wire.state == WIRE_OPEN; /* further mismatches are not reported */
        tally_add(tally, on && way->play(&s, step));
    }
    bool parted = on && way->part(&s);
    wire_close(&s.wire);
    tally_add(tally, up && live_stop(&s.live) == 0 && parted);
}

void play_unix(struct talk *t, const char *program, struct tally *tally)
{
    play(t, program, tally, &lines);
}

void play_http(struct talk *t, const char *program, struct tally *tally)
{
    play(t, program, tally, &http);
}

void play_httpunix(struct talk *t, const char *program, struct tally *tally)
{
    play(t, program, tally, &httpunix);
}

void play_websocket(struct talk *t, const char *program, struct tally *tally)
{
    play(t, program, tally, &websocket);
}
