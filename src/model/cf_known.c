/* What consolidated metadata tell of CF roles without a node being made. */
#include "base/err.h"
#include "base/path.h"
#include "model/cf.h"
#include "model/node_cache.h"

#include <errno.h>
#include <string.h>

/* A name that the group's own attributes may give a role. */
struct cf_asked {
	const char *name;
	enum cf_role role;
};

static int
give_role(void *arg, const char *name, enum cf_role role)
{
	struct cf_asked *a = arg;
	if (strcmp(name, a->name) == 0 && (a->role == CF_DATA || role == CF_BOUNDS))
		a->role = role;
	return 0;
}

static int
find_reference(const struct json_slice *s, void *arg)
{
	char name[32] = {0};
	if (s->key_len < sizeof name)
		memcpy(name, s->key, s->key_len);
	*(bool *)arg |= s->has_escapes || cf_refers(name);
	return 0;
}

/* May its attributes name variables? Told without making them, as every array of the group asks. */
static bool
may_refer(const struct node *n)
{
	bool found = false;
	return n->attrs_text &&
	       (json_scan(n->attrs_text, n->attrs_len, NULL, find_reference, &found) < 0 || found);
}

/* Group and index. *ret: the walk's; NULL: metadata of the group are not consolidated, or too many
 * to say. */
static int
find_index(struct model *m, const char *group, struct path_walk *w, struct node **ret_node,
	const struct cf_index **ret)
{
	*ret = NULL;
	int r = node_cache_get(m, group, HOW_LOOKUP, w, ret_node);
	if (r == 0 && path_walk_covers(w) && !consolidated_cf(w->con)->full)
		*ret = consolidated_cf(w->con);
	return r < 0 ? r : 0;
}

/* As the index calls it. "": the group that has the index. */
static const char *
relative(const struct path_walk *w, const char *path)
{
	return path + (strlen(path) < w->con_skip ? strlen(path) : w->con_skip);
}

int
cf_role_known(struct model *m, const char *group, const char *name, enum cf_role *ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *self = NULL;
	CLEAN(clean_free) char *path = NULL;
	const struct cf_index *x;
	struct cf_asked a = {.name = name};
	struct attrs as = {0};
	enum cf_role by_others = CF_DATA;
	int r = find_index(m, group, &w, &self, &x);
	if (r < 0 || !x)
		return r < 0 ? r : ZMAP_ABSENT;
	const char *dir = relative(&w, group);
	path = path_in(dir, name);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	r = cf_index_role(x, path, &by_others);
	if (r == 0 && may_refer(self))
		r = node_attrs(self, &as);
	if (r == 0)
		cf_references(&as, give_role, &a);
	attrs_free(&as);
	if (r == -ENOMEM)
		return r;
	give_role(&a, name, by_others);
	*ret = a.role;
	return 0;
}

int
cf_ragged_known(struct model *m, const char *group, struct buf *ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *self = NULL;
	const struct cf_index *x;
	int r = find_index(m, group, &w, &self, &x);
	if (r < 0 || !x)
		return r < 0 ? r : ZMAP_ABSENT;
	const char *dir = relative(&w, group), *path;
	size_t len = strlen(dir);
	for (size_t at = 0; at < x->ragged.len && r == 0; at += strlen(path) + 1) {
		path = (const char *)x->ragged.data + at;
		if (len && (strncmp(path, dir, len) != 0 || path[len] != '/'))
			continue;
		const char *name = path + len + (len != 0);
		if (!strchr(name, '/'))
			r = buf_add(ret, name, strlen(name) + 1);
	}
	return r;
}
