/* Metadata objects of arbitrary bytes in a store, and everything loaded from it. The input is
 * objects separated by a byte 1, the first byte of each says which it is (the letters of `key`). */
#include "store.h"

#include "base/err.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_key key[] = {
	{'a', "v/.zarray"},
	{'t', "v/.zattrs"},
	{'v', "v/.nczvar"},
	{'n', "v/.nczattrs"},
	{'g', ".zgroup"},
	{'r', ".zattrs"},
	{'c', ".nczgroup"},
	{'m', ".zmetadata"},
	{'G', "g/.zgroup"},
	{'R', "g/.zattrs"},
	{'A', "g/w/.zarray"},
	{'T', "g/w/.zattrs"},
	{'M', "g/.zmetadata"},
	{'3', "zarr.json"},
	{'z', "h/zarr.json"},
	{'y', "h/x/zarr.json"},
	{'w', "v/zarr.json"},
};

struct visit {
	struct model *model;
	const char *path;
	unsigned depth, *budget;
};

static void visit(struct model *, const char *path, unsigned depth, unsigned *budget);

static int
visit_child(const struct model_child *c, void *arg)
{
	struct visit *v = arg;
	char path[512];
	int n = snprintf(path, sizeof path, "%s%s%s", v->path, *v->path ? "/" : "", c->name);
	if (n > 0 && (size_t)n < sizeof path && v->depth < 20)
		visit(v->model, path, v->depth + 1, v->budget);
	return *v->budget == 0;
}

static void
look(const struct node *n)
{
	struct attrs as;
	if (node_attrs(n, &as) == 0) {
		for (size_t i = 0; i < as.count; i++)
			free(attr_text(&as.attr[i]));
		attrs_free(&as);
	}
	if (!n->array)
		return;
	free(dtype_text(&n->array->dtype));
	if (array_count(n->array) == UINT64_MAX)
		abort(); /* no array may be that large */
	for (unsigned i = 0; i < n->array->rank; i++)
		if (!n->array->chunk[i])
			abort();
}

static void
visit(struct model *m, const char *path, unsigned depth, unsigned *budget)
{
	struct node *n = NULL;
	if (!*budget || !--*budget)
		return;
	if (model_lookup(m, path, &n) == 0) {
		look(n);
		if (n->kind == NODE_GROUP || n->kind == NODE_PLAIN)
			model_children(
				m, path, visit_child, &(struct visit){m, path, depth, budget});
	}
	n = node_unref(n);
	if (model_check(m, path, &n) == 0)
		look(n);
	node_unref(n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "fuzz";
	struct zmap *z = fuzz_store(name, key, sizeof key / sizeof *key, data, size);
	struct model *m = NULL;
	const struct model_options o = {
		.ttl = INT64_MAX, .timeout = SECOND, .detect_separator = true};
	unsigned budget = 200;
	if (model_open(z, &o, &m) == 0)
		visit(m, "", 0, &budget);
	model_close(m);
	zmap_close(z);
	return 0;
}
