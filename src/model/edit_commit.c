/* The commit of an edit: tried until no other program's change comes between, by one thread of a
 * mount at a time. */
#include "base/err.h"
#include "base/list.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void
forget(struct commit *c)
{
	parts_forget(c);
	docs_forget(c);
}

void
commit_done(struct commit *c)
{
	forget(c);
	for (size_t i = 0; i < c->nleft; i++)
		free(c->left[i].key);
	free(c->left);
	LIST_FREE(c->consolidated, c->nconsolidated);
	*c = (struct commit){0};
}

enum { PAUSE_FIRST = 1000, PAUSE_LAST = 64000 }; /* us */

int
commit_wait(struct commit *c, unsigned attempts)
{
	unsigned pause = attempts < 6 ? PAUSE_FIRST << attempts : PAUSE_LAST;
	const struct edit_doc *d = atomic_exchange(&c->refused, NULL);
	usleep(pause + (unsigned)(clock_now() >> 8) % pause);
	int r = zmap_patience(c->deadline, c->cancel);
	return r < 0 && d ? err_add(r, "cannot store '%s', which changes each time", d->key) : r;
}

enum { LOOK_EVERY = 100 * 1000 * 1000 }; /* ns */

/* Threads of one mount do not get in each other's way, which a store without conditions could not
 * tell. */
static int
begin_storing(struct commit *c)
{
	struct model *m = c->model;
	int r = 0;
	LOCKED(&m->lock) {
		while (m->committing && r == 0) {
			const int64_t at = clock_now() + LOOK_EVERY;
			const struct timespec until = {at / SECOND, at % SECOND};
			pthread_cond_timedwait(&m->idle, &m->lock, &until);
			r = zmap_patience(c->deadline, c->cancel);
		}
		m->committing |= r == 0;
	}
	return r;
}

static void
end_storing(struct commit *c)
{
	LOCKED(&c->model->lock) {
		c->model->committing = false;
		c->model->commits++;
		pthread_cond_broadcast(&c->model->idle);
	}
}

unsigned
commits_so_far(struct model *m)
{
	unsigned n = 0;
	LOCKED(&m->lock)
		n = m->commits;
	return n;
}

/* Documents that were read a moment ago, and are stored on condition, need not be read again. */
static bool
are_fresh(const struct commit *c)
{
	return c->model->zmap->caps & ZMAP_CONDITIONAL && clock_now() - c->read_at < LOOK_EVERY &&
	       commits_so_far(c->model) == c->commits;
}

/* What this attempt has stored can be told from what others store, and taken back. */
static int
note_left(struct commit *c)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->parts; i++) {
		const struct edit_doc *d = c->part[i]->main;
		const struct node *n = c->part[i]->before;
		if (!d->put || !*d->version || !n || !n->array || !n->array->rank)
			continue;
		const struct left_length *before = commit_left(c, d, d->over);
		struct left_length l = {.key = strdup(d->key), .was = n->array->shape[0]};
		if (before)
			l.was = before->was;
		memcpy(l.version, d->version, sizeof l.version);
		r = l.key ? LIST_ADD(c->left, c->nleft, "a change", l) : list_no_memory("a change");
		if (r < 0)
			free(l.key);
	}
	return r;
}

static int
attempt(struct commit *c, commit_fn *fn, void *arg)
{
	int r = fn(c, arg);
	if (r == 0)
		r = commit_check(c);
	if (r < 0 || r == ZMAP_CHANGED)
		return r;
	commit_note_own(c);
	return commit_store(c);
}

int
commit_run(struct commit *c, commit_fn *fn, void *arg)
{
	struct err err = {0};
	unsigned n = 0;
	int r;
	if (!(c->model->zmap->caps & ZMAP_WRITE))
		return err_set(-EROFS, "the store cannot be written");
	if (!c->deadline)
		c->deadline = clock_now() + c->model->opt.timeout;
	r = begin_storing(c);
	if (r < 0)
		return r;
	parts_forget(c);
	if (!are_fresh(c))
		docs_forget(c);
	while ((r = attempt(c, fn, arg)) == ZMAP_CHANGED) {
		if ((r = note_left(c)) < 0 || (r = commit_wait(c, n++)) < 0)
			break;
		forget(c);
	}
	if (r == 0)
		commit_own_stored(c);
	if (r == 0)
		r = commit_consolidate(c);
	if (r < 0)
		err_save(r, &err);
	end_storing(c);
	if (c->stored)
		commit_renew(c);
	return r < 0 ? err_restore(&err) : r;
}
