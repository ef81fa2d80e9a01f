#include "data/array_impl.h"
#include "data/new_array.h"

#include "base/check.h"
#include "base/mem.h"
#include "data/uneven.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Loads of one array that may be under way, and hang: TURNS_SLOW hide the latency of a slow store.
 * On a disk, few for a worker. */
enum { TURNS_MIN = 8, TURNS_EACH = 2 };

/* Up to which length of its only dimension a codec stores by that; 0: none does. */
static uint64_t
by_length(const struct array *a)
{
	return a->grid.rank == 1 ? codec_chain_by_extent(a->chain) : 0;
}

/* What the chunks mean: two arrays with the same name for this share cached chunks, all others do
 * not. An array that grows along its leading dimension keeps the numbers of its chunks, and what
 * they mean. Texts that are shown in another width lie where they did. */
static int
find_space(struct array *a, const struct array_meta *m)
{
	CLEAN(buf_free) struct buf name = {0};
	int64_t never;
	int r = buf_addf(&name, "%s %p %" PRIx64, a->key, (void *)a->zmap, m->layout);
	for (unsigned d = 0; d < a->grid.rank && r == 0; d++)
		r = buf_addf(
			&name, " %" PRIu64 "/%" PRIu64, d ? a->grid.shape[d] : 0, a->grid.chunk[d]);
	if (r == 0)
		r = spaces_get(a->data->spaces,
			&(struct space_name){(char *)name.data, name.len, 0}, &a->site_name,
			&never);
	/* some codecs decode by the length of a line, and what grows along its only dimension has
	 * another */
	const uint64_t by = by_length(a);
	if (r == 0)
		r = buf_addf(&name, " %u %" PRIu64, a->dtype.size,
			by ? min_u64(by + 1, a->grid.shape[0]) : 0);
	const struct space_name n = {(char *)name.data, name.len, a->grid.shape[0]};
	if (r == 0)
		r = spaces_get(a->data->spaces, &n, &a->space_name, &a->grown);
	if (r < 0)
		return r;
	a->site = space_number(a->site_name);
	a->space = space_number(a->space_name);
	return 0;
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
open_shard(struct array *a, const struct array_meta *m)
{
	struct form whole = a->form;
	whole.shape = m->shard;
	whole.codecs = codec_table;
	for (unsigned d = 0; d < a->grid.rank; d++) {
		a->in_shard[d] = m->shard[d] / m->chunk[d];
		whole.count *= a->in_shard[d];
		whole.bytes *= a->in_shard[d];
	}
	const size_t before = m->ncodecs - 1;
	return shard_open(m->codec[before].config, &whole, m->codec, before, &a->shard);
}

static int
open_chain(struct array *a, const struct array_meta *m)
{
	a->form = (struct form){
		.dtype = &a->dtype,
		.rank = m->rank,
		.shape = a->grid.chunk,
		.count = a->grid.chunk_bytes / a->grid.item,
		.bytes = a->grid.chunk_bytes,
		.exact = true,
		.extent = a->grid.shape,
		.fill = a->fill_error || a->fill_long || a->fill_nul ? NULL : a->fill,
		.measuring = a->form.measuring,
	};
	int r = m->shard ? open_shard(a, m)
			 : codec_chain_open(m->codec, m->ncodecs, &a->form, &a->own_chain);
	if (r < 0)
		return r;
	a->chain = a->shard ? shard_chain(a->shard) : a->own_chain;
	a->raw = !a->uneven && codec_chain_empty(a->chain);
	a->ranged = !a->uneven && codec_chain_ranged(a->chain);
	size_t grain = 0;
	if (a->ranged && !a->raw && codec_chain_grain(a->chain, NULL, &grain) == 0)
		atomic_store(&a->grain, grain);
	a->encoded_max = codec_chain_encoded(a->chain)->bytes;
	a->scratch = codec_chain_scratch(a->chain) + (a->uneven ? a->form.bytes : 0);
	return 0;
}

static size_t
turns(const struct array *a)
{
	return a->remote ? TURNS_SLOW : max_u64(TURNS_MIN, TURNS_EACH * a->data->workers);
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
	if (!(a->path = strdup(key)))
		return err_set(-ENOMEM, "no memory");
	if (m->chunks_of && !(a->chunks_of = strdup(m->chunks_of)))
		return err_set(-ENOMEM, "no memory");
	a->separator = m->separator;
	a->key_form = m->key_form;
	a->scalar = !m->rank;
	r = grid_init(&a->grid, m->rank, m->shape, m->chunk, a->dtype.size);
	if (r == 0)
		r = uneven_new(m, &a->uneven);
	if (r == 0)
		r = grid_set_edges(&a->grid, uneven_edges(a->uneven));
	if (r == 0)
		r = make_fill(a, m);
	if (r == 0)
		r = open_chain(a, m);
	if (r == 0)
		r = semaphore_new(turns(a), &a->turns);
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
	a->prompt = z->caps & ZMAP_PROMPT;
	a->exchanged = (z->caps & ZMAP_EXCHANGED) && d->options.ttl != INT64_MAX;
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
	spaces_put(a->data->spaces, a->space_name);
	spaces_put(a->data->spaces, a->site_name);
	codec_chain_free(a->own_chain);
	shard_free(a->shard);
	uneven_free(a->uneven);
	semaphore_free(a->turns);
	dtype_free(&a->dtype);
	new_array_free(a);
	free(a->fill);
	free(a->fill_error);
	free(a->key);
	free(a->chunks_of);
	free(a->path);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}

int
array_writable(const struct array *a)
{
	const char *codec = codec_chain_read_only(a->chain);
	if (a->chunks_of)
		return err_set(-EROFS, "its chunks are references");
	if (!(a->zmap->caps & ZMAP_WRITE))
		return err_set(-EROFS, "the store is read-only");
	if (a->uneven)
		return err_set(-EROFS, "a rectilinear chunk grid can only be read");
	if (codec)
		return err_set(-EROFS, "codec '%s' can only be read", codec);
	if (a->form.measuring)
		return err_set(-EROFS, "it is not known how long its elements are");
	return codec_chain_load(a->chain);
}

int
array_resizable(const struct array *a, uint64_t before, uint64_t rows, int code)
{
	const uint64_t by = by_length(a);
	if (!by || min_u64(before, by + 1) == min_u64(rows, by + 1))
		return 0;
	return err_set(code, "a codec stores by how long its only dimension is: it stays so");
}

int
array_lossy(const struct array *a, struct buf *ret)
{
	return codec_chain_lossy(a->chain, ret);
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

uint32_t
array_width(const struct array *a)
{
	const struct dtype *t = &a->dtype;
	return t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES ? t->size : 0;
}

/* The indices of the stored object that a chunk lies in. */
static void
object_index(const struct array *a, uint64_t chunk, uint64_t *ret)
{
	grid_index(&a->grid, chunk, ret);
	for (unsigned d = 0; a->shard && d < a->grid.rank; d++)
		ret[d] /= a->in_shard[d];
}

uint64_t
array_object(const struct array *a, uint64_t chunk)
{
	uint64_t index[RANK_MAX], number = 0;
	if (!a->shard)
		return chunk;
	object_index(a, chunk, index);
	for (unsigned d = 0; d < a->grid.rank; d++)
		number = number * ceil_div(a->grid.count[d], a->in_shard[d]) + index[d];
	return number;
}

uint64_t
array_chunk_in_shard(const struct array *a, uint64_t chunk)
{
	uint64_t index[RANK_MAX], number = 0;
	grid_index(&a->grid, chunk, index);
	for (unsigned d = 0; d < a->grid.rank; d++)
		number = number * a->in_shard[d] + index[d] % a->in_shard[d];
	return number;
}

int
array_chunk_key(const struct array *a, uint64_t chunk, char ret[static ARRAY_KEY_MAX])
{
	uint64_t index[RANK_MAX];
	object_index(a, chunk, index);
	bool c = a->key_form == 'c';
	unsigned rank = c && a->scalar ? 0 : a->grid.rank;
	int n = snprintf(ret, ARRAY_KEY_MAX, "%s%s", a->key, c ? "c" : "");
	for (unsigned d = 0; d < rank && n < ARRAY_KEY_MAX; d++) {
		if (d || c)
			ret[n++] = a->separator;
		n += snprintf(ret + n, (size_t)(ARRAY_KEY_MAX - n), "%" PRIu64, index[d]);
	}
	return n < ARRAY_KEY_MAX ? 0 : err_set(-ENAMETOOLONG, "key is too long");
}

const struct zmap_chunk *
array_chunk(const struct array *a, uint64_t chunk, uint64_t index[static RANK_MAX],
	struct zmap_chunk *ret)
{
	if (!a->chunks_of)
		return NULL;
	object_index(a, chunk, index);
	*ret = (struct zmap_chunk){a->path, a->chunks_of, a->scalar ? 0 : a->grid.rank, index};
	return ret;
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

/* What the kernel asks for at the least, and what it may cost: chunks, and their bytes. */
enum { PAGE = 4096, SPREAD_CHUNKS = 4, SPREAD_BYTES = 1 << 20 };

bool
array_is_spread(const struct array *a)
{
	const struct grid *g = &a->grid;
	struct box box;
	struct part part;
	uint64_t chunks = 1;
	if (!a->remote || !a->shard || g->bytes < PAGE)
		return false;
	grid_box(g, 0, max_u64(1, PAGE / g->item), &box);
	grid_first(g, &box, &part);
	while (grid_next(g, &box, &part))
		chunks++;
	return chunks >= SPREAD_CHUNKS && chunks * g->chunk_bytes >= SPREAD_BYTES;
}
