/* What was put into an archive and is not in it yet, laid over what is. */
#include "backends/zip/write.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- by key --- */

/* Lock held. Index of the first key that is not below this one. */
size_t
zip_pending_place(const struct zip_layer *l, const char *key)
{
	size_t low = 0, high = l->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(l->pending[mid]->key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct zip_pending *
pending_ref(struct zip_pending *q)
{
	atomic_fetch_add(&q->refs, 1);
	return q;
}

/* Lock held. */
struct zip_pending *
zip_pending_at(const struct zip_layer *l, const char *key)
{
	size_t i = zip_pending_place(l, key);
	return i < l->count && !strcmp(l->pending[i]->key, key) ? l->pending[i] : NULL;
}

struct zip_pending *
zip_pending_find(struct zip_store *p, const char *key)
{
	struct zip_pending *q = NULL;
	if (!p->writer || !atomic_load_explicit(&p->writer->any, memory_order_acquire))
		return NULL;
	LOCKED(&p->lock) {
		q = zip_pending_at(&p->writer->layer, key);
		if (q)
			pending_ref(q);
	}
	return q;
}

struct zip_pending *
zip_pending_unref(struct zip_pending *q)
{
	if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
		return NULL;
	zip_spill_unref(q->spill);
	free(q->key);
	free(q);
	return NULL;
}

struct zip_spill *
zip_spill_unref(struct zip_spill *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return NULL;
	close(s->fd);
	free(s);
	return NULL;
}

int
zip_layer_copy(const struct zip_layer *l, const char *prefix, struct zip_layer *ret)
{
	const size_t len = strlen(prefix), first = zip_pending_place(l, prefix);
	size_t n = 0;
	while (first + n < l->count && !strncmp(l->pending[first + n]->key, prefix, len))
		n++;
	struct zip_pending **all = calloc(n + 1, sizeof *all);
	if (!all)
		return err_set(-ENOMEM, "no memory for %zu objects", n);
	for (size_t i = 0; i < n; i++)
		all[i] = pending_ref(l->pending[first + i]);
	*ret = (struct zip_layer){all, n};
	return 0;
}

void
zip_layer_free(struct zip_layer *l)
{
	for (size_t i = 0; i < l->count; i++)
		zip_pending_unref(l->pending[i]);
	free(l->pending);
}

/* --- as a member --- */

struct zip_origin
zip_pending_origin(const struct zip_writer *w, const struct zip_pending *q)
{
	return (struct zip_origin){w->mark, q->serial, q->put};
}

void
zip_pending_say(const struct zip_writer *w, const struct zip_pending *q, struct zmap_stat *ret)
{
	const struct zip_origin o = zip_pending_origin(w, q);
	*ret = (struct zmap_stat){.size = q->len, .mtime = o.mtime, .placed = q->put};
	zip_say_version(&o, q->crc, ret);
}

static int
read_spill(const struct zip_pending *q, uint64_t off, size_t len, struct buf *into)
{
	int r = buf_reserve(into, into->len + len);
	for (size_t done = 0; done < len && r == 0;) {
		ssize_t n = pread(q->spill->fd, into->data + into->len + done, len - done,
			(off_t)(q->off + off + done));
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "read what is not in the archive yet");
		if (n == 0)
			return err_set(-EIO, "what is not in the archive yet was cut short");
		done += n > 0 ? (size_t)n : 0;
	}
	if (r == 0)
		into->len += len;
	return r;
}

int
zip_pending_read(const struct zip_writer *w, const struct zip_pending *q, const struct zmap_get *g,
	struct zmap_stat *ret)
{
	uint64_t off = 0;
	size_t len = 0;
	if (q->gone)
		return ZMAP_ABSENT;
	zip_pending_say(w, q, ret);
	int r = zmap_condition(g, ret->version);
	if (r == 0)
		r = zmap_range(g, q->len, &off, &len);
	return r ? r : read_spill(q, off, len, g->into);
}

/* --- listing --- */

struct merge {
	struct zip_layer layer;
	struct archive *archive;
	const char *prefix;
	zip_name_fn *fn;
	void *arg;
	size_t names;
};

/* Does anything of the archive that begins so stay? A directory's own entry does where nothing was
 * deleted below it. */
static bool
stays_below(const struct zip_layer *l, const struct zip_index *x, const char *prefix)
{
	size_t n = strlen(prefix), own = 0, lost = 0;
	for (size_t i = zip_index_place(x, prefix);
		i < x->count && !strncmp(x->member[i].key, prefix, n); i++) {
		const char *key = x->member[i].key;
		bool dir = key[strlen(key) - 1] == '/';
		if (!dir && !zip_pending_at(l, key))
			return true;
		own += dir;
		lost += !dir;
	}
	return own && !lost;
}

bool
zip_pending_stays(const struct zip_layer *l, const struct zip_index *x, const struct zip_member *m)
{
	bool dir = m->key[strlen(m->key) - 1] == '/';
	return dir ? stays_below(l, x, m->key) : !zip_pending_at(l, m->key);
}

static char *
join(const struct merge *m, const char *name, bool prefix)
{
	char *key = NULL;
	return asprintf(&key, "%s%s%s", m->prefix, name, prefix ? "/" : "") < 0 ? NULL : key;
}

static int
from_archive(void *arg, const char *name, bool prefix)
{
	struct merge *m = arg;
	CLEAN(clean_free) char *key = join(m, name, prefix);
	if (!key)
		return -ENOMEM;
	if (prefix ? !stays_below(&m->layer, m->archive->index, key)
		   : zip_pending_at(&m->layer, key) != NULL)
		return 0;
	m->names++;
	return m->fn(m->arg, name, prefix);
}

/* The next name below the prefix that something was put for, from the i-th pending on;
 * *ret_i: where to go on. NULL: none. */
static char *
next_name(struct merge *m, size_t *i, bool *ret_prefix)
{
	const struct zip_layer *l = &m->layer;
	size_t n = strlen(m->prefix);
	for (; *i < l->count; ++*i) {
		const struct zip_pending *q = l->pending[*i];
		const char *name = q->key + n, *slash = strchr(name, '/');
		if (q->gone)
			continue;
		*ret_prefix = slash;
		return slash ? strndup(name, (size_t)(slash - name)) : strdup(name);
	}
	return NULL;
}

/* Behind all keys that begin with the name: those of one prefix lie together. */
static void
skip(struct merge *m, const char *key, bool prefix, size_t *i)
{
	const struct zip_layer *l = &m->layer;
	size_t n = strlen(key);
	*i = zip_pending_place(l, key);
	while (*i < l->count && (prefix ? !strncmp(l->pending[*i]->key, key, n)
					: !strcmp(l->pending[*i]->key, key)))
		++*i;
}

static int
from_pending(struct merge *m)
{
	int r = 0;
	for (size_t i = 0; r == 0;) {
		bool prefix = false;
		CLEAN(clean_free) char *name = next_name(m, &i, &prefix);
		CLEAN(clean_free) char *key = name ? join(m, name, prefix) : NULL;
		if (!name)
			return i < m->layer.count ? -ENOMEM : 0;
		if (!key)
			return -ENOMEM;
		skip(m, key, prefix, &i);
		if (prefix && stays_below(&m->layer, m->archive->index, key))
			continue;
		m->names++;
		r = m->fn(m->arg, name, prefix);
	}
	return r;
}

static void
merge_done(struct merge *m)
{
	zip_layer_free(&m->layer);
	archive_unref(m->archive);
}

int
zip_pending_list(struct zip_store *p, const char *prefix, zip_name_fn *fn, void *arg)
{
	CLEAN(merge_done) struct merge m = {.prefix = prefix, .fn = fn, .arg = arg};
	int r = 0;
	LOCKED(&p->lock) {
		m.archive = archive_ref(p->now);
		r = zip_layer_copy(&p->writer->layer, prefix, &m.layer);
	}
	if (r == 0)
		r = zip_index_list(m.archive->index, prefix, from_archive, &m);
	if (r == 0 || (r == ZMAP_ABSENT && !m.names))
		r = from_pending(&m);
	return r == 0 && !m.names && *prefix ? ZMAP_ABSENT : r;
}
