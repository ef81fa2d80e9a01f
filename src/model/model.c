#include "model/place.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static const size_t META_MAX = (size_t)512 << 20;

int
model_open(struct zmap *z, const struct model_options *options, struct model **ret)
{
	struct model *m = calloc(1, sizeof *m);
	if (!m)
		return err_set(-ENOMEM, "no memory for a model");
	m->zmap = z;
	m->opt = *options;
	if (!m->opt.meta_max)
		m->opt.meta_max = META_MAX;
	if (!m->opt.timeout)
		m->opt.timeout = 60 * SECOND;
	m->seed = (uint32_t)when_now();
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret = m;
	return 0;
}

struct model *
model_close(struct model *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->nbuckets; i++)
		while (m->bucket[i])
			place_forget(m, m->bucket[i]);
	free(m->bucket);
	pthread_cond_destroy(&m->idle);
	pthread_mutex_destroy(&m->lock);
	free(m);
	return NULL;
}

void
model_on_change(struct model *m, model_changed_fn *fn, void *arg)
{
	m->changed = fn;
	m->changed_arg = arg;
}

int
model_lookup(struct model *m, const char *path, struct node **ret)
{
	return place_get(m, path, HOW_LOOKUP, NULL, ret);
}

int
model_check(struct model *m, const char *path, struct node **ret)
{
	return place_get(m, path, HOW_CHECK, NULL, ret);
}

int
model_look_again(struct model *m, const char *path, struct node **ret)
{
	return place_get(m, path, HOW_NOW, NULL, ret);
}

/* Of the nearest group above with consolidated metadata. Lock held. */
static int64_t
seen_above(const struct model *m, const char *path)
{
	char above[PATH_BYTES_MAX + 1];
	size_t len = strlen(path);
	if (len > PATH_BYTES_MAX)
		return 0;
	memcpy(above, path, len + 1);
	while (*above) {
		char *slash = strrchr(above, '/');
		*(slash ? slash : above) = 0;
		const struct place *p = place_find(m, above);
		if (p && p->con)
			return p->wall;
	}
	return 0;
}

int64_t
model_seen(struct model *m, const char *path)
{
	int64_t wall = 0;
	LOCKED(&m->lock) {
		const struct place *p = place_find(m, path);
		wall = p ? p->wall : 0;
		if (m->opt.consolidated == CONSOLIDATED_TRUST) {
			int64_t above = seen_above(m, path);
			wall = above > wall ? above : wall;
		}
	}
	return wall;
}

/* The paths of all nodes there are, those above first. */
struct paths {
	char **path;
	size_t count;
};

static void
paths_done(struct paths *ps)
{
	for (size_t i = 0; i < ps->count; i++)
		free(ps->path[i]);
	free(ps->path);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Makes all due, and says what there is. */
static int
expire(struct model *m, struct paths *ret)
{
	int r = 0;
	LOCKED(&m->lock) {
		ret->path = calloc(m->nplaces + 1, sizeof *ret->path);
		for (size_t i = 0; i < m->nbuckets; i++)
			for (struct place *p = m->bucket[i]; p; p = p->next) {
				p->due = p->names_due = 0;
				if (!p->node || !ret->path)
					continue;
				char *copy = strdup(p->path);
				if (copy)
					ret->path[ret->count++] = copy;
				else
					r = err_set(-ENOMEM, "no memory for a path");
			}
		if (!ret->path)
			r = err_set(-ENOMEM, "no memory for paths");
	}
	if (r == 0)
		qsort(ret->path, ret->count, sizeof *ret->path, by_path);
	return r;
}

static struct node *
node_now(struct model *m, const char *path)
{
	struct node *n = NULL;
	LOCKED(&m->lock) {
		const struct place *p = place_find(m, path);
		n = p ? node_ref(p->node) : NULL;
	}
	return n;
}

static int
refresh_one(struct model *m, const char *path, struct buf *ret)
{
	CLEAN(node_unrefp) struct node *old = node_now(m, path), *new = NULL;
	const char *shown = *path ? path : "/";
	int r = place_get(m, path, HOW_LOOKUP, NULL, &new);
	if (r < 0)
		return buf_addf(ret, "%s: %s\n", shown, err_text());
	if (r == ZMAP_ABSENT)
		return buf_addf(ret, "%s: gone\n", shown);
	return old && old != new ? buf_addf(ret, "%s: changed\n", shown) : 0;
}

int
model_refresh(struct model *m, struct buf *ret)
{
	CLEAN(paths_done) struct paths ps = {0};
	int r = expire(m, &ps);
	for (size_t i = 0; ret && r == 0 && i < ps.count; i++)
		r = refresh_one(m, ps.path[i], ret);
	return r;
}

/* Groups with consolidated metadata and the root stay: they cost the most to look at again, and say whether the store still lives. */
static bool
may_forget(const struct place *p)
{
	bool held = p->node && atomic_load(&p->node->refs) > 1;
	return !held && !p->busy && !p->con && *p->path;
}

size_t
model_trim(struct model *m)
{
	size_t before = 0, after = 0;
	LOCKED(&m->lock) {
		before = m->bytes + m->nplaces * sizeof(struct place);
		for (size_t i = 0; i < m->nbuckets; i++)
			for (struct place *p = m->bucket[i], *next; p; p = next) {
				next = p->next;
				if (may_forget(p))
					place_forget(m, p);
			}
		after = m->bytes + m->nplaces * sizeof(struct place);
	}
	return before - after;
}

size_t
model_bytes(struct model *m)
{
	size_t n = 0;
	LOCKED(&m->lock)
		n = m->bytes + m->nplaces * sizeof(struct place);
	return n;
}
