/* What is known, by path. */
#include "model/node_cache.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/path.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct cached_node *
node_cache_find(const struct model *m, const char *path)
{
	for (struct map_entry *e = map_first(&m->by_path, hash_name(path)); e; e = map_next(e)) {
		struct cached_node *p = MAP_OF(e, struct cached_node, by_path);
		if (!strcmp(p->path, path))
			return p;
	}
	return NULL;
}

static void
free_names(char ***names, size_t *n)
{
	LIST_FREE(*names, *n);
	*names = NULL;
	*n = 0;
}

void
discovery_drop_names(struct discovery *l)
{
	free_names(&l->names, &l->nnames);
}

static size_t
node_cache_bytes(const struct cached_node *p)
{
	size_t bytes = p->seen ? META_KINDS * sizeof *p->seen + ZMAP_VERSION : 0;
	for (size_t i = 0; i < p->nnames; i++)
		bytes += strlen(p->names[i]) + sizeof *p->names + sizeof(void *);
	if (p->listed)
		bytes += listed_bytes(p->listed);
	return bytes + (p->node ? node_bytes(p->node) : 0) +
	       (p->con ? consolidated_bytes(p->con) : 0);
}

void
node_cache_count_in(struct model *m, const struct cached_node *p)
{
	m->bytes += node_cache_bytes(p);
	m->con_bytes += p->con ? consolidated_bytes(p->con) : 0;
}

void
node_cache_count_out(struct model *m, const struct cached_node *p)
{
	m->bytes -= node_cache_bytes(p);
	m->con_bytes -= p->con ? consolidated_bytes(p->con) : 0;
}

static void
link_newest(struct model *m, struct cached_node *p)
{
	p->newer = NULL;
	p->older = m->newest;
	*(m->newest ? &m->newest->newer : &m->oldest) = p;
	m->newest = p;
}

static void
unlink_aged(struct model *m, struct cached_node *p)
{
	*(p->older ? &p->older->newer : &m->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &m->newest) = p->older;
}

void
node_cache_renew(struct model *m, struct cached_node *p)
{
	unlink_aged(m, p);
	link_newest(m, p);
}

void
node_cache_put_names(struct model *m, struct cached_node *p, char **names, size_t n, int64_t begun)
{
	node_cache_count_out(m, p);
	free_names(&p->names, &p->nnames);
	p->names = names;
	p->nnames = n;
	p->names_begun = begun;
	p->names_due = m->opt.ttl == INT64_MAX ? INT64_MAX : begun + m->opt.ttl;
	if (begun <= m->renamed_at)
		p->names_due = 0;
	p->crowded = !names;
	node_cache_count_in(m, p);
}

void
node_cache_put_listed(struct model *m, struct cached_node *p, struct listed *k)
{
	node_cache_count_out(m, p);
	listed_free(p->listed);
	p->listed = k;
	node_cache_count_in(m, p);
}

bool
node_cache_is_key(struct model *m, const char *path, struct zmap_stat *ret, int64_t *ret_begun)
{
	CLEAN(clean_free) char *dir = path_above(path);
	const char **found = NULL;
	*ret_begun = 0;
	if (!dir || !*path)
		return false;
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, dir);
		if (p && p->listed && clock_now() < p->listed->due)
			found = listed_find(p->listed, path_name(path));
		if (found && listed_is_prefix(*found))
			found = NULL;
		if (found && listed_stat(*found, ret))
			*ret_begun = p->listed->begun;
	}
	return found;
}

void
node_cache_forget(struct model *m, struct cached_node *p)
{
	assert(!p->busy);
	map_remove(&m->by_path, &p->by_path);
	unlink_aged(m, p);
	m->nabsent -= p->known && !p->node;
	node_cache_count_out(m, p);
	free_names(&p->names, &p->nnames);
	listed_free(p->listed);
	seen_free(p->seen);
	consolidated_unref(p->con);
	node_unref(p->node);
	free(p->path);
	free(p);
}

enum { ABSENT_MAX = 4096 };

/* Names that programs only try must not fill memory. */
static void
drop_absent(struct model *m)
{
	for (struct map_entry *e = map_walk(&m->by_path, NULL), *next; e; e = next) {
		struct cached_node *p = MAP_OF(e, struct cached_node, by_path);
		next = map_walk(&m->by_path, e);
		if (!p->node && !p->busy && *p->path)
			node_cache_forget(m, p);
	}
}

int
node_cache_add(struct model *m, const char *path, struct cached_node **ret)
{
	if (m->nabsent > ABSENT_MAX)
		drop_absent(m);
	struct cached_node *p = calloc(1, sizeof *p);
	if (!p || !(p->path = strdup(path))) {
		free(p);
		return err_set(-ENOMEM, "no memory for path '%s'", path);
	}
	map_add(&m->by_path, &p->by_path, hash_name(path));
	link_newest(m, p);
	*ret = p;
	return 0;
}

static _Thread_local int64_t *watch; /* see model_watch */

void
model_watch(int64_t *until)
{
	watch = until;
	if (until)
		*until = INT64_MAX;
}

void
node_cache_told(int64_t due)
{
	if (watch && due < *watch)
		*watch = due;
}

bool
seen_any(const struct seen *s, unsigned kinds)
{
	for (unsigned k = 0; s && k < META_KINDS; k++)
		if (kinds >> k & 1 && s[k].present)
			return true;
	return false;
}

void
seen_free(struct seen *s)
{
	for (unsigned k = 0; s && k < META_KINDS; k++)
		free(s[k].version);
	free(s);
}
