/* The object of a Zarr V3 array (V3 spec, "Array metadata"), as writers really write it. */
#include "base/err.h"
#include "model/meta.h"
#include "model/ngff.h"

#include <errno.h>
#include <string.h>

/* A V3 part with a name: {"name": …, "configuration": …}, or the name alone. NULL: it has none. */
static const char *
name_of(const struct json *v, const struct json **config)
{
	const struct json *name = v && json_type(v) == JSON_TYPE_DICT ? json_get(v, "name") : v;
	*config = v && name != v ? json_get(v, "configuration") : NULL;
	return name && json_type(name) == JSON_TYPE_TEXT ? json_text(name, NULL) : NULL;
}

static int
read_rectilinear(const struct json *config, const uint64_t *shape, struct array_meta *a)
{
	uint64_t longest[RANK_MAX];
	const struct json *kind = config ? json_get(config, "kind") : NULL;
	if (!kind || !json_is(kind, "inline"))
		return err_set(-ENOTSUP, "chunk grid 'rectilinear' of another kind than 'inline'");
	int r = edges_parse(json_get(config, "chunk_shapes"), a->rank, shape, longest, &a->edges);
	return r < 0 ? r : array_take_sizes(a, shape, longest);
}

static int
read_grid(const struct json *doc, struct array_meta *a)
{
	uint64_t shape[RANK_MAX], chunk[RANK_MAX];
	unsigned chunk_rank;
	const struct json *config;
	const char *grid = name_of(json_get(doc, "chunk_grid"), &config);
	int r = array_sizes(json_get(doc, "shape"), "shape", &a->rank, shape);
	if (r < 0)
		return r;
	if (!grid)
		return err_set(-EINVAL, "no 'chunk_grid'");
	if (!strcmp(grid, "rectilinear"))
		return read_rectilinear(config, shape, a);
	if (strcmp(grid, "regular") != 0)
		return err_set(-ENOTSUP, "chunk grid '%.100s' is not supported", grid);
	r = array_sizes(
		config ? json_get(config, "chunk_shape") : NULL, "chunk_shape", &chunk_rank, chunk);
	if (r < 0)
		return r;
	if (chunk_rank != a->rank)
		return err_set(-EINVAL, "'chunk_shape' has %u dimensions, 'shape' %u", chunk_rank,
			a->rank);
	for (unsigned i = 0; i < a->rank; i++) {
		if (!chunk[i] && shape[i])
			return err_set(-EINVAL, "a chunk of length 0");
		chunk[i] = chunk[i] ? chunk[i] : 1;
	}
	return array_take_sizes(a, shape, chunk);
}

/* V3 spec, "Chunk key encoding". */
static int
read_keys(const struct json *doc, struct array_meta *a)
{
	const struct json *config;
	const char *name = name_of(json_get(doc, "chunk_key_encoding"), &config);
	const struct json *sep = config ? json_get(config, "separator") : NULL;
	if (!name)
		return err_set(-EINVAL, "no 'chunk_key_encoding'");
	bool v2 = !strcmp(name, "v2");
	if (!v2 && strcmp(name, "default") != 0)
		return err_set(-ENOTSUP, "chunk key encoding '%.100s' is not supported", name);
	if (sep && !json_is(sep, ".") && !json_is(sep, "/"))
		return err_set(-EINVAL, "'separator' is neither '.' nor '/'");
	a->key_form = v2 ? '2' : 'c';
	a->separator = sep ? *json_text(sep, NULL) : v2 ? '.' : '/';
	return 0;
}

static int
read_type(const struct json *doc, struct node *n)
{
	struct dtype *t = &n->array->dtype;
	struct dtype found = {.kind = DTYPE_OBJECT};
	int r = dtype_parse_v3(json_get(doc, "data_type"), &found);
	*t = found;
	return r == -ENOTSUP ? node_mark(n, r) : r;
}

static bool
is_vlen(const struct dtype *t)
{
	return t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES || t->kind == DTYPE_OBJECT;
}

