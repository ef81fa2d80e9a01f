#include "data/array_impl.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Loads of one array that may be under way, and hang: as many as hide the latency of a remote store. On a disk, few for a worker. */
enum { TURNS_REMOTE = 48, TURNS_MIN = 8, TURNS_EACH = 2 };

/* What the chunks mean: two arrays with the same name for this share cached chunks, all others do not. */
static int
find_space(struct array *a, const struct array_meta *m)
{
	CLEAN(buf_free) struct buf name = {0};
	int r = buf_addf(
		&name, "%s %p %" PRIx64 " %u", a->key, (void *)a->zmap, m->layout, a->dtype.size);
	for (unsigned d = 0; d < a->grid.rank && r == 0; d++)
		r = buf_addf(&name, " %" PRIu64 "/%" PRIu64, a->grid.shape[d], a->grid.chunk[d]);
	return r < 0 ? r : spaces_number(a->data->spaces, (char *)name.data, name.len, &a->space);
}

static int
make_fill(struct array *a, const struct array_meta *m)
{
	size_t n = a->dtype.size;
	a->fill = calloc(1, n ? n : 1);
	if (!a->fill)
		return err_set(-ENOMEM, "no memory");
	bool vlen = a->dtype.kind == DTYPE_VLEN_TEXT || a->dtype.kind == DTYPE_VLEN_BYTES;
	if (vlen && m->fill_len) {
		a->fill_long = m->fill_len > n ? m->fill_len : 0;
		a->fill_nul = !m->fill_text[m->fill_len - 1];
		memcpy(a->fill, m->fill_text, a->fill_long ? 0 : m->fill_len);
	} else if (!vlen && m->fill) {
		memcpy(a->fill, m->fill, n);
	}
	if (m->fill_error && !(a->fill_error = strdup(m->fill_error)))
		return err_set(-ENOMEM, "no memory");
	a->fill_zero = true;
	for (size_t i = 0; i < n; i++)
		a->fill_zero &= !a->fill[i];
	return 0;
}

static int
open_chain(struct array *a, const struct array_meta *m)
{
	a->form = (struct form){
		.dtype = &a->dtype,
		.rank = a->grid.rank,
		.shape = a->grid.chunk,
		.count = a->grid.chunk_bytes / a->grid.item,
		.bytes = a->grid.chunk_bytes,
		.exact = true,
		.extent = a->grid.shape,
		.measuring = a->form.measuring,
	};
	int r = codec_chain_open(m->codec, m->ncodecs, &a->form, &a->chain);
	if (r < 0)
		return r;
	a->raw = codec_chain_empty(a->chain);
	a->ranged = codec_chain_ranged(a->chain);
	a->encoded_max = codec_chain_encoded_max(a->chain);
	a->scratch = codec_chain_scratch(a->chain);
	return 0;
}

static size_t
turns(const struct array *a)
{
	return a->remote ? TURNS_REMOTE : max_u64(TURNS_MIN, TURNS_EACH * a->data->workers);
}

static int
init(struct array *a, const char *key, const struct array_meta *m, uint32_t width)
{
	int r = dtype_copy(&m->dtype, &a->dtype);
	if (r < 0)
		return r;
	if (m->dtype.kind == DTYPE_VLEN_TEXT || m->dtype.kind == DTYPE_VLEN_BYTES) {
		a->dtype.size = width ? width : 1;
		a->form.measuring = !width;
	}
	if (!a->dtype.size)
		return err_set(-ENOTSUP, "elements have no fixed size");
	if (asprintf(&a->key, "%s%s", key, *key ? "/" : "") < 0) {
		a->key = NULL;
		return err_set(-ENOMEM, "no memory");
	}
	a->separator = m->separator;
	a->key_form = m->key_form;
	r = grid_init(&a->grid, m->rank, m->shape, m->chunk, a->dtype.size);
	if (r == 0)
		r = make_fill(a, m);
	if (r == 0)
		r = open_chain(a, m);
	if (r == 0)
		r = gate_new(turns(a), &a->turns);
	return r < 0 ? r : find_space(a, m);
}

int
array_open(struct data *d, struct zmap *z, const char *key, const struct array_meta *m,
	uint32_t width, struct array **ret)
{
	struct array *a = calloc(1, sizeof *a);
	if (!a)
		return err_set(-ENOMEM, "no memory");
	a->refs = 1;
	pthread_mutex_init(&a->lock, NULL);
	a->data = d;
	a->zmap = z;
	a->remote = z->caps & ZMAP_REMOTE;
	int r = init(a, key, m, width);
	if (r < 0) {
		array_unref(a);
		return r;
	}
	*ret = a;
	return 0;
}

void
array_set_hooks(struct array *a, const struct array_hooks *h)
{
	a->hooks = *h;
}

struct array *
array_ref(struct array *a)
{
	atomic_fetch_add(&a->refs, 1);
	return a;
}

struct array *
array_unref(struct array *a)
{
	if (!a || atomic_fetch_sub(&a->refs, 1) > 1)
		return NULL;
	if (a->hooks.release)
		a->hooks.release(a->hooks.arg);
	codec_chain_free(a->chain);
	gate_free(a->turns);
	dtype_free(&a->dtype);
	free(a->fill);
	free(a->fill_error);
	free(a->key);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}

uint64_t
array_bytes(const struct array *a)
{
	return a->grid.bytes;
}

const struct dtype *
array_dtype(const struct array *a)
{
	return &a->dtype;
}

int
array_chunk_key(const struct array *a, uint64_t chunk, char ret[static ARRAY_KEY_MAX])
{
	uint64_t index[RANK_MAX];
	grid_index(&a->grid, chunk, index);
	int n = snprintf(ret, ARRAY_KEY_MAX, "%s", a->key);
	for (unsigned d = 0; d < a->grid.rank && n < ARRAY_KEY_MAX; d++) {
		if (d)
			ret[n++] = a->separator;
		n += snprintf(ret + n, (size_t)(ARRAY_KEY_MAX - n), "%" PRIu64, index[d]);
	}
	return n < ARRAY_KEY_MAX ? 0 : err_set(-ENAMETOOLONG, "key is too long");
}

void
array_fill(const struct array *a, uint8_t *to, uint64_t bytes)
{
	size_t item = a->grid.item;
	if (a->fill_zero) {
		memset(to, 0, bytes);
		return;
	}
	memcpy(to, a->fill, min_u64(item, bytes));
	for (uint64_t done = item; done < bytes; done *= 2) /* doubling what is there */
		memcpy(to + done, to, min_u64(done, bytes - done));
}
