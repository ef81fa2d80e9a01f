#include "view/stale.h"

#include "base/err.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

struct stale_item {
	struct stale_item *next;
	enum stale_what what;
	int64_t pushed;
	char path[];
};

struct stale {
	stale_fn *fn;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more, told;
	struct stale_item *first, **last;
	bool busy, end;
};

static struct stale_item *
take(struct stale *s)
{
	struct stale_item *i = NULL;
	LOCKED(&s->lock) {
		s->busy = false;
		if (!s->first) /* stale_flush waits for the last one */
			pthread_cond_broadcast(&s->told);
		while (!s->first && !s->end)
			pthread_cond_wait(&s->more, &s->lock);
		i = s->end ? NULL : s->first;
		if (i) {
			s->first = i->next;
			s->last = s->first ? s->last : &s->first;
			s->busy = true;
		}
	}
	return i;
}

static void *
run(void *arg)
{
	struct stale *s = arg;
	for (struct stale_item *i; (i = take(s));) {
		s->fn(s->arg, i->path, i->what, i->pushed);
		free(i);
	}
	return NULL;
}

int
stale_new(stale_fn *fn, void *arg, struct stale **ret)
{
	struct stale *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for a thread");
	s->fn = fn;
	s->arg = arg;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	clock_cond_init(&s->told);
	int e = pthread_create(&s->thread, NULL, run, s);
	if (e) {
		free(s);
		return err_sys(e, "cannot start a thread");
	}
	*ret = s;
	return 0;
}

void
stale_stop(struct stale *s)
{
	bool stopped = false;
	if (!s)
		return;
	LOCKED(&s->lock) {
		stopped = s->end;
		s->end = true;
		pthread_cond_broadcast(&s->more);
		pthread_cond_broadcast(&s->told);
	}
	if (!stopped)
		pthread_join(s->thread, NULL);
}

struct stale *
stale_free(struct stale *s)
{
	if (!s)
		return NULL;
	stale_stop(s);
	for (struct stale_item *i = s->first, *next; i; i = next) {
		next = i->next;
		free(i);
	}
	pthread_cond_destroy(&s->more);
	pthread_cond_destroy(&s->told);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

void
stale_push(struct stale *s, const char *path, enum stale_what what)
{
	size_t len = strlen(path) + 1;
	struct stale_item *i = malloc(sizeof *i + len);
	if (!i)
		return;
	i->next = NULL;
	i->what = what;
	i->pushed = clock_now();
	memcpy(i->path, path, len);
	LOCKED(&s->lock) {
		*s->last = i;
		s->last = &i->next;
		pthread_cond_signal(&s->more);
	}
}

bool
stale_flush(struct stale *s, int64_t until)
{
	const struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	bool told = false;
	LOCKED(&s->lock) {
		while ((s->first || s->busy) && !s->end && !clock_over(until))
			pthread_cond_timedwait(&s->told, &s->lock, &t);
		told = !s->first && !s->busy;
	}
	return told;
}
