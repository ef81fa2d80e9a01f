/* A store in memory and a model over it, for tests of what metadata mean. */
#pragma once

#include "store.h"

#include "model/model.h"

struct tree {
	struct zmap *z;
	struct model *m;
};

static inline void
tree_put(const struct tree *t, const char *key, const char *text)
{
	CHECK_INT(zmap_put(t->z, &(struct zmap_put){key, {(const uint8_t *)text, strlen(text)}},
			  NULL),
		0);
}

static inline void
tree_del(const struct tree *t, const char *key)
{
	CHECK_INT(zmap_del(t->z, &(struct zmap_del){key}), 0);
}

/* Objects: key, text, key, text … NULL. o NULL: everything is looked at again at each access. */
static inline struct tree
tree_new(const struct model_options *o, const char *const *objects)
{
	static unsigned count;
	char name[32];
	snprintf(name, sizeof name, "tree%u", count++);
	struct tree t = {.z = store_open("", "mem", name, true)};
	for (; objects && *objects; objects += 2)
		tree_put(&t, objects[0], objects[1]);
	const struct model_options always = {.ttl = 0, .timeout = 10 * SECOND};
	CHECK_INT(model_open(t.z, o ? o : &always, &t.m), 0);
	return t;
}

static inline void
tree_free(struct tree *t)
{
	t->m = model_close(t->m);
	t->z = zmap_close(t->z);
}

/* A reference, or NULL after a failed check. */
static inline struct node *
tree_node(const struct tree *t, const char *path)
{
	struct node *n = NULL;
	int r = model_lookup(t->m, path, &n);
	if (r)
		fprintf(stderr, "lookup of '%s': %d\n", path, r);
	CHECK_INT(r, 0);
	return n;
}

static inline int
tree_kind(const struct tree *t, const char *path)
{
	struct node *n = NULL;
	int r = model_lookup(t->m, path, &n);
	int kind = n ? (int)n->kind : -1;
	node_unref(n);
	return r < 0 ? r : kind;
}

static inline int
tree_add_name(const struct model_child *c, void *arg)
{
	static const char mark[] = {
		[NODE_GROUP] = '/', [NODE_ARRAY] = '*', [NODE_PLAIN] = '?', [NODE_OBJECT] = '='};
	char *list = arg;
	snprintf(list + strlen(list), 512 - strlen(list), "%s%s%c%s", *list ? " " : "", c->name,
		mark[c->kind], c->known || c->kind == NODE_PLAIN ? "" : "!");
	return 0;
}

/* "a/ b* c?" for a group, an array, something in a plain directory. */
static inline const char *
tree_names(const struct tree *t, const char *path)
{
	static char list[512];
	list[0] = 0;
	int r = model_children(t->m, path, tree_add_name, list);
	if (r)
		snprintf(list, sizeof list, "%d", r);
	return list;
}

#define ZGROUP "{\"zarr_format\": 2}"
#define ZARRAY_BODY                                                                                \
	"\"zarr_format\": 2, \"shape\": [4], \"chunks\": [2], \"compressor\": null, \"filters\": " \
	"null, \"order\": \"C\""
#define ZARRAY "{" ZARRAY_BODY ", \"dtype\": \"<i4\", \"fill_value\": 0}"
