#include "backends/net/dispatcher.h"

#include "base/clean.h"

#include <errno.h>
#include <signal.h>

static const int64_t TICK =
	20000000; /* ns: how exactly pauses end, and how soon a cancelled one does */

struct dispatcher {
	struct http_loop *loop;
	struct http_metrics *metrics;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t cond;               /* something has ended, or ending */
	struct http_request *first, **end; /* whose attempt has ended; guarded by lock */
	bool ending;                       /* guarded by lock */

	struct http_request *paused; /* the thread's own */
};

static void
attempt_ended(struct client_attempt *a)
{
	struct http_request *e = a->request;
	struct dispatcher *d = e->dispatcher;
	e->next = NULL;
	LOCKED(&d->lock) {
		*d->end = e;
		d->end = &e->next;
		pthread_cond_signal(&d->cond);
	}
}

static void
hand_over(struct http_request *e)
{
	e->done(e->done_arg, e->result, &e->reply);
	http_request_done(e);
	free(e);
}

/* What comes after step. */
static void
go_on(struct dispatcher *d, struct http_request *e, enum http_request_step step)
{
	if (step == HTTP_REQUEST_NOW)
		step = http_request_send(e, d->loop);
	if (step == HTTP_REQUEST_OVER)
		hand_over(e);
	if (step != HTTP_REQUEST_PAUSE)
		return;
	e->next = d->paused;
	d->paused = e;
}

static void
look_at_paused(struct dispatcher *d)
{
	struct http_request *all = MOVE(d->paused);
	int64_t now = clock_now();
	while (all) {
		struct http_request *e = all;
		all = e->next;
		go_on(d, e, http_request_wait(e, now));
	}
}

/* The next one whose attempt has ended; NULL: nothing for now, or *ret_ending. */
static struct http_request *
next_ended(struct dispatcher *d, bool *ret_ending)
{
	struct http_request *e = NULL;
	LOCKED(&d->lock) {
		if (!d->first && !d->ending && !d->paused) {
			pthread_cond_wait(&d->cond, &d->lock);
		} else if (!d->first && !d->ending) {
			int64_t until = clock_now() + TICK;
			struct timespec t = {until / SECOND, until % SECOND};
			pthread_cond_timedwait(&d->cond, &d->lock, &t);
		}
		e = d->first;
		if (e && !(d->first = e->next))
			d->end = &d->first;
		*ret_ending = d->ending;
	}
	return e;
}

static void *
work(void *arg)
{
	struct dispatcher *d = arg;
	bool ending = false;
	while (!ending) {
		struct http_request *e = next_ended(d, &ending);
		if (e)
			go_on(d, e, http_request_weigh(e, d->loop, d->metrics));
		if (d->paused)
			look_at_paused(d);
	}
	return NULL;
}

void
dispatcher_submit(
	struct dispatcher *d, const struct client_ask *ask, client_done_fn *done, void *done_arg)
{
	struct http_request *e = malloc(sizeof *e);
	if (!e) {
		done(done_arg, err_set(-ENOMEM, "no memory for a request"),
			&(struct client_reply){0});
		return;
	}
	http_request_init(e, ask, attempt_ended);
	e->dispatcher = d;
	e->done = done;
	e->done_arg = done_arg;
	if (http_request_send(e, d->loop) == HTTP_REQUEST_OVER)
		hand_over(e);
}

int
dispatcher_new(struct http_loop *w, struct http_metrics *g, struct dispatcher **ret)
{
	sigset_t all, before;
	struct dispatcher *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory for a client");
	d->loop = w;
	d->metrics = g;
	d->end = &d->first;
	pthread_mutex_init(&d->lock, NULL);
	clock_cond_init(&d->cond);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&d->thread, NULL, work, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		dispatcher_free(d);
		return err_sys(r, "cannot start a thread");
	}
	d->started = true;
	pthread_setname_np(d->thread, "zarrfs-dispatch");
	*ret = d;
	return 0;
}

struct dispatcher *
dispatcher_free(struct dispatcher *d)
{
	if (!d)
		return NULL;
	LOCKED(&d->lock) {
		d->ending = true;
		pthread_cond_signal(&d->cond);
	}
	if (d->started)
		pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return NULL;
}
