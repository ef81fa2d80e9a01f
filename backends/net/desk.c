#include "backends/net/desk.h"

#include "base/clean.h"

#include <errno.h>
#include <signal.h>

static const int64_t TICK =
	20000000; /* ns: how exactly pauses end, and how soon a cancelled one does */

struct desk {
	struct wire *wire;
	struct gauge *gauge;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t cond;         /* something has ended, or ending */
	struct errand *first, **end; /* whose attempt has ended; guarded by lock */
	bool ending;                 /* guarded by lock */

	struct errand *paused; /* the thread's own */
};

static void
attempt_ended(struct client_attempt *a)
{
	struct errand *e = a->errand;
	struct desk *d = e->desk;
	e->next = NULL;
	LOCKED(&d->lock) {
		*d->end = e;
		d->end = &e->next;
		pthread_cond_signal(&d->cond);
	}
}

static void
hand_over(struct errand *e)
{
	e->done(e->done_arg, e->result, &e->reply);
	errand_done(e);
	free(e);
}

/* What comes after step. */
static void
go_on(struct desk *d, struct errand *e, enum errand_step step)
{
	if (step == ERRAND_NOW)
		step = errand_send(e, d->wire);
	if (step == ERRAND_OVER)
		hand_over(e);
	if (step != ERRAND_PAUSE)
		return;
	e->next = d->paused;
	d->paused = e;
}

static void
look_at_paused(struct desk *d)
{
	struct errand *all = MOVE(d->paused);
	int64_t now = when_now();
	while (all) {
		struct errand *e = all;
		all = e->next;
		go_on(d, e, errand_wait(e, now));
	}
}

/* The next one whose attempt has ended; NULL: nothing for now, or *ret_ending. */
static struct errand *
next_ended(struct desk *d, bool *ret_ending)
{
	struct errand *e = NULL;
	LOCKED(&d->lock) {
		if (!d->first && !d->ending && !d->paused) {
			pthread_cond_wait(&d->cond, &d->lock);
		} else if (!d->first && !d->ending) {
			int64_t until = when_now() + TICK;
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
	struct desk *d = arg;
	bool ending = false;
	while (!ending) {
		struct errand *e = next_ended(d, &ending);
		if (e)
			go_on(d, e, errand_weigh(e, d->wire, d->gauge));
		if (d->paused)
			look_at_paused(d);
	}
	return NULL;
}

void
desk_submit(struct desk *d, const struct client_ask *ask, client_done_fn *done, void *done_arg)
{
	struct errand *e = malloc(sizeof *e);
	if (!e) {
		done(done_arg, err_set(-ENOMEM, "no memory for a request"),
			&(struct client_reply){0});
		return;
	}
	errand_init(e, ask, attempt_ended);
	e->desk = d;
	e->done = done;
	e->done_arg = done_arg;
	if (errand_send(e, d->wire) == ERRAND_OVER)
		hand_over(e);
}

int
desk_new(struct wire *w, struct gauge *g, struct desk **ret)
{
	sigset_t all, before;
	struct desk *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory for a client");
	d->wire = w;
	d->gauge = g;
	d->end = &d->first;
	pthread_mutex_init(&d->lock, NULL);
	when_cond_init(&d->cond);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&d->thread, NULL, work, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		desk_free(d);
		return err_sys(r, "cannot start a thread");
	}
	d->started = true;
	pthread_setname_np(d->thread, "zarrfs-desk");
	*ret = d;
	return 0;
}

struct desk *
desk_free(struct desk *d)
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
