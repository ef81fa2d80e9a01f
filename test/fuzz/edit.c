/* Documents of arbitrary bytes, changed. The first byte says how: 'j' changes one document by its
 * text; anything else is a store of objects separated by a byte 1 (the first byte of each says
 * which it is), of which each node is edited. What can be changed reads back as it was set, and no
 * change makes a node that could be read one that cannot. */
#include "store.h"

#include "base/err.h"
#include "base/json.h"
#include "base/json_edit.h"
#include "model/edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* --- one document --- */

/* The input after its first line, which is a key, is the document. */
static void
change_text(const uint8_t *data, size_t size)
{
	char key[64] = "k";
	const uint8_t *line = memchr(data, '\n', size);
	if (line && (size_t)(line - data) < sizeof key && !memchr(data, 0, (size_t)(line - data))) {
		memcpy(key, data, (size_t)(line - data));
		key[line - data] = 0;
		size -= (size_t)(line + 1 - data);
		data = line + 1;
	}
	const char *const path[] = {key, NULL}, *const deep[] = {"in", key, NULL};
	const char *const *const both[] = {path, deep};
	const struct span value = {(const uint8_t *)"[1, 007]", 8};
	for (unsigned i = 0; i < 2; i++) {
		CLEAN(buf_free) struct buf b = {0};
		CLEAN(json_freep) struct json *before = NULL, *after = NULL;
		struct span found;
		must(buf_add(&b, data, size) == 0);
		bool sound = json_parse((const char *)data, size, &before) == 0;
		if (json_edit_set(&b, both[i], value) < 0)
			continue;
		must(json_edit_find(buf_span(&b), both[i], &found) == 0);
		must(found.len == value.len && !memcmp(found.data, value.data, value.len));
		must(!sound || json_parse((const char *)b.data, b.len, &after) == 0);
		must(json_edit_at(&b, both[i], 2, (struct span){(const uint8_t *)"{}", 2}) == 0);
		must(json_edit_take(&b, both[i], 0) == 0);
		must(json_edit_del(&b, both[i]) == 0);
		must(json_edit_find(buf_span(&b), both[i], &found) == -ENOENT);
		after = json_free(after);
		must(!sound || json_parse((const char *)b.data, b.len, &after) == 0);
	}
}

/* --- a store --- */

static const struct fuzz_key key[] = {
	{'a', "v/.zarray"},
	{'t', "v/.zattrs"},
	{'g', ".zgroup"},
	{'r', ".zattrs"},
	{'m', ".zmetadata"},
	{'G', "g/.zgroup"},
	{'R', "g/.zattrs"},
	{'A', "g/w/.zarray"},
	{'T', "g/w/.zattrs"},
	{'3', "zarr.json"},
	{'z', "h/zarr.json"},
	{'w', "v/zarr.json"},
	{'V', "v/.zgroup"},
};

static const char *const node[] = {"v", "", "g", "g/w", "h"};
static const struct model_options options = {.ttl = INT64_MAX, .timeout = 60 * SECOND};

/* The attribute as a model that is opened now sees it. */
static void
expect(struct zmap *z, const char *path, const struct attr *want)
{
	struct model *m = NULL;
	struct node *n = NULL;
	struct attrs as = {0};
	must(model_open(z, &options, &m) == 0);
	must(model_check(m, path, &n) == 0);
	must(!n->error);
	must(node_attrs(n, &as) == 0);
	const struct attr *got = attrs_find(&as, want->name);
	must(got);
	if (got->type == NC_TYPE_STRING && want->type == NC_TYPE_CHAR) { /* it was one before */
		must(got->count == 1);
	} else {
		must(got->count == want->count);
		if (want->type == NC_TYPE_CHAR)
			must(!memcmp(got->data, want->data, want->count));
	}
	attrs_free(&as);
	node_unref(n);
	model_close(m);
}

static void
set_attrs(struct zmap *z, struct model *m, const char *path)
{
	static const double real = 1.5;
	const struct attr text = {.name = (char *)"units",
				  .type = NC_TYPE_CHAR,
				  .count = 2,
				  .data = (void *)"\"\xe9"},
			  number = {.name = (char *)"x",
				  .type = NC_TYPE_DOUBLE,
				  .count = 1,
				  .data = (void *)&real};
	struct edit *e = NULL;
	if (model_edit(m, path, &e) != 0)
		return;
	const bool sound = !edit_node(e)->error && !edit_node(e)->flaw;
	must(edit_set_attr(e, &text) == 0 && edit_set_attr(e, &number) == 0 &&
		edit_del_attr(e, "y") == 0);
	if (edit_commit(e, 0, NULL) == 0 && sound) {
		expect(z, path, &number);
		expect(z, path, &text);
	}
	edit_free(e);
}

static void
resize(struct zmap *z, struct model *m, const char *path)
{
	struct edit *e = NULL;
	struct node *n = NULL;
	struct model *fresh = NULL;
	if (model_edit(m, path, &e) != 0)
		return;
	if (edit_resize(e, 1234567) == 0 && edit_commit(e, 0, NULL) == 0) {
		must(model_open(z, &options, &fresh) == 0);
		must(model_check(fresh, path, &n) == 0);
		must(n->array && n->array->shape[0] == edit_lead(e));
		node_unref(n);
		model_close(fresh);
	}
	edit_free(e);
}

static void
make(struct zmap *z, struct model *m, const char *group)
{
	static const uint64_t size[] = {3, 4};
	static const char *const names[] = {"x", "y"};
	const struct new_array a = {.dtype = {.kind = DTYPE_INT, .size = 4},
		.rank = 2,
		.shape = size,
		.chunk = size,
		.dim = names,
		.unlimited = (const bool[]){true, false}};
	char path[64];
	snprintf(path, sizeof path, "%s%snew", group, *group ? "/" : "");
	if (model_new_array(m, path, &a, 0, NULL) == 0) {
		const struct attr any = {.name = (char *)"units",
			.type = NC_TYPE_CHAR,
			.count = 1,
			.data = (void *)"m"};
		struct edit *e = NULL;
		must(model_edit(m, path, &e) == 0);
		must(edit_set_attr(e, &any) == 0 && edit_commit(e, 0, NULL) == 0);
		edit_free(e);
		expect(z, path, &any);
		must(model_remove(m, path, 0, NULL) == 0);
	}
	snprintf(path, sizeof path, "%s%ssub", group, *group ? "/" : "");
	if (model_new_group(m, path, &(struct new_group){2, true}, 0, NULL) == 0)
		must(model_remove(m, path, 0, NULL) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "fuzz";
	struct zmap *z;
	struct model *m = NULL;
	if (size && data[0] == 'j') {
		change_text(data + 1, size - 1);
		return 0;
	}
	z = fuzz_store(name, key, sizeof key / sizeof *key, data, size);
	must(model_open(z, &options, &m) == 0);
	for (unsigned i = 0; i < sizeof node / sizeof *node; i++) {
		set_attrs(z, m, node[i]);
		resize(z, m, node[i]);
		make(z, m, node[i]);
	}
	model_close(m);
	zmap_close(z);
	return 0;
}
