#include "view/roles.h"

#include "base/path.h"
#include "base/clock.h"
#include "model/cf_ragged.h"
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

struct roles {
	char *group;
	uint64_t moment; /* which metadata hold: consolidated ones, and how many nodes have changed
			    so far */
	uint64_t key;    /* of the names too, and of the versions of all nodes */
	int64_t born;    /* clock_now() */
	size_t n;
	char **name;
	enum cf_role *role;
	uint32_t *views;
	struct buf ragged; /* for cf_ragged_next */
};

/* What of it is wanted; NULL: nothing. */
struct learned {
	uint32_t *views; /* one for each name */
	struct buf *ragged;
};

struct group_names {
	const char *group;
	const char *const *name; /* sorted */
	size_t n;
};

static struct roles *
roles_done(struct roles *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; r->name && i < r->n; i++)
		free(r->name[i]);
	free(r->name);
	free(r->role);
	free(r->views);
	buf_free(&r->ragged);
	free(r->group);
	free(r);
	return NULL;
}

CLEAN_DEFINE(struct roles, roles_done)

void
roles_init(struct roles_table *t)
{
	pthread_mutex_init(&t->lock, NULL);
}

void
roles_free(struct roles_table *t)
{
	for (unsigned i = 0; i < ROLES_SLOTS; i++)
		roles_done(t->slot[i]);
	pthread_mutex_destroy(&t->lock);
}

uint32_t
roles_listed_views(struct mount *m)
{
	unsigned words = m->options.list ? m->options.list : LIST_FLAT | LIST_NC;
	uint32_t views = 0;
	for (unsigned v = 0; m->views[v]; v++)
		if (!m->views[v]->of_group && *m->views[v]->suffix && words & m->views[v]->list)
			views |= UINT32_C(1) << v;
	return views;
}

/* 0, ZMAP_ABSENT (or of another kind), -errno. */
static int
child(struct mount *m, const char *group, const char *name, struct node **ret)
{
	CLEAN(clean_free) char *path = path_in(group, name);
	CLEAN(node_unrefp) struct node *n = NULL;
	bool single = atomic_load(&m->root_is_array);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup(m->model, single ? "" : path, &n);
	if (r)
		return r;
	if (n->kind != NODE_ARRAY)
		return ZMAP_ABSENT;
	*ret = MOVE(n);
	return 0;
}

static uint64_t
moment_of(struct mount *m, const char *group, uint64_t *ret_reading)
{
	*ret_reading = model_consolidated(m->model, group);
	return hash_number(hash_number(HASH_START, *ret_reading), atomic_load(&m->changes));
}

/* What decides the outcome: the names, and which version of their metadata holds. */
static int
key_of(struct mount *m, const struct group_names *g, uint64_t *ret_moment, uint64_t *ret_key)
{
	uint64_t reading, moment = moment_of(m, g->group, &reading);
	uint64_t h = hash_text(moment, g->group);
	for (size_t i = 0; i < g->n; i++) {
		h = hash_text(h, g->name[i]);
		CLEAN(node_unrefp) struct node *node = NULL;
		int r = reading ? 0 : child(m, g->group, g->name[i], &node);
		if (r == -ENOMEM)
			return r;
		if (node)
			h = hash_text(h, node->version);
	}
	*ret_moment = moment;
	*ret_key = hash_end(h);
	return 0;
}

static struct roles **
slot_of(struct roles_table *t, const char *group)
{
	return &t->slot[hash_end(hash_text(HASH_START, group)) % ROLES_SLOTS];
}

/* Takes out the views that have no file of the variable. */
static uint32_t
those_that_apply(struct mount *m, const struct node *n, enum cf_role role, uint32_t views)
{
	for (unsigned v = 0; m->views[v]; v++) {
		const struct view_ops *o = m->views[v];
		bool shown =
			(role == CF_DATA || !o->data_only) && (!o->applies || o->applies(m, n));
		if (views >> v & 1 && !shown)
			views &= ~(UINT32_C(1) << v);
	}
	return views;
}

