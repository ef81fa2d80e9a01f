/* What lies in a group or directory. */
#include "base/err.h"
#include "base/path.h"
#include "model/parallel.h"
#include "model/node_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Names in a directory, sorted. */
struct name {
	const char *name;
	bool prefix; /* keys lie below it */
	bool known;  /* kind is certain */
	bool gone;   /* not to be shown */
	enum node_kind kind;
};

struct names {
	struct name *of;
	size_t count, room;
	struct texts *texts;
};

static void
names_done(struct names *n)
{
	texts_unref(n->texts);
	free(n->of);
	*n = (struct names){0};
}

static int
add_name(struct names *n, const char *name, bool prefix, const struct zmap_stat *s)
{
	if (n->count == n->room) {
		size_t room = n->room ? 2 * n->room : 64;
		struct name *more = realloc(n->of, room * sizeof *more);
		if (!more)
			return err_set(-ENOMEM, "no memory for names");
		n->of = more;
		n->room = room;
	}
	if (!n->texts)
		n->texts = texts_new();
	const char *copy = n->texts ? texts_add(n->texts, name, prefix, s) : NULL;
	if (!copy)
		return err_set(-ENOMEM, "no memory for a name");
	n->of[n->count++] = (struct name){.name = copy, .prefix = prefix};
	return 0;
}

static int
list_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return meta_is_name(name) ? 0 : add_name(arg, name, prefix, s);
}

/* Prefixes first, where a name is both. */
static int
by_name(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	int order = strcmp(a->name, b->name);
	return order ? order : b->prefix - a->prefix;
}

static void
sort_once(struct names *n)
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

/* A listing that is still good, if the store is remote or never looked at again. */
static int
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
			r = add_name(ret, p->names[i], true, NULL);
	}
	return r;
}

static void
remember_names(struct model *m, const char *path, const struct names *n, int64_t begun)
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
	for (size_t i = 0; copy && i < count; i++)
		free(copy[i]);
	free(copy);
}

/* Above stores `ls -l` asks for each object next. Without memory it only asks more. */
static void
remember_listed(struct model *m, const char *path, const struct names *n, int64_t begun)
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

/* A store that cannot list: what NCZarr says of the group. */
static int
names_said(const struct node *n, struct names *ret)
{
	int r = 0;
	if (!n->group || !n->group->nczarr)
		return err_set(-ENOTSUP,
			"this kind of store cannot be listed and has no consolidated metadata; "
			"what is in it can be opened by its name");
	for (size_t i = 0; n->group && i < n->group->norder && r == 0; i++)
		r = strchr(n->group->order[i], '/') ? 0
						    : add_name(ret, n->group->order[i], true, NULL);
	return r;
}

