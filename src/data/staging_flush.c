/* Callers that wait for what was written to be stored. */
#include "data/staging_impl.h"

#include <errno.h>

/* Has all objects with something older than that stored, of one space or (0) of all. How many there
 * are. */
static uint64_t
queue_list(struct staging *s, struct staged_list *l, uint64_t space, uint64_t until)
{
	uint64_t n = 0;
	for (struct staged_object *o = l->oldest, *next; o; o = next) {
		next = o->newer;
		if ((space && o->space->number != space) || o->since > until)
			continue;
		staging_queue(s, o);
		n++;
	}
	return n;
}

static uint64_t
count_list(const struct staged_list *l, uint64_t space, uint64_t until)
{
	uint64_t n = 0;
	for (struct staged_object *o = l->oldest; o; o = o->newer) {
		if (space && o->space->number != space)
			continue;
		if (o->state == STAGED_STORING && o->since && o->since <= until)
			o->again = true;
		n += o->again ||
		     (o->state == STAGED_STORING ? o->storing_since : o->since) <= until;
	}
	return n;
}

/* Until all that was written until then is stored, or has failed. The lock is held, and open
 * meanwhile. */
static int
wait_until(struct staging *s, uint64_t space, uint64_t until, struct cancel *cancel)
{
	for (;;) {
		uint64_t n = count_list(&s->queue, space, until) +
			     count_list(&s->storing, space, until) +
			     queue_list(s, &s->whole, space, until) +
			     queue_list(s, &s->dirty, space, until);
		uint64_t ended = s->ended + n;
		if (!n)
			return staging_wait_removed(s, space, cancel);
		staging_pump(s);
		while (s->ended < ended && (s->queue.oldest || s->storing.oldest)) {
			int r = staging_wait(s, 0, cancel);
			if (r < 0)
				return r;
		}
	}
}

/* The first error of one space, or (0) of all. */
static int
first_error(const struct staging *s, uint64_t space)
{
	for (struct map_entry *e = map_walk(&s->spaces, NULL); e; e = map_walk(&s->spaces, e)) {
		const struct staged_space *p = MAP_OF(e, struct staged_space, by_number);
		if (p->error.code && (!space || p->number == space))
			return err_restore(&p->error);
	}
	return staged_error(s, NULL);
}

/* Is an error of it one of all arrays, as long as it sticks? A loss always is. */
enum sync_of { SYNC_OF_ARRAYS, SYNC_OF_OTHERS };

/* r: what the store said. before: losses that were known when it was asked. */
static int
note_sync(struct staging *s, int r, enum sync_of of, unsigned before)
{
	const bool all = of == SYNC_OF_ARRAYS;
	LOCKED(&s->lock) {
		if (r < 0 && (all || r == -EIO)) {
			s->lost++;
			if (!s->error.code)
				err_save(r, &s->error);
		} else if (r == 0 && (all || s->lost != before)) {
			r = staged_error(s, NULL);
		}
	}
	return r;
}

/* What was put becomes durable; or it is lost, and it is not known which arrays it was of: a store
 * may tell that once only, so a second caller waits for what the first one hears. */
static int
sync_all(struct staging *s, struct zmap *z, enum sync_of of)
{
	unsigned before = 0;
	int r = 0;
	LOCKED(&s->lock)
		before = s->lost;
	LOCKED(&s->syncing)
		r = note_sync(s, z ? zmap_sync(z) : 0, of, before);
	return r;
}

int
data_sync(struct data *d, struct zmap *z)
{
	return sync_all(d->staging, z, SYNC_OF_OTHERS);
}

static int
flush(struct staging *s, uint64_t space, struct cancel *cancel)
{
	int r = 0;
	struct zmap *z = NULL;
	LOCKED(&s->lock) {
		r = staging_wait_removed(s, space, cancel); /* it marks what is to be stored */
		if (r == 0)
			r = wait_until(s, space, s->clock, cancel);
		if (r == 0)
			r = first_error(s, space);
		z = s->zmap;
	}
	return r < 0 ? r : sync_all(s, z, SYNC_OF_ARRAYS);
}

void
array_flush_begin(struct array *a)
{
	struct staging *s = a->data->staging;
	LOCKED(&s->lock) {
		queue_list(s, &s->whole, a->space, s->clock);
		queue_list(s, &s->dirty, a->space, s->clock);
		staging_pump(s);
	}
}

int
array_flush(struct array *a, struct cancel *cancel)
{
	return flush(a->data->staging, a->space, cancel);
}

int
data_flush(struct data *d, struct cancel *cancel)
{
	return flush(d->staging, 0, cancel);
}

/* Errors stick no longer. */
static void
forgive(struct staging *s)
{
	for (struct staged_object *o = s->failed.oldest, *next; o; o = next) {
		next = o->newer;
		o->last_try = true;
		staging_queue(s, o);
	}
	for (struct map_entry *e = map_walk(&s->spaces, NULL); e; e = map_walk(&s->spaces, e)) {
		struct staged_space *p = MAP_OF(e, struct staged_space, by_number);
		if (s->said && p->lost.code && p->lost_at > p->told)
			buf_addf(s->said, "%s\n", p->lost.text);
		p->error.code = 0;
	}
	if (s->error.code == -EIO) {
		s->gone = s->error;
		s->gone_at = data_errors(s->data);
	}
	s->error.code = 0;
	s->forgiven = s->clock++;
	atomic_fetch_add(&s->retries, 1);
}

static void
end_retry(struct staging *s)
{
	s->said = NULL;
	s->retrying = false;
	pthread_cond_broadcast(&s->moved);
}

int
data_retry(struct data *d, struct buf *said)
{
	struct staging *s = d->staging;
	struct zmap *z = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		while (s->retrying)
			staging_wait(s, 0, NULL);
		s->retrying = true;
		staging_wait_removed(s, 0, NULL); /* what that comes to sticks no later */
		s->said = said;
		forgive(s);
		r = wait_until(s, 0, s->clock, NULL);
		z = s->zmap;
		end_retry(s);
	}
	r = r < 0 ? r : sync_all(s, z, SYNC_OF_ARRAYS);
	if (r < 0 && said)
		buf_addf(said, "not stored: %s\n", err_text());
	return r;
}
