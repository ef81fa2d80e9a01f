/* The names in a group or directory: a listing of them, what is remembered of it, what it says of a
 * name. */
#include "model/names.h"

#include "base/err.h"
#include "base/list.h"
#include "base/path.h"
#include "model/node_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
names_done(struct names *n)
{
	texts_unref(n->texts);
	free(n->of);
	*n = (struct names){0};
}

int
names_add(struct names *n, const char *name, bool prefix, const struct zmap_stat *s)
{
	if (!n->texts)
		n->texts = texts_new();
	const char *copy = n->texts ? texts_add(n->texts, name, prefix, s) : NULL;
	if (!copy)
		return list_no_memory("a name");
	return LIST_ADD(n->of, n->count, "names", (struct name){.name = copy, .prefix = prefix});
}

int
names_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return meta_is_name(name) ? 0 : names_add(arg, name, prefix, s);
}

/* Prefixes first, where a name is both. */
static int
by_name(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	int order = strcmp(a->name, b->name);
	return order ? order : b->prefix - a->prefix;
}

void
names_sort(struct names *n)
{
	if (!n->count)
		return;
	qsort(n->of, n->count, sizeof *n->of, by_name);
	size_t kept = 1;
	for (size_t i = 1; i < n->count; i++) {
		if (strcmp(n->of[i].name, n->of[kept - 1].name) != 0)
			n->of[kept++] = n->of[i];
	}
	n->count = kept;
}

int
names_remembered(struct model *m, const char *path, struct names *ret)
{
	int r = ZMAP_ABSENT;
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, path);
		if (!p || !p->names || clock_now() >= p->names_due)
			break;
		r = 0;
		node_cache_told(p->names_due);
		for (size_t i = 0; i < p->nnames && r == 0; i++)
			r = names_add(ret, p->names[i], true, NULL);
	}
	return r;
}

void
names_remember(struct model *m, const char *path, const struct names *n, int64_t begun)
{
	if (!(m->zmap->caps & ZMAP_REMOTE) && m->opt.ttl != INT64_MAX)
		return;
	char **copy = calloc(n->count + 1, sizeof *copy);
	size_t count = 0;
	bool all = copy;
	for (size_t i = 0; all && i < n->count; i++)
		if (n->of[i].prefix)
			all = (copy[count] = strdup(n->of[i].name)) && ++count;
	LOCKED(&m->lock) {
		struct cached_node *p = all ? node_cache_find(m, path) : NULL;
		if (p)
			node_cache_put_names(m, p, MOVE(copy), count, begun);
	}
	LIST_FREE(copy, count);
}

void
names_remember_listed(struct model *m, const char *path, const struct names *n, int64_t begun)
{
	CLEAN(listed_freep) struct listed *k = n->count ? listed_new(n->texts, n->count) : NULL;
	for (; k && k->count < n->count; k->count++)
		k->of[k->count] = n->of[k->count].name;
	if (k) {
		k->begun = begun;
		k->due = m->opt.ttl == INT64_MAX ? INT64_MAX : begun + m->opt.ttl;
	}
	LOCKED(&m->lock) {
		struct cached_node *p = node_cache_find(m, path);
		if (p)
			node_cache_put_listed(m, p, MOVE(k));
	}
}

enum lack
names_tell(const struct cached_node *p, const char *name)
{
	if (!p || !p->names || clock_now() >= p->names_due)
		return LACK_UNKNOWN;
	size_t low = 0, high = p->nnames;
	node_cache_told(p->names_due);
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(p->names[mid], name);
		if (!order)
			return LACK_NOT;
		*(order < 0 ? &low : &high) = order < 0 ? mid + 1 : mid;
	}
	return *name == '@' ? LACK_UNKNOWN : LACK_SURELY;
}

enum {
	SOME_MAX = 1000, /* a page of S3's */
	TOO_MANY = 100,  /* no outcome of a store */
};

static int
some_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	const struct names *n = arg;
	return n->count >= SOME_MAX ? TOO_MANY : names_entry(arg, name, prefix, s);
}

/* A page of the names in a group, for what is asked for next. */
static int
list_some(struct model *m, const char *dir)
{
	CLEAN(names_done) struct names some = {0};
	CLEAN(clean_free) char *prefix = NULL;
	const int64_t begun = clock_now();
	if (asprintf(&prefix, "%s%s", dir, *dir ? "/" : "") < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	int r = zmap_list(m->zmap, prefix, some_entry, &some);
	names_sort(&some);
	if (r == 0)
		names_remember(m, dir, &some, begun);
	else if (r == TOO_MANY)
		LOCKED(&m->lock) {
			struct cached_node *p = node_cache_find(m, dir);
			if (p)
				node_cache_put_names(m, p, NULL, 0, begun);
		}
	return r < 0 ? r : 0;
}

static enum lack
lack_known(struct discovery *l, const char *dir, bool *ret_crowded)
{
	const char *name = path_name(l->path);
	enum lack lack = LACK_UNKNOWN;
	LOCKED(&l->model->lock) {
		const struct cached_node *p = node_cache_find(l->model, dir);
		if (!p || clock_now() >= p->names_due)
			break;
		lack = names_tell(p, name);
		*ret_crowded = p->crowded || (p->names && lack == LACK_UNKNOWN);
		if (lack == LACK_SURELY) {
			l->wall -= l->begun - p->names_begun;
			l->begun = p->names_begun;
		}
	}
	return lack;
}

int
names_lack(struct discovery *l, bool ask)
{
	const char *dir = l->walk->up[l->walk->depth - 1]->path;
	const unsigned need_both = ZMAP_REMOTE | ZMAP_LIST;
	bool crowded = false;
	if ((l->model->zmap->caps & need_both) != need_both)
		return LACK_UNKNOWN;
	enum lack lack = lack_known(l, dir, &crowded);
	if (lack != LACK_UNKNOWN || crowded || !ask)
		return (int)lack;
	int r = list_some(l->model, dir);
	return r < 0 ? r : (int)lack_known(l, dir, &crowded);
}
