#include "model/node.h"

#include "base/check.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/path.h"
#include "model/ngff.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int
text_new(struct buf *bytes, struct text **ret)
{
	struct text *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a metadata object");
	atomic_init(&t->refs, 1);
	t->bytes = *bytes;
	*bytes = (struct buf){0};
	*ret = t;
	return 0;
}

struct text *
text_ref(struct text *t)
{
	if (t)
		atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

struct text *
text_unref(struct text *t)
{
	if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
		buf_free(&t->bytes);
		free(t);
	}
	return NULL;
}

int
node_new(enum node_kind kind, const char *path, struct node **ret)
{
	struct node *n = calloc(1, sizeof *n);
	if (!n || !(n->path = strdup(path))) {
		free(n);
		return err_set(-ENOMEM, "no memory for node '%s'", path);
	}
	atomic_init(&n->refs, 1);
	n->kind = kind;
	n->name = path_name(n->path);
	*ret = n;
	return 0;
}

static void
dims_free(struct dim *dim, size_t n)
{
	for (size_t i = 0; dim && i < n; i++) {
		free(dim[i].name);
		free(dim[i].fqn);
		free(dim[i].unit);
	}
	free(dim);
}

void
array_meta_free(struct array_meta *a)
{
	if (!a)
		return;
	dtype_free(&a->dtype);
	free(a->shape);
	free(a->chunk);
	free(a->shard);
	edges_free(a->edges);
	dims_free(a->dim, a->rank);
	for (size_t i = 0; i < a->ncodecs; i++) {
		free(a->codec[i].id);
		json_freep(&a->codec[i].config);
	}
	free(a->codec);
	free(a->fill);
	free(a->fill_text);
	free(a->chunks_of);
	free(a->fill_error);
	free(a);
}

static void
group_meta_free(struct group_meta *g)
{
	if (!g)
		return;
	dims_free(g->dim, g->ndims);
	LIST_FREE(g->order, g->norder);
	ngff_free(g->ngff);
	free(g);
}

struct node *
node_ref(struct node *n)
{
	if (n)
		atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
	return n;
}

struct node *
node_unref(struct node *n)
{
	if (!n || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	if (n->attr_context) {
		text_unref(n->attr_context->attrs);
		text_unref(n->attr_context->types);
		free(n->attr_context);
	}
	array_meta_free(n->array);
	group_meta_free(n->group);
	free(n->error);
	free(n->flaw);
	free(n->path);
	free(n);
	return NULL;
}

int
node_mark(struct node *n, int code)
{
	if (code == -ENOMEM)
		return code;
	if (n->error)
		return 0;
	n->error = strdup(err_text());
	n->error_code = code;
	return n->error ? 0 : err_set(-ENOMEM, "no memory for a message");
}

uint64_t
array_count(const struct array_meta *a)
{
	uint64_t n = 1;
	bool zero = false, over = false;
	for (unsigned i = 0; i < a->rank; i++) {
		zero |= a->shape[i] == 0;
		over |= mul_over(n, a->shape[i], &n);
	}
	return zero ? 0 : over ? UINT64_MAX : n;
}

bool
node_same(const struct node *old, const struct node *new)
{
	if (old->kind != new->kind || old->mtime != new->mtime || old->size != new->size ||
		strcmp(old->version, new->version) || !old->error != !new->error ||
		!old->array != !new->array)
		return false;
	if (old->array && (old->array->chunks_of || new->array->chunks_of))
		return old->array->layout == new->array->layout;
	return !old->array || new->array->separator_assumed ||
	       (!old->array->separator_assumed && old->array->layout == new->array->layout);
}

/* Measured, not counted: a dict of five codec parameters takes about this much. */
enum { CODEC_BYTES_ABOUT = 600, MALLOC_BYTES = 16 };

size_t
node_bytes(const struct node *n)
{
	size_t bytes = sizeof *n + 2 * MALLOC_BYTES + strlen(n->path);
	if (n->attr_context)
		bytes += sizeof *n->attr_context + MALLOC_BYTES;
	if (n->array) {
		const struct array_meta *a = n->array;
		bytes += sizeof *a +
			 a->rank * (2 * sizeof *a->shape + sizeof *a->dim + 2 * MALLOC_BYTES);
		bytes += a->dtype.size + a->ncodecs * CODEC_BYTES_ABOUT +
			 a->dtype.nfields * sizeof(struct dtype_field);
		bytes += a->edges ? edges_bytes(a->edges) : 0;
	}
	if (n->group)
		bytes += sizeof *n->group + (n->group->ndims + n->group->norder) * 4 * MALLOC_BYTES;
	if (n->error)
		bytes += strlen(n->error);
	if (n->flaw)
		bytes += strlen(n->flaw);
	return bytes;
}

static uint64_t
hash_codecs(const struct array_meta *a, uint64_t h)
{
	for (size_t i = 0; i < a->ncodecs; i++) {
		h = hash_text(h, a->codec[i].id);
		if (a->codec[i].config)
			h = json_hash(h, a->codec[i].config);
	}
	return h;
}

/* The length of the only dimension, where a codec stores by that; 0: none does. */
static uint64_t
length_stored_by(const struct array_meta *a)
{
	uint64_t most = 0;
	for (size_t i = 0; i < a->ncodecs && a->rank == 1; i++)
		for (const struct codec_ops *const *c = codec_table; *c; c++)
			for (const char *const *id = (*c)->ids; *id; id++)
				if (!(*c)->carries && (*c)->by_extent &&
					!strcmp(*id, a->codec[i].id))
					most = max_u64(most, (*c)->by_extent(NULL));
	return most ? min_u64(a->shape[0], most + 1) : 0;
}

int
array_fingerprint(struct array_meta *a)
{
	CLEAN(clean_free) char *type = dtype_text(&a->dtype);
	if (!type)
		return err_set(-ENOMEM, "no memory for a dtype's name");
	uint64_t h = hash_text(HASH_START, type);
	const uint32_t facts[] = {a->dtype.kind, a->dtype.big, a->dtype.is_char, a->dtype.size,
		a->rank, (uint32_t)a->separator, (uint32_t)a->key_form, a->null_fill,
		a->zarr_format, a->dtype.narrow};
	h = hash_bytes(h, facts, sizeof facts);
	h = hash_bytes(h, a->chunk, a->rank * sizeof *a->chunk);
	for (unsigned d = 0; a->edges && d < a->rank; d++)
		if (a->edges->dim[d].start)
			h = hash_bytes(h, a->edges->dim[d].start,
				(a->edges->dim[d].n + 1) * sizeof *a->edges->dim[d].start);
	if (a->shard)
		h = hash_bytes(h, a->shard, a->rank * sizeof *a->shard);
	if (a->fill)
		h = hash_bytes(h, a->fill, a->dtype.size);
	if (a->fill_error)
		h = hash_text(h, a->fill_error);
	if (a->fill_text)
		h = hash_bytes(h, a->fill_text, a->fill_len + 1);
	h = hash_codecs(a, h);
	a->layout = hash_number(h, length_stored_by(a));
	return 0;
}
