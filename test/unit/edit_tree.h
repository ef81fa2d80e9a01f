/* What tests of edits share: changes made through a tree's model, documents compared byte for byte,
 * and a store whose arrays share dimensions. */
#pragma once

#include "tree.h"

#include "model/edit.h"

#include <errno.h>

static const struct model_options never = {.ttl = INT64_MAX, .timeout = 10 * SECOND};

/* The object of that key is this text; NULL: it is not there. */
static inline void
stored_is(const struct tree *t, const char *key, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct zmap_get g = {.key = key, .into = &b, .max = 1 << 20};
	int r = zmap_get(t->z, &g, NULL);
	CHECK_INT(r, want ? 0 : ZMAP_ABSENT);
	CHECK_INT(buf_terminate(&b), 0);
	if (want)
		CHECK_STR((char *)b.data, want);
}

static inline struct attr
text_attr(const char *name, const char *text)
{
	return (struct attr){.name = (char *)name,
		.type = NC_TYPE_CHAR,
		.count = strlen(text),
		.data = (void *)text};
}

static inline struct attr
number_attr(const char *name, enum nc_type type, const void *value)
{
	return (struct attr){.name = (char *)name, .type = type, .count = 1, .data = (void *)value};
}

static inline struct edit *
begin_edit(const struct tree *t, const char *path)
{
	struct edit *e = NULL;
	CHECK_INT(model_edit(t->m, path, &e), 0);
	return e;
}

static inline void
end_edit(struct edit *e)
{
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	edit_free(e);
}

static inline void
set_one(const struct tree *t, const char *path, const struct attr *a)
{
	struct edit *e = begin_edit(t, path);
	CHECK_INT(edit_set_attr(e, a), 0);
	end_edit(e);
}

/* What the model shows of it, now. */
static inline void
shown_is(const struct tree *t, const char *path, const char *name, enum nc_type type,
	const char *want)
{
	struct node *n = tree_node(t, path);
	struct attrs as = {0};
	if (n)
		CHECK_INT(node_attrs(n, &as), 0);
	const struct attr *a = attrs_find(&as, name);
	CHECK(!a == !want);
	if (a && want) {
		CHECK_INT(a->type, type);
		CLEAN(clean_free) char *text = attr_text(a);
		CHECK_STR(text, want);
	}
	attrs_free(&as);
	node_unref(n);
}

static inline uint64_t
length_of(const struct tree *t, const char *path, unsigned dim)
{
	struct node *n = tree_node(t, path);
	uint64_t len = n && n->array && n->array->rank > dim ? n->array->shape[dim] : UINT64_MAX;
	node_unref(n);
	return len;
}

static inline void
resize(const struct tree *t, const char *path, uint64_t to)
{
	struct edit *e = begin_edit(t, path);
	CHECK_INT(edit_resize(e, to), 0);
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	CHECK_INT(edit_lead(e), to);
	edit_free(e);
}

#define NC_TYPES(more) "\"_nczarr_attr\": {\"types\": {" more "\"_nczarr_array\": \"|J0\"}}"
#define REFS(list)                                                                                 \
	"{\"_nczarr_array\": {\"dimension_references\": [" list                                    \
	"], \"storage\": \"chunked\"}, " NC_TYPES("") "}"
#define GROUP(dims)                                                                                \
	"{\"_nczarr_group\": {\"dimensions\": {" dims                                              \
	"}, \"arrays\": [\"v\", \"w\", \"x\"], \"groups\": [\"g\"]}, "                             \
	"\"_nczarr_superblock\": {\"version\": \"2.0.0\"}}"
#define SHAPED(shape)                                                                              \
	"{\"zarr_format\": 2, \"shape\": [" shape "], \"chunks\": [2, 2], \"dtype\": \"<i4\", "    \
	"\"fill_value\": 0, \"compressor\": null, \"filters\": null, \"order\": \"C\"}"

static const char *const shared_tree[] = {".zgroup", ZGROUP, ".zattrs",
	GROUP("\"time\": {\"size\": 4, \"unlimited\": 1}, \"y\": 3"), "v/.zarray", SHAPED("4, 3"),
	"v/.zattrs", REFS("\"/time\", \"/y\""), "w/.zarray", SHAPED("3, 4"), "w/.zattrs",
	REFS("\"/y\", \"/time\""), "x/.zarray", SHAPED("4, 4"), "x/.zattrs", REFS("\"/y\", \"/y\""),
	"g/.zgroup", ZGROUP, "g/.zattrs",
	"{\"_nczarr_group\": {\"dimensions\": {}, \"arrays\": [\"u\"], \"groups\": []}}",
	"g/u/.zarray", ZARRAY, "g/u/.zattrs", REFS("\"/time\""), NULL};