static int
copy_names(const struct group_names *g, struct roles *to)
{
	to->group = strdup(g->group);
	to->name = calloc(g->n + 1, sizeof *to->name);
	to->role = calloc(g->n + 1, sizeof *to->role);
	to->views = calloc(g->n + 1, sizeof *to->views);
	bool good = to->group && to->name && to->role && to->views;
	for (; good && to->n < g->n; to->n++)
		good = (to->name[to->n] = strdup(g->name[to->n]));
	return good ? 0 : err_set(-ENOMEM, "no memory for the roles of %zu variables", g->n);
}

/* Its role by consolidated metadata, without a look at the others. 0 or -ENOMEM. */
static int
role_of(struct mount *m, const struct roles *to, const struct node *n, enum cf_role *ret)
{
	*ret = CF_COORDINATE;
	if (cf_is_coordinate(n))
		return 0;
	*ret = CF_DATA;
	int r = cf_role_known(m->model, to->group, n->name, ret);
	return r == -ENOMEM ? r : 0;
}

static int
work_out(struct mount *m, struct roles *to)
{
	uint32_t views = roles_listed_views(m);
	enum cf_role any;
	const bool alone = atomic_load(&m->root_is_array);
	const bool known = !alone && cf_role_known(m->model, to->group, "", &any) == 0;
	int r = 0;
	if (!alone && !known)
		r = cf_roles(m->model, to->group, (const char *const *)to->name, to->n, to->role);
	for (size_t i = 0; r == 0 && i < to->n; i++) {
		CLEAN(node_unrefp) struct node *node = NULL;
		int e = child(m, to->group, to->name[i], &node);
		if (e == -ENOMEM)
			r = e;
		if (e == 0 && known)
			r = role_of(m, to, node, &to->role[i]);
		if (e == 0 && r == 0 && views)
			to->views[i] = those_that_apply(m, node, to->role[i], views);
		if (e == 0 && r == 0)
			r = cf_ragged_add(node, &to->ragged);
	}
	return r;
}

static int
hand_out(const struct roles *r, const struct learned *ret)
{
	if (ret->views)
		memcpy(ret->views, r->views, r->n * sizeof *ret->views);
	return ret->ragged ? buf_add(ret->ragged, r->ragged.data, r->ragged.len) : 0;
}

/* Works out what is not known. */
static int
learn(struct mount *m, const struct group_names *g, const struct learned *ret)
{
	struct roles_table *t = &m->roles;
	CLEAN(roles_donep) struct roles *made = calloc(1, sizeof *made);
	if (!made)
		return err_set(-ENOMEM, "no memory for roles");
	made->born = clock_now();
	int r = key_of(m, g, &made->moment, &made->key);
	bool known = false;
	if (r < 0)
		return r;
	LOCKED(&t->lock) {
		struct roles *kept = *slot_of(t, g->group);
		known = kept && kept->key == made->key && kept->n == g->n;
		if (known)
			kept->born = made->born;
		if (known)
			r = hand_out(kept, ret);
	}
	if (known)
		return r;
	r = copy_names(g, made);
	if (r == 0)
		r = work_out(m, made);
	if (r == 0)
		r = hand_out(made, ret);
	if (r < 0)
		return r;
	LOCKED(&t->lock) {
		struct roles **slot = slot_of(t, g->group), *old = *slot;
		*slot = made;
		made = old;
	}
	return 0;
}