static int
read_fill(const struct json *doc, struct node *n)
{
	struct array_meta *a = n->array;
	const struct json *v = json_get(doc, "fill_value");
	if (is_vlen(&a->dtype))
		return array_fill_text(v, a);
	int r = array_fill_room(a);
	if (r < 0)
		return node_mark(n, r);
	if (n->error)
		return 0;
	r = dtype_fill_v3(&a->dtype, v, a->fill, &a->null_fill);
	if (r >= 0 || r == -ENOMEM)
		return r;
	a->fill_error = strdup(err_text());
	return a->fill_error ? 0 : err_set(-ENOMEM, "no memory for a message");
}

/* null, or a name that is none: a dimension without a name. */
static int
read_names(const struct json *doc, struct array_meta *a)
{
	const struct json *names = json_get(doc, "dimension_names");
	if (!names || json_type(names) == JSON_TYPE_NULL)
		return 0;
	if (json_type(names) != JSON_TYPE_LIST || json_count(names) != a->rank)
		return err_set(-EINVAL, "'dimension_names' are not %u", a->rank);
	for (unsigned i = 0; i < a->rank; i++) {
		const struct json *v = json_at(names, i);
		size_t len;
		const char *s = json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
		if (a->dim[i].name || !s || !*s || strlen(s) != len)
			continue;
		a->dim[i].name = strdup(s);
		if (!a->dim[i].name)
			return err_set(-ENOMEM, "no memory for a dimension");
	}
	return 0;
}

static int
check_transformers(const struct json *doc)
{
	const struct json *v = json_get(doc, "storage_transformers");
	if (!v || json_type(v) == JSON_TYPE_NULL ||
		(json_type(v) == JSON_TYPE_LIST && !json_count(v)))
		return 0;
	return err_set(-ENOTSUP, "storage transformers are not supported");
}

int
meta_v3_understood(const struct json *doc, const char *const *known)
{
	for (void *i = json_first(doc); i; i = json_next(doc, i)) {
		const char *const *k = known;
		while (*k && strcmp(*k, json_key(i)) != 0)
			k++;
		const struct json *must = *k ? NULL : json_get(json_value(i), "must_understand");
		bool may_pass = must && json_type(must) == JSON_TYPE_BOOL && !json_bool(must);
		if (!*k && !may_pass)
			return err_set(-ENOTSUP, "'%.100s' in %s must be understood, and is not",
				json_key(i), meta_name[META_V3][0]);
	}
	return 0;
}

/* What must be understood, though an array of that shape can be listed without. */
static int
read_rest(const struct json *doc, struct node *n)
{
	static const char *const known[] = {"zarr_format", "node_type", "shape", "data_type",
		"chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "attributes",
		"storage_transformers", "dimension_names", NULL};
	int r = meta_v3_understood(doc, known);
	if (r == 0)
		r = check_transformers(doc);
	if (r == 0 && n->array->dtype.kind != DTYPE_OBJECT)
		r = codecs_v3(json_get(doc, "codecs"), n->array);
	if (r == 0)
		r = codecs_known(n->array);
	return r < 0 ? node_mark(n, r) : 0;
}

int
array_v3(const struct nczarr_docs *d, const struct dim_scope *s, struct node *n)
{
	struct array_meta *a = n->array = calloc(1, sizeof *a);
	if (!a)
		return err_set(-ENOMEM, "no memory for an array");
	a->zarr_format = 3;
	a->order = 'C';
	int r = read_grid(d->main, a);
	if (r == 0)
		r = read_keys(d->main, a);
	if (r == 0)
		r = read_type(d->main, n);
	if (r == 0)
		r = read_rest(d->main, n);
	if (r == 0)
		r = read_fill(d->main, n);
	if (r == 0)
		r = shards_v3(n->array);
	if (r == 0)
		r = array_check_sizes(a);
	if (r == 0)
		r = nczarr_dims(d, s, a);
	if (r == 0)
		r = read_names(d->main, a);
	if (r == 0)
		r = ngff_apply(s, n->path, a);
	if (r < 0)
		return r;
	a->strlen_hint = nczarr_strlen(d);
	return array_fingerprint(a);
}
