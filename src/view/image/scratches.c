#include "view/image/scratch.h"

#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

static const int64_t HIDDEN =
	60; /* s: a program that removes a file to make it anew does so at once */

struct hidden {
	struct hidden *next;
	char *path;
	int64_t until; /* clock_now() */
};

struct scratches {
	pthread_mutex_t lock;  /* guards all below */
	struct scratch *first; /* those that have a name */
	struct scratch *taken; /* open files that were taken in */
	struct hidden *hidden;
	uint64_t made;
};

int
scratches_new(struct scratches **ret)
{
	struct scratches *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a mount");
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

static void
free_scratch(struct scratch *s)
{
	if (!s)
		return;
	images_end(s->image);
	file_close(s->flat);
	spill_free(&s->bytes);
	turn_done(&s->turn);
	free(s->path);
	free(s);
}

struct scratches *
scratches_free(struct scratches *t)
{
	if (!t)
		return NULL;
	for (struct scratch *s = t->first, *next; s; s = next) {
		next = s->next;
		free_scratch(s);
	}
	for (struct hidden *h = t->hidden, *next; h; h = next) {
		next = h->next;
		free(h->path);
		free(h);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

size_t
scratch_dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) : 0;
}

/* With the lock held. */
static struct scratch *
find(struct scratches *t, const char *path)
{
	struct scratch *s = t->first;
	while (s && strcmp(s->path, path) != 0)
		s = s->next;
	return s;
}

struct scratch *
scratches_hold(struct mount *m, const char *path)
{
	struct scratch *s = NULL;
	LOCKED(&m->scratches->lock) {
		s = find(m->scratches, path);
		if (s)
			s->users++;
	}
	return s;
}

static void
unlink_from(struct scratch **at, const struct scratch *s)
{
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
}

/* With the lock held: no path leads to it any more. */
static void
take_out(struct scratches *t, struct scratch *s)
{
	unlink_from(&t->first, s);
	s->named = false;
}

void
scratches_put(struct mount *m, struct scratch *s)
{
	bool last = false;
	if (!s)
		return;
	LOCKED(&m->scratches->lock) {
		last = --s->users == 0 && !s->named;
		if (last && s->taken)
			unlink_from(&m->scratches->taken, s);
	}
	if (last)
		free_scratch(s);
}

void
scratches_unname(struct mount *m, struct scratch *s)
{
	LOCKED(&m->scratches->lock)
		if (s->named)
			take_out(m->scratches, s);
}

int
scratches_make(struct mount *m, const char *path, struct scratch **ret)
{
	struct scratch *s = calloc(1, sizeof *s);
	if (!s || !(s->path = strdup(path))) {
		free(s);
		return err_set(-ENOMEM, "no memory for a file");
	}
	turn_init(&s->turn);
	s->bytes.fd = -1;
	s->mtime = clock_wall();
	s->users = 1;
	bool there = false;
	LOCKED(&m->scratches->lock) {
		struct scratches *t = m->scratches;
		there = find(t, path);
		if (!there) {
			s->version =
				hash_end(hash_number(hash_text(HASH_START, "scratch"), ++t->made));
			s->named = true;
			s->next = t->first;
			t->first = s;
		}
	}
	if (there) {
		free_scratch(s);
		return err_set(-EEXIST, "'%s' is there", path);
	}
	*ret = s;
	return 0;
}

int
scratches_paths(struct mount *m, const char *dir, struct buf *ret)
{
	const size_t len = dir ? strlen(dir) : 0;
	int r = 0;
	LOCKED(&m->scratches->lock)
		for (const struct scratch *s = m->scratches->first; s && r == 0; s = s->next)
			if (!dir || (scratch_dir_len(s->path) == len &&
					    strncmp(s->path, dir, len) == 0))
				r = buf_add(ret, s->path, strlen(s->path) + 1);
	return r;
}

int
scratches_taken(struct mount *m, struct scratch ***ret)
{
	struct scratch **all = NULL;
	size_t n = 0;
	LOCKED(&m->scratches->lock) {
		for (const struct scratch *s = m->scratches->taken; s; s = s->next)
			n++;
		all = calloc(n + 1, sizeof *all);
		n = 0;
		for (struct scratch *s = m->scratches->taken; all && s; s = s->next) {
			s->users++;
			all[n++] = s;
		}
	}
	if (!all)
		return err_set(-ENOMEM, "no memory for a list of files");
	*ret = all;
	return 0;
}

char *
scratches_target(struct mount *m, struct scratch *s)
{
	char *path = NULL;
	LOCKED(&m->scratches->lock)
		path = s->named || s->taken ? strdup(s->path) : NULL;
	return path;
}

bool
scratches_is_taken(struct mount *m, struct scratch *s)
{
	bool is = false;
	LOCKED(&m->scratches->lock)
		is = s->taken;
	return is;
}

int
scratches_move(struct mount *m, struct scratch *s, const char *to)
{
	char *path = strdup(to);
	struct scratch *old = NULL;
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	LOCKED(&m->scratches->lock) {
		old = find(m->scratches, to);
		if (old)
			old->users++;
		if (old && old != s)
			take_out(m->scratches, old);
		char *was = s->path;
		s->path = path;
		path = was;
	}
	free(path);
	scratches_put(m, old);
	return 0;
}

/* --- names that are hidden --- */

bool
scratches_hides(struct mount *m, const char *path)
{
	bool is = false;
	const int64_t now = clock_now();
	LOCKED(&m->scratches->lock)
		for (struct hidden **at = &m->scratches->hidden; *at;) {
			struct hidden *h = *at;
			if (h->until > now) {
				is |= strcmp(h->path, path) == 0;
				at = &h->next;
				continue;
			}
			*at = h->next;
			free(h->path);
			free(h);
		}
	return is;
}

int
scratches_hide(struct mount *m, const char *path)
{
	struct hidden *h = calloc(1, sizeof *h);
	if (!h || !(h->path = strdup(path))) {
		free(h);
		return err_set(-ENOMEM, "no memory for a name");
	}
	h->until = clock_now() + HIDDEN * SECOND;
	LOCKED(&m->scratches->lock) {
		h->next = m->scratches->hidden;
		m->scratches->hidden = h;
	}
	return 0;
}

static void
show(struct mount *m, const char *path)
{
	LOCKED(&m->scratches->lock)
		for (struct hidden *h = m->scratches->hidden; h; h = h->next)
			if (strcmp(h->path, path) == 0)
				h->until = 0;
}

void
scratches_gone(struct mount *m, const char *path)
{
	const size_t n = strlen(path);
	LOCKED(&m->scratches->lock)
		for (struct hidden *h = m->scratches->hidden; h; h = h->next)
			if (!strncmp(h->path, path, n) && (h->path[n] == '.' || h->path[n] == '/'))
				h->until = 0;
}

void
scratches_become(struct mount *m, struct scratch *s, const char *path)
{
	struct stale *stale = atomic_load(&m->stale);
	CLEAN(clean_free) char *copy = strdup(path);
	show(m, path);
	if (stale)
		stale_push(stale, s->path, STALE_RETIRED);
	LOCKED(&m->scratches->lock) {
		if (s->named)
			take_out(m->scratches, s);
		if (s->taken)
			unlink_from(&m->scratches->taken, s);
		s->taken = copy != NULL;
		if (copy) {
			s->next = m->scratches->taken;
			m->scratches->taken = s;
			char *was = s->path;
			s->path = copy;
			copy = was;
		}
	}
}