static int
list_names(struct model *m, const struct node *n, struct names *ret)
{
	bool group = n->kind == NODE_GROUP;
	if (!(m->zmap->caps & ZMAP_LIST))
		return names_said(n, ret);
	if (group && names_remembered(m, n->path, ret) == 0)
		return 0;
	CLEAN(clean_free) char *prefix = NULL;
	if (asprintf(&prefix, "%s%s", n->path, *n->path ? "/" : "") < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	const int64_t begun = clock_now();
	if (m->opt.ttl != INT64_MAX) /* a new name of a local store should not have to wait */
		node_cache_told(begun + (m->zmap->caps & ZMAP_REMOTE ? m->opt.ttl : SECOND));
	int r = zmap_list(m->zmap, prefix, list_entry, ret);
	if (r < 0)
		return r;
	sort_once(ret);
	if (group)
		remember_names(m, n->path, ret, begun);
	else
		remember_listed(m, n->path, ret, begun);
	return 0;
}

/* The children of one group being loaded, by several threads where each request costs a round trip. */
struct loading {
	struct model *model;
	const struct path_walk *walk;
	const char *path;
	struct names *names;
};

static int
child_path(const char *dir, const char *name, char *path, size_t size)
{
	int n = snprintf(path, size, "%s%s%s", dir, *dir ? "/" : "", name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static void
load_one(void *arg, size_t i)
{
	const struct loading *g = arg;
	struct name *n = &g->names->of[i];
	char path[PATH_BYTES_MAX + 1];
	CLEAN(node_unrefp) struct node *node = NULL;
	if (!n->prefix || child_path(g->path, n->name, path, sizeof path) < 0) {
		n->gone = true;
		return;
	}
	int r = node_cache_get_child(g->model, path, HOW_LOOKUP, g->walk, &node);
	if (r == ZMAP_ABSENT) /* it was just listed: an older answer */
		r = node_cache_get_child(g->model, path, HOW_NOW, g->walk, &node);
	n->gone = r == ZMAP_ABSENT;
	n->known = r == 0;
	n->kind = node ? node->kind : NODE_GROUP;
}

static void
load_children(struct model *m, const struct path_walk *w, const char *path, struct names *names)
{
	struct loading g = {.model = m, .walk = w, .path = path, .names = names};
	in_parallel(names->count, m->zmap->caps & ZMAP_REMOTE, load_one, &g);
}

/* Above stores: nothing is looked at, but what is known already is said. */
static void
guess_kinds(struct model *m, const char *dir, struct names *names)
{
	char path[PATH_BYTES_MAX + 1];
	LOCKED(&m->lock) {
		for (size_t i = 0; i < names->count; i++) {
			struct name *n = &names->of[i];
			n->kind = n->prefix ? NODE_PLAIN : NODE_OBJECT;
			n->known = !n->prefix;
			const struct cached_node *p =
				child_path(dir, n->name, path, sizeof path) == 0
					? node_cache_find(m, path)
					: NULL;
			if (n->prefix && p && p->node)
				n->kind = p->node->kind;
		}
	}
}

static int
add_consolidated(void *arg, const char *name, bool array)
{
	struct names *n = arg;
	int r = meta_is_name(name) ? 0 : add_name(n, name, true, NULL);
	if (r == 0 && n->count) {
		n->of[n->count - 1].known = true;
		n->of[n->count - 1].kind = array ? NODE_ARRAY : NODE_GROUP;
	}
	return r;
}

/* Not what was found to be deleted since, or to be of another kind. */
static void
correct_consolidated(
	struct model *m, const struct path_walk *w, const char *dir, struct names *names)
{
	char path[PATH_BYTES_MAX + 1];
	uint64_t id = consolidated_id(w->con);
	LOCKED(&m->lock) {
		for (size_t i = 0; i < names->count; i++) {
			struct name *n = &names->of[i];
			const struct cached_node *p =
				child_path(dir, n->name, path, sizeof path) == 0
					? node_cache_find(m, path)
					: NULL;
			if (!p || !p->known || p->con_id != id)
				continue;
			n->gone = !p->node;
			n->kind = p->node ? p->node->kind : n->kind;
		}
	}
}

/* Names and kinds of all children, as exactly as the group allows; load_only: only what the store has to be asked for. */
static int
read_children(struct model *m, const char *path, bool load_only, struct names *ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_cache_get(m, path, HOW_LOOKUP, &w, &n);
	if (r)
		return r;
	if (n->kind == NODE_ARRAY || n->kind == NODE_OBJECT)
		return err_set(-ENOTDIR, "'%s' is no group", path);
	if (n->error_code == -ENOTSUP)
		return 0;
	if (path_walk_covers(&w)) {
		if (load_only)
			return 0;
		size_t skip = strlen(path) < w.con_skip ? strlen(path) : w.con_skip;
		r = consolidated_children(w.con, path + skip, add_consolidated, ret);
		if (r == 0)
			correct_consolidated(m, &w, path, ret);
		return r;
	}
	r = list_names(m, n, ret);
	if (r < 0)
		return r;
	if (n->kind == NODE_GROUP)
		load_children(m, &w, path, ret);
	else
		guess_kinds(m, path, ret);
	return 0;
}

int
model_children(struct model *m, const char *path, model_child_fn *fn, void *arg)
{
	CLEAN(names_done) struct names names = {0};
	int r = read_children(m, path, false, &names);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		const struct name *n = &names.of[i];
		const struct model_child child = {n->name, n->kind, n->known};
		if (!n->gone)
			r = fn(&child, arg);
	}
	return r;
}

int
model_preload(struct model *m, const char *path)
{
	CLEAN(names_done) struct names names = {0};
	return read_children(m, path, true, &names);
}

uint64_t
model_consolidated(struct model *m, const char *path)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *n = NULL;
	return node_cache_get(m, path, HOW_LOOKUP, &w, &n) == 0 && path_walk_covers(&w)
		       ? consolidated_id(w.con)
		       : 0;
}

bool
model_has_consolidated(struct model *m)
{
	bool has = false;
	LOCKED(&m->lock) {
		const struct cached_node *root = node_cache_find(m, "");
		has = root && root->con;
	}
	return has;
}

/* What the names that a cached node was asked for tell. That of a version ("@tag.v1") no listing shows. Lock held. */
static enum lack
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
	return n->count >= SOME_MAX ? TOO_MANY : list_entry(arg, name, prefix, s);
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
	sort_once(&some);
	if (r == 0)
		remember_names(m, dir, &some, begun);
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
children_lack(struct discovery *l, bool ask)
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

int
model_lookup_known(struct model *m, const char *path, struct node **ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *parent = NULL;
	const char *name = path_name(path);
	CLEAN(clean_free) char *dir = path_above(path);
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	int r = *path ? node_cache_get(m, dir, HOW_LOOKUP, &w, &parent) : 0;
	if (r)
		return r;
	const bool covered = path_walk_covers(&w);
	bool lacking = *path && covered && !consolidated_has(w.con, path + w.con_skip);
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, path);
		if (p && p->node)
			lacking = false;    /* it was asked for before */
		else if (*path && !covered) /* what is may have no objects */
			lacking = names_tell(node_cache_find(m, dir), name) == LACK_SURELY;
	}
	return lacking ? ZMAP_ABSENT : model_lookup(m, path, ret);
}
