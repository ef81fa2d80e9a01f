/* Above stores: a program that walks through a directory, as `ls -l` and find do, asks what each of
 * its entries is, one after another in the order of the listing. What comes next in it is then
 * looked at together, a few at first. */
#include "base/err.h"
#include "base/path.h"
#include "model/parallel.h"
#include "model/node_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	IN_ORDER = 2,   /* entries one behind the other before others are looked at too */
	WIDE_FIRST = 8, /* how many, then twice as many each time … */
	WIDE_MOST = 33, /* … until there is a thread for each */
};

/* Entries that are looked at together, the first one for the thread that asked. */
struct siblings {
	struct model *model;
	const struct path_walk *walk;
	const char *dir;
	struct listed_texts *texts;
	const char *name[WIDE_MOST];
	size_t n;
	int result;
	struct err err;
	struct node *node;
};

/* Entry i was asked for. Does that go in order? Lock held. */
static bool
step_to(struct listed *k, size_t i)
{
	k->in_order = i == k->next ? k->in_order + 1 : 0;
	k->next = i + 1;
	if (k->in_order < IN_ORDER)
		k->wide = 0;
	return k->in_order >= IN_ORDER;
}

/* Lock held. */
static void
gather(struct siblings *s, struct listed *k, const char *name)
{
	const char **at = listed_find(k, name);
	if (!at || !step_to(k, (size_t)(at - k->of)) || !listed_is_prefix(*at) ||
		(size_t)(at - k->of) < k->ahead)
		return;
	k->wide = k->wide ? 2 * k->wide : WIDE_FIRST;
	if (k->wide > WIDE_MOST)
		k->wide = WIDE_MOST;
	for (; at < k->of + k->count && s->n < k->wide; at++)
		if (listed_is_prefix(*at))
			s->name[s->n++] = *at;
	k->ahead = (size_t)(at - k->of);
	s->texts = texts_ref(k->texts);
}

static void
look_at_one(void *arg, size_t i)
{
	struct siblings *s = arg;
	char path[PATH_BYTES_MAX + 1];
	CLEAN(node_unrefp) struct node *node = NULL;
	int n = snprintf(path, sizeof path, "%s%s%s", s->dir, *s->dir ? "/" : "", s->name[i]);
	if (n < 0 || (size_t)n >= sizeof path)
		return;
	int r = node_cache_get_child(s->model, path, HOW_LOOKUP, s->walk, &node);
	if (i)
		return; /* the next one to ask is told, also why not */
	s->result = r;
	if (r < 0)
		err_save(r, &s->err);
	s->node = MOVE(node);
}

int
siblings_get(struct model *m, const char *path, const struct path_walk *w, struct node **ret)
{
	CLEAN(clean_free) char *dir = path_above(path);
	struct siblings s = {.model = m, .walk = w, .dir = dir, .result = ZMAP_ABSENT};
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, dir);
		if (p && p->listed && clock_now() < p->listed->due)
			gather(&s, p->listed, path_name(path));
	}
	if (!s.n)
		return node_cache_get_child(m, path, HOW_LOOKUP, w, ret);
	in_parallel(s.n, true, look_at_one, &s);
	texts_unref(s.texts);
	if (s.result < 0)
		return err_restore(&s.err);
	if (s.result == 0)
		*ret = s.node;
	return s.result;
}
