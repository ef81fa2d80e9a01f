#include "model/node_cache.h"

#include "base/err.h"
#include "model/parallel.h"

#include <errno.h>
#include <string.h>

static const size_t META_MAX = (size_t)512 << 20;
static const int64_t TIMEOUT = 60 * 1000000000LL;
static const int64_t TIMEOUT_MAX = 100000 * 1000000000LL; /* so that sums do not overflow */

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
	if (m->opt.timeout <= 0 || m->opt.timeout > TIMEOUT_MAX)
		m->opt.timeout = m->opt.timeout > 0 ? TIMEOUT_MAX : TIMEOUT;
	m->seed = (uint32_t)clock_now();
	pthread_mutex_init(&m->lock, NULL);
	clock_cond_init(&m->idle);
	*ret = m;
	return 0;
}

struct model *
model_close(struct model *m)
{
	if (!m)
		return NULL;
	for (struct map_entry *e = map_walk(&m->by_path, NULL), *next; e; e = next) {
		next = map_walk(&m->by_path, e);
		node_cache_forget(m, MAP_OF(e, struct cached_node, by_path));
	}
	map_done(&m->by_path);
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
	return node_cache_get(m, path, HOW_LOOKUP, NULL, ret);
}

int
model_check(struct model *m, const char *path, struct node **ret)
{
	return node_cache_get(m, path, HOW_CHECK, NULL, ret);
}

int
model_look_again(struct model *m, const char *path, struct node **ret)
{
	return node_cache_get(m, path, HOW_NOW, NULL, ret);
}

/* The nearest group above with consolidated metadata, or NULL. Lock held. */
static const struct cached_node *
consolidated_above(const struct model *m, const char *path)
{
	char above[PATH_BYTES_MAX + 1];
	size_t len = strlen(path);
	if (len > PATH_BYTES_MAX)
		return NULL;
	memcpy(above, path, len + 1);
	while (*above) {
		char *slash = strrchr(above, '/');
		*(slash ? slash : above) = 0;
		const struct cached_node *p = node_cache_find(m, above);
		if (p && p->con)
			return p;
	}
	return NULL;
}

/* Lock held. */
static int64_t
doubted(const struct model *m, const char *path)
{
	const struct cached_node *p = node_cache_find(m, path);
	if (!p || !p->con)
		p = consolidated_above(m, path);
	return p ? consolidated_doubted(p->con) : 0;
}

int64_t
model_doubted(struct model *m, const char *path)
{
	int64_t then = 0;
	LOCKED(&m->lock)
		then = doubted(m, path);
	return then;
}

bool
model_is_due(struct model *m, const char *path)
{
	bool due = false;
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, path);
		due = m->opt.consolidated != CONSOLIDATED_TRUST &&
		      (!p || !p->known || p->due <= clock_now() || p->begun < doubted(m, path));
	}
	return due;
}

/* The last look at its own objects, clock_wall(). That clock may have been put back since: then as
 * long ago as it was. Put forward, it is still compared with times of before. */
static int64_t
looked_at(const struct cached_node *p)
{
	int64_t now = clock_wall(), wall = now - (clock_now() - p->begun);
	return p->wall < wall ? p->wall : wall;
}

/* Lock held. */
static int64_t
seen_so_far(const struct model *m, const char *path, const struct cached_node *p)
{
	int64_t wall = p ? looked_at(p) : 0;
	const struct cached_node *con =
		m->opt.consolidated == CONSOLIDATED_TRUST ? consolidated_above(m, path) : NULL;
	int64_t above = con ? looked_at(con) : 0;
	return above > wall ? above : wall;
}

int64_t
model_seen(struct model *m, const char *path, int64_t wanted, struct node **ret)
{
	int64_t wall = 0;
	LOCKED(&m->lock) {
		const struct cached_node *p;
		while ((wall = seen_so_far(m, path, p = node_cache_find(m, path))) < wanted && p &&
			p->busy)
			pthread_cond_wait(&m->idle, &m->lock);
		if (ret)
			*ret = p && p->node ? node_ref(p->node) : NULL;
		if (p && p->known && !p->node)
			wall = 0;
	}
	return wall;
}

uint64_t
model_renamed(struct model *m)
{
	uint64_t n = 0;
	LOCKED(&m->lock)
		n = m->renamed;
	return n;
}

uint64_t
model_moment(struct model *m)
{
	uint64_t last = 0;
	LOCKED(&m->lock)
		last = m->last_con + m->renamed;
	return last;
}

/* A node as it was before a refresh, and what became of it. */
struct renewal {
	struct node *old, *new;
	int result;
	char *why;
};

struct refresh {
	struct model *model;
	struct renewal *of;
	size_t count;
};

static void
refresh_done(struct refresh *f)
{
	for (size_t i = 0; i < f->count; i++) {
		node_unref(f->of[i].old);
		node_unref(f->of[i].new);
		free(f->of[i].why);
	}
	free(f->of);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(
		((const struct renewal *)a)->old->path, ((const struct renewal *)b)->old->path);
}

/* Makes all due, and notes what there is. */
static int
expire(struct model *m, struct refresh *f)
{
	LOCKED(&m->lock) {
		f->of = calloc(m->by_path.n + 1, sizeof *f->of);
		for (struct map_entry *e = map_walk(&m->by_path, NULL); e;
			e = map_walk(&m->by_path, e)) {
			struct cached_node *p = MAP_OF(e, struct cached_node, by_path);
			p->due = p->names_due = 0;
			if (p->listed)
				p->listed->due = 0;
			if (p->node && f->of)
				f->of[f->count++].old = node_ref(p->node);
		}
	}
	if (!f->of)
		return err_set(-ENOMEM, "no memory for a list of nodes");
	qsort(f->of, f->count, sizeof *f->of, by_path);
	return 0;
}

static void
renew(void *arg, size_t i)
{
	const struct refresh *f = arg;
	struct renewal *n = &f->of[i];
	n->result = node_cache_get(f->model, n->old->path, HOW_LOOKUP, NULL, &n->new);
	if (n->result < 0)
		n->why = strdup(err_text());
}

static int
report(const struct renewal *n, struct buf *ret)
{
	const char *path = *n->old->path ? n->old->path : "/";
	if (n->result < 0)
		return buf_addf(ret, "%s: %s\n", path, n->why ? n->why : "failed");
	if (n->result == ZMAP_ABSENT)
		return buf_addf(ret, "%s: gone\n", path);
	return n->old != n->new ? buf_addf(ret, "%s: changed\n", path) : 0;
}

int
model_refresh(struct model *m, struct buf *ret)
{
	CLEAN(refresh_done) struct refresh f = {.model = m};
	int r = expire(m, &f);
	if (r < 0 || !ret)
		return r;
	in_parallel(f.count, m->zmap->caps & ZMAP_REMOTE, renew, &f);
	for (size_t i = 0; r == 0 && i < f.count; i++)
		r = report(&f.of[i], ret);
	return r;
}