int
roles_of_group(struct mount *m, const char *group, const char *const *name, size_t n, uint32_t *ret)
{
	const struct group_names g = {group, name, n};
	memset(ret, 0, n * sizeof *ret);
	const struct learned wanted = {.views = ret};
	return n && roles_listed_views(m) ? learn(m, &g, &wanted) : 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int
keep_array(const struct model_child *c, void *arg)
{
	struct buf *names = arg;
	bool array = c->known && c->kind == NODE_ARRAY;
	return array ? buf_add(names, c->name, strlen(c->name) + 1) : 0;
}

static int
learn_group(struct mount *m, const char *group, struct buf *ret_ragged)
{
	CLEAN(buf_free) struct buf text = {0};
	int r = model_children(m->model, group, keep_array, &text);
	if (r)
		return r < 0 ? r : 0;
	CLEAN(clean_free) const char **name = calloc(text.len + 1, sizeof *name);
	if (!name)
		return err_set(-ENOMEM, "no memory for names");
	size_t n = 0;
	for (size_t at = 0; at < text.len; at += strlen(name[n++]) + 1)
		name[n] = (const char *)text.data + at;
	qsort(name, n, sizeof *name, by_name);
	const struct group_names g = {group, name, n};
	return learn(m, &g, &(struct learned){.ragged = ret_ragged});
}

/* False: nothing is known that still holds. */
static bool
recall(struct mount *m, const char *group, const char *name, enum cf_role *ret)
{
	struct roles_table *t = &m->roles;
	uint64_t reading, moment = moment_of(m, group, &reading);
	bool known = false;
	LOCKED(&t->lock) {
		const struct roles *kept = *slot_of(t, group);
		known = kept && strcmp(kept->group, group) == 0 && kept->moment == moment &&
			(reading || clock_now() - kept->born < m->pages_ttl);
		char **found =
			known ? bsearch(&name, kept->name, kept->n, sizeof name, by_name) : NULL;
		*ret = found ? kept->role[found - kept->name] : CF_DATA;
	}
	return known;
}

int
roles_of_array(struct mount *m, const struct node *n, enum cf_role *ret)
{
	CLEAN(clean_free) char *group = path_above(n->path);
	if (!group)
		return err_set(-ENOMEM, "no memory for a path");
	*ret = cf_is_coordinate(n) ? CF_COORDINATE : CF_DATA;
	if (*ret != CF_DATA || !*n->path)
		return 0;
	int r = cf_role_known(m->model, group, n->name, ret);
	if (r != ZMAP_ABSENT || recall(m, group, n->name, ret))
		return r < 0 ? r : 0;
	r = learn_group(m, group, NULL);
	if (r == 0)
		recall(m, group, n->name, ret);
	return r;
}

static bool
recall_ragged(struct mount *m, const char *group, int *ret_r, struct buf *ret)
{
	uint64_t reading, moment = moment_of(m, group, &reading);
	bool known = false;
	LOCKED(&m->roles.lock) {
		const struct roles *kept = *slot_of(&m->roles, group);
		known = reading && kept && strcmp(kept->group, group) == 0 &&
			kept->moment == moment;
		if (known)
			*ret_r = hand_out(kept, &(struct learned){.ragged = ret});
	}
	return known;
}

/* 1: the group says that it has such arrays. */
static int
has_features(struct mount *m, const char *group)
{
	static const char mark[] = "\"featureType\"";
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = model_lookup(m->model, group, &n);
	if (r)
		return r < 0 ? r : 0;
	return n->attrs_text && memmem(n->attrs_text, n->attrs_len, mark, sizeof mark - 1);
}

/* Those of a group with consolidated metadata. ZMAP_ABSENT: these cannot say. */
static int
find_ragged(struct mount *m, const char *group, struct buf *ret)
{
	CLEAN(buf_free) struct buf names = {0};
	const char *name;
	int r = cf_ragged_known(m->model, group, &names);
	for (size_t at = 0; at < names.len && r == 0; at += strlen(name) + 1) {
		CLEAN(node_unrefp) struct node *node = NULL;
		name = (const char *)names.data + at;
		int e = child(m, group, name, &node);
		if (e == -ENOMEM)
			r = e;
		if (e == 0)
			r = cf_ragged_add(node, ret);
	}
	return r;
}

int
roles_ragged(struct mount *m, const struct node *n, struct buf *ret)
{
	CLEAN(clean_free) char *group = path_above(n->path);
	if (!group)
		return err_set(-ENOMEM, "no memory for a path");
	int r = *n->path ? find_ragged(m, group, ret) : 0;
	if (r != ZMAP_ABSENT)
		return r;
	r = 0;
	if (recall_ragged(m, group, &r, ret))
		return r;
	if (!model_consolidated(m->model, group)) {
		r = has_features(m, group);
		if (r > 0)
			r = model_preload(m->model, group);
		else
			return r;
	}
	return r < 0 ? r : learn_group(m, group, ret);
}
