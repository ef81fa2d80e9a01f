/* Metadata objects brought from the store. */
#include "base/err.h"
#include "base/log.h"
#include "model/node_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Requests that are under way together. */
struct batch {
	pthread_mutex_t lock; /* guards pending and what requests leave behind */
	pthread_cond_t done;
	unsigned pending;
};

struct request {
	struct batch *batch;
	enum meta_kind kind;
	char key[PATH_BYTES_MAX + 32];
	struct buf bytes;
	struct zmap_stat stat;
	int result;
	struct err err;
};

static int
key_of(const char *path, const char *name, char *key, size_t size)
{
	int n = snprintf(key, size, "%s%s%s", path, *path ? "/" : "", name);
	return n < 0 || (size_t)n >= size ? err_set(-ENAMETOOLONG, "'%.60s…' is too long", path)
					  : 0;
}

static struct zmap_get
ask(const struct discovery *l, const struct fetch *f, struct request *q)
{
	const struct seen *seen = f->if_changed ? &f->if_changed[q->kind] : NULL;
	return (struct zmap_get){
		.key = q->key,
		.if_none_match = seen && seen->present ? seen->version : NULL,
		.fresh = true,
		.into = &q->bytes,
		.max = l->model->opt.meta_max,
		.deadline = l->walk->deadline,
	};
}

/* On the thread that answers. */
static void
request_done(void *arg, int r, const struct zmap_stat *s)
{
	struct request *q = arg;
	struct batch *b = q->batch;
	pthread_mutex_lock(&b->lock);
	q->result = r;
	if (r < 0)
		err_save(r, &q->err);
	else if (r != ZMAP_ABSENT)
		q->stat = *s;
	b->pending--;
	pthread_cond_signal(&b->done);
	pthread_mutex_unlock(&b->lock);
}

static void
submit_all(const struct discovery *l, const struct fetch *f, struct request *q, unsigned n)
{
	struct batch b = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .pending = n};
	for (unsigned i = 0; i < n; i++) {
		q[i].batch = &b;
		struct zmap_get g = ask(l, f, &q[i]);
		zmap_submit(l->model->zmap, &g, request_done, &q[i]);
	}
	LOCKED(&b.lock) {
		while (b.pending) /* every request has a deadline */
			pthread_cond_wait(&b.done, &b.lock);
	}
	pthread_cond_destroy(&b.done);
	pthread_mutex_destroy(&b.lock);
}

static void
get_one(const struct discovery *l, const struct fetch *f, struct request *q)
{
	struct zmap_get g = ask(l, f, q);
	q->result = zmap_get(l->model->zmap, &g, &q->stat);
	if (q->result < 0)
		err_save(q->result, &q->err);
}

/* Hands the bytes over. */
static int
keep(struct request *q, struct meta *m)
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
take(const struct discovery *l, struct request *q, struct fetch *f)
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
try_second_name(const struct discovery *l, const struct fetch *f, struct request *q)
{
	const char *second = meta_name[q->kind][1];
	if (q->result == ZMAP_ABSENT && second &&
		key_of(l->path, second, q->key, sizeof q->key) == 0)
		get_one(l, f, q);
}

void
fetch(const struct discovery *l, struct fetch *f)
{
	struct request *q = calloc((size_t)__builtin_popcount(f->want), sizeof *q);
	unsigned n = 0;
	int r = q ? 0 : err_set(-ENOMEM, "no memory for requests");
	for (unsigned k = 0; k < META_KINDS; k++) {
		if (!(f->want >> k & 1))
			continue;
		if (r == 0)
			r = key_of(l->path, meta_name[k][0], q[n].key, sizeof q[n].key);
		f->result[k] = r;
		if (r == 0)
			q[n++].kind = k;
	}
	bool together = l->model->zmap->caps & ZMAP_REMOTE && n > 1;
	if (together)
		submit_all(l, f, q, n);
	for (unsigned i = 0; i < n; i++) {
		if (!together)
			get_one(l, f, &q[i]);
		try_second_name(l, f, &q[i]);
		take(l, &q[i], f);
	}
	free(q);
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
