/* Metadata objects brought from the store. */
#include "base/err.h"
#include "base/log.h"
#include "model/node_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct fetch_request {
	struct fetching *of;
	enum meta_kind kind;
	char key[PATH_BYTES_MAX + 32];
	struct buf bytes;
	struct zmap_stat stat;
	int result;
	struct err err;
};

/* Requests that are under way together. */
struct fetching {
	pthread_mutex_t lock; /* guards pending and what requests leave behind */
	pthread_cond_t done;
	unsigned pending;
	struct cancel cancel;
	unsigned n;
	struct fetch_request q[];
};

static int
key_of(const char *path, const char *name, char *key, size_t size)
{
	int n = snprintf(key, size, "%s%s%s", path, *path ? "/" : "", name);
	return n < 0 || (size_t)n >= size ? err_set(-ENAMETOOLONG, "'%.60s…' is too long", path)
					  : 0;
}

static struct zmap_get
ask(const struct discovery *l, const struct fetch *f, struct fetch_request *q)
{
	const struct seen *seen = f->if_changed ? &f->if_changed[q->kind] : NULL;
	return (struct zmap_get){
		.key = q->key,
		.if_none_match = seen && seen->present ? seen->version : NULL,
		.revalidate = true,
		.into = &q->bytes,
		.max = l->model->opt.meta_max,
		.deadline = l->walk->deadline,
	};
}

/* On the thread that answers. */
static void
request_done(void *arg, int r, const struct zmap_stat *s)
{
	struct fetch_request *q = arg;
	struct fetching *g = q->of;
	pthread_mutex_lock(&g->lock);
	q->result = r;
	if (r < 0)
		err_save(r, &q->err);
	else if (r != ZMAP_ABSENT)
		q->stat = *s;
	g->pending--;
	pthread_cond_signal(&g->done);
	pthread_mutex_unlock(&g->lock);
}

static void
submit_all(const struct discovery *l, const struct fetch *f, struct fetching *g)
{
	g->pending = g->n;
	for (unsigned i = 0; i < g->n; i++) {
		struct zmap_get get = ask(l, f, &g->q[i]);
		get.cancel = &g->cancel;
		zmap_submit(l->model->zmap, &get, request_done, &g->q[i]);
	}
}

static void
wait_all(struct fetching *g)
{
	LOCKED(&g->lock) {
		while (g->pending) /* every request has a deadline */
			pthread_cond_wait(&g->done, &g->lock);
	}
}

static void
get_one(const struct discovery *l, const struct fetch *f, struct fetch_request *q)
{
	struct zmap_get g = ask(l, f, q);
	q->result = zmap_get(l->model->zmap, &g, &q->stat);
	if (q->result < 0)
		err_save(q->result, &q->err);
}

/* Hands the bytes over. */
static int
keep(struct fetch_request *q, struct meta *m)
{
	int r = text_new(&q->bytes, &m->owner);
	if (r < 0)
		return r;
	m->data = m->owner->bytes.len ? (const char *)m->owner->bytes.data : "";
	m->len = m->owner->bytes.len;
	return 0;
}

static void
warn_without(const struct discovery *l, const char *why)
{
	char text[ERR_TEXT];
	int n = snprintf(text, sizeof text, "done without consolidated metadata: %s", why);
	if (n > 0)
		l->model->opt.warn(text);
}

static void
take(const struct discovery *l, struct fetch_request *q, struct fetch *f)
{
	struct meta *m = &f->metas.of[q->kind];
	int r = q->result;
	if (r == -EACCES && l->model->opt.missing_403)
		r = ZMAP_ABSENT;
	if (r == 0)
		r = keep(q, m);
	if (r == 0 || r == ZMAP_SAME) {
		m->mtime = q->stat.mtime;
		memcpy(m->version, q->stat.version, sizeof m->version);
		m->chunks = q->stat.chunks;
	}
	buf_free(&q->bytes);
	f->result[q->kind] = r;
	if (r < 0 && q->result < 0)
		err_restore(&q->err);
	if (r != -EFBIG)
		return;
	err_add(r, "metadata '%s' (option memory says how much)", q->key);
	if (q->kind == META_ALL && !l->seen && l->model->opt.warn)
		warn_without(l, err_text());
}

/* V1's other spelling. */
static void
try_second_name(const struct discovery *l, const struct fetch *f, struct fetch_request *q)
{
	const char *second = meta_name[q->kind][1];
	if (q->result == ZMAP_ABSENT && second &&
		key_of(l->path, second, q->key, sizeof q->key) == 0)
		get_one(l, f, q);
}

static struct fetching *
fetching_free(struct fetching *g)
{
	for (unsigned i = 0; g && i < g->n; i++)
		buf_free(&g->q[i].bytes);
	if (g) {
		pthread_cond_destroy(&g->done);
		pthread_mutex_destroy(&g->lock);
	}
	free(g);
	return NULL;
}

/* What can be asked for; of what cannot the result says why. NULL: nothing can. */
static struct fetching *
prepare(const struct discovery *l, struct fetch *f)
{
	const size_t n = (size_t)__builtin_popcount(f->want);
	struct fetching *g = calloc(1, sizeof *g + n * sizeof *g->q);
	int r = g ? 0 : err_set(-ENOMEM, "no memory for requests");
	for (unsigned k = 0; k < META_KINDS; k++) {
		if (!(f->want >> k & 1))
			continue;
		if (r == 0)
			r = key_of(l->path, meta_name[k][0], g->q[g->n].key, sizeof g->q->key);
		f->result[k] = r;
		if (r < 0)
			continue;
		g->q[g->n].of = g;
		g->q[g->n++].kind = k;
	}
	if (g) {
		pthread_mutex_init(&g->lock, NULL);
		pthread_cond_init(&g->done, NULL);
	}
	return g;
}

struct fetching *
fetch_begin(const struct discovery *l, struct fetch *f)
{
	struct fetching *g = prepare(l, f);
	if (g)
		submit_all(l, f, g);
	return g;
}

void
fetch_end(const struct discovery *l, struct fetch *f, struct fetching *g)
{
	if (!g)
		return;
	wait_all(g);
	for (unsigned i = 0; i < g->n; i++) {
		try_second_name(l, f, &g->q[i]);
		take(l, &g->q[i], f);
	}
	fetching_free(g);
}

void
fetch_drop(struct fetching *g)
{
	if (!g)
		return;
	atomic_store(&g->cancel.wanted_no_more, true);
	wait_all(g);
	fetching_free(g);
}

void
fetch(const struct discovery *l, struct fetch *f)
{
	struct fetching *g = prepare(l, f);
	if (g && l->model->zmap->caps & ZMAP_REMOTE && g->n > 1)
		submit_all(l, f, g);
	else
		for (unsigned i = 0; g && i < g->n; i++)
			get_one(l, f, &g->q[i]);
	fetch_end(l, f, g);
}

static int
stop_at_first(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	*(bool *)arg = true;
	return 1;
}

int
fetch_below(const struct discovery *l)
{
	char prefix[PATH_BYTES_MAX + 32];
	bool found = false;
	if (!(l->model->zmap->caps & ZMAP_LIST))
		return 0;
	int r = *l->path ? key_of(l->path, "", prefix, sizeof prefix) : (int)(prefix[0] = 0);
	if (r == 0)
		r = zmap_list(l->model->zmap, prefix, stop_at_first, &found);
	return found || r == 0 ? 1 : r == ZMAP_ABSENT ? 0 : r;
}

/* The object that proves the root to be there; NULL: it never had one. */
static const char *
root_object(struct model *m, char *key, size_t size)
{
	const char *found = NULL;
	LOCKED(&m->lock) {
		const struct cached_node *root = node_cache_find(m, "");
		for (unsigned k = 0; root && root->seen && k < META_KINDS && !found; k++)
			if (root->seen[k].present)
				found = meta_name[k][0];
	}
	return found && key_of("", found, key, size) == 0 ? key : NULL;
}

int
fetch_alive(struct model *m)
{
	char key[64];
	struct zmap_stat s;
	int r = zmap_alive(m->zmap);
	if (r < 0)
		return r;
	const char *object = root_object(m, key, sizeof key);
	if (!object)
		return 0;
	r = zmap_stat(m->zmap, object, &s);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "the store has lost its '%s'", object);
	return r == -ENOSYS || r == -EACCES ? 0 : r;
}
