#include "view/image/image_new.h"

#include "base/check.h"
#include "view/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const uint64_t CHUNK = 4 << 20; /* bytes */
static const uint64_t LEAST =
	256 << 10; /* bytes of a variable that may be begun, however many share its records */
static const uint64_t RECORDS =
	512; /* of a dimension that grows, whatever it has now: chunks are for what it will have */

void
image_new_free(struct image_new *n)
{
	if (!n)
		return;
	free(n->name);
	free(n->shape);
	free(n->chunk);
	free(n->shard);
	free(n->dim);
	free(n->unlimited);
	free(n->attrs.attr);
	free(n);
}

static uint64_t
pieces(uint64_t size, double n)
{
	uint64_t k = n > 1 ? (uint64_t)ceil(n) : 1;
	return k < size ? k : size;
}

/* The first dimension, which mostly is time, is cut into as many pieces as all others together: a
 * map then takes as many chunks as a series. */
void
image_new_chunk(uint64_t item, unsigned rank, const uint64_t *shape, uint64_t most, uint64_t *ret)
{
	double all = (double)item;
	for (unsigned i = 0; i < rank; i++) {
		ret[i] = shape[i] ? shape[i] : 1;
		all *= (double)ret[i];
	}
	double n = all / (double)most;
	for (unsigned i = 0; i < rank && n > 1; i++) {
		double share = rank == 1 ? n : i == 0 ? sqrt(n) : pow(n, 1.0 / (rank - i));
		uint64_t k = pieces(ret[i], share);
		ret[i] = ceil_div(ret[i], k);
		n /= (double)k;
	}
}

static double
product(uint64_t item, unsigned rank, const uint64_t *size)
{
	double all = (double)item;
	for (unsigned i = 0; i < rank; i++)
		all *= (double)size[i];
	return all;
}

/* In file order all chunks of a slab are begun before the first one is whole: those that do not fit
 * into memory would be read and stored again for each row. */
void
image_new_slab(uint64_t item, unsigned rank, const uint64_t *shape, uint64_t most, uint64_t slab,
	uint64_t *ret)
{
	image_new_chunk(item, rank, shape, most, ret);
	for (unsigned i = 0; i < rank; i++) {
		const double inner = product(item, rank - i - 1, shape + i + 1);
		if ((double)ret[i] * inner <= (double)slab)
			return;
		const uint64_t rows = inner < (double)slab ? (uint64_t)((double)slab / inner) : 1;
		if (rows < ret[i]) {
			const uint64_t all = shape[i] ? shape[i] : 1;
			ret[i] = ceil_div(all, ceil_div(all, rows));
			image_new_chunk(
				item * ret[i], rank - i - 1, shape + i + 1, most, ret + i + 1);
		}
		if (inner < (double)slab)
			return;
		item *= ret[i];
	}
}

void
image_new_shard(uint64_t item, unsigned rank, const uint64_t *shape, const uint64_t *chunk,
	uint64_t most, uint64_t slab, uint64_t *ret)
{
	uint64_t grid[DTYPE_RANK_MAX] = {0}, of_chunk = item;
	for (unsigned i = 0; i < rank; i++) {
		grid[i] = ceil_div(shape[i], chunk[i]);
		of_chunk *= chunk[i];
	}
	image_new_slab(of_chunk, rank, grid, most, slab, ret);
	/* Few chunks along a dimension are cut into unequal pieces, of which that is the
	 * largest. */
	for (unsigned widest = 0; rank && product(of_chunk, rank, ret) > (double)most;) {
		for (unsigned i = 0; i < rank; i++)
			widest = ret[i] > ret[widest] ? i : widest;
		if (ret[widest] == 1)
			break;
		ret[widest]--;
	}
	for (unsigned i = 0; i < rank; i++)
		ret[i] *= chunk[i];
}

static int
dtype_of(enum nc_type t, struct dtype *ret)
{
	static const struct dtype table[] = {
		[NC_TYPE_BYTE] = {.kind = DTYPE_INT, .size = 1},
		[NC_TYPE_CHAR] = {.kind = DTYPE_BYTES, .size = 1, .is_char = true},
		[NC_TYPE_SHORT] = {.kind = DTYPE_INT, .size = 2},
		[NC_TYPE_INT] = {.kind = DTYPE_INT, .size = 4},
		[NC_TYPE_FLOAT] = {.kind = DTYPE_FLOAT, .size = 4},
		[NC_TYPE_DOUBLE] = {.kind = DTYPE_FLOAT, .size = 8},
		[NC_TYPE_UBYTE] = {.kind = DTYPE_UINT, .size = 1},
		[NC_TYPE_USHORT] = {.kind = DTYPE_UINT, .size = 2},
		[NC_TYPE_UINT] = {.kind = DTYPE_UINT, .size = 4},
		[NC_TYPE_INT64] = {.kind = DTYPE_INT, .size = 8},
		[NC_TYPE_UINT64] = {.kind = DTYPE_UINT, .size = 8},
	};
	if (t < NC_TYPE_BYTE || t > NC_TYPE_UINT64)
		return err_set(-EINVAL, "a type that has no elements");
	*ret = table[t];
	return 0;
}

/* The value that stands for missing ones, as little-endian as the elements. */
static void
take_fill(struct image_new *n, const struct nc_var *v)
{
	const struct attr *a = attrs_find(&v->attrs, "_FillValue");
	const size_t size = nc_type_size(v->type);
	const bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	if (!a || a->type != v->type || a->count != 1)
		return;
	for (size_t i = 0; i < size; i++)
		n->fill[i] = ((const uint8_t *)a->data)[host_big ? size - 1 - i : i];
	n->is.fill = n->fill;
}

/* All of the file's; in pure Zarr V2 the fill value says `_FillValue`. */
static int
take_attrs(struct image_new *n, const struct nc_var *v, const struct node *group)
{
	const bool said = !group->nczarr && !group->group->v3 && n->is.fill;
	n->attrs.attr = calloc(v->attrs.count + 1, sizeof *n->attrs.attr);
	if (!n->attrs.attr)
		return err_set(-ENOMEM, "no memory for attributes");
	for (size_t i = 0; i < v->attrs.count; i++) {
		const struct attr *a = &v->attrs.attr[i];
		if (!said || strcmp(a->name, "_FillValue") != 0)
			n->attrs.attr[n->attrs.count++] = *a;
	}
	n->is.attrs = &n->attrs;
	return 0;
}

/* In order of encoding, for elements of so many bytes. */
static const char *
codecs_of(enum new_codec c, size_t size)
{
	static const char *const blosc[] = {
		[NEW_LZ4] = "[{\"id\": \"blosc\", \"cname\": \"lz4\", \"clevel\": 5, "
			    "\"shuffle\": 1, \"blocksize\": 0}]",
		[NEW_ZSTD] = "[{\"id\": \"blosc\", \"cname\": \"zstd\", \"clevel\": 5, "
			     "\"shuffle\": 1, \"blocksize\": 0}]",
	};
	static const char *const zlib[] = {
		[1] = "[{\"id\": \"zlib\", \"level\": 4}]",
		[2] = "[{\"id\": \"shuffle\", \"elementsize\": 2}, {\"id\": \"zlib\", \"level\": "
		      "4}]",
		[4] = "[{\"id\": \"shuffle\", \"elementsize\": 4}, {\"id\": \"zlib\", \"level\": "
		      "4}]",
		[8] = "[{\"id\": \"shuffle\", \"elementsize\": 8}, {\"id\": \"zlib\", \"level\": "
		      "4}]",
	};
	return c == NEW_NONE ? NULL : c == NEW_ZLIB ? zlib[size] : blosc[c];
}

/* How it is cut up, by its length then if it grows. */
static void
cut_up(const struct mount *m, struct image_new *n, const struct nc_var *v, double share)
{
	const uint64_t most = m->options.chunk ? m->options.chunk : CHUNK;
	const uint64_t now = v->rank ? n->shape[0] : 0;
	const uint32_t item = n->is.dtype.size;
	if (v->rank && n->unlimited[0])
		n->shape[0] = max_u64(now, RECORDS);
	const double begun = share * (double)data_most_begun(m->data);
	const uint64_t slab = max_u64((uint64_t)begun, LEAST);
	image_new_slab(item, v->rank, n->shape, most, slab, n->chunk);
	if (v->rank && m->options.shard > most) {
		image_new_shard(
			item, v->rank, n->shape, n->chunk, m->options.shard, slab, n->shard);
		n->is.shard = n->shard;
	}
	if (v->rank)
		n->shape[0] = now;
	n->is.shape = n->shape;
	n->is.chunk = n->chunk;
}

static int
make(const struct mount *m, struct image_new *n, const struct nc_file *f, const struct nc_var *v,
	const struct node *group, bool flows)
{
	const bool shares = flows && nc_is_record(f, v) && f->record_size;
	n->name = strdup(v->name);
	n->shape = calloc(v->rank + 1, sizeof *n->shape);
	n->chunk = calloc(v->rank + 1, sizeof *n->chunk);
	n->shard = calloc(v->rank + 1, sizeof *n->shard);
	n->dim = calloc(v->rank + 1, sizeof *n->dim);
	n->unlimited = calloc(v->rank + 1, sizeof *n->unlimited);
	if (!n->name || !n->shape || !n->chunk || !n->shard || !n->dim || !n->unlimited)
		return err_set(-ENOMEM, "no memory for a variable");
	int r = dtype_of(v->type, &n->is.dtype);
	if (r < 0)
		return r;
	if (v->rank > DTYPE_RANK_MAX)
		return err_set(-EINVAL, "it has %u dimensions", v->rank);
	for (unsigned i = 0; i < v->rank; i++) {
		const struct nc_dim *d = &f->dim[v->dim[i]];
		n->shape[i] = d->size;
		n->dim[i] = d->name;
		n->unlimited[i] = v->dim[i] == f->record || d->unlimited;
	}
	n->is.rank = v->rank;
	cut_up(m, n, v, shares ? (double)v->bytes / (double)f->record_size : 1);
	n->is.dim = n->dim;
	n->is.unlimited = n->unlimited;
	n->is.codecs = codecs_of(m->options.codec, n->is.dtype.size);
	take_fill(n, v);
	return take_attrs(n, v, group);
}

int
image_new_make(const struct mount *m, const struct nc_file *f, size_t var, const struct node *group,
	bool flows, struct image_new **ret)
{
	struct image_new *n = calloc(1, sizeof *n);
	if (!n)
		return err_set(-ENOMEM, "no memory for a variable");
	int r = make(m, n, f, &f->var[var], group, flows);
	if (r < 0) {
		image_new_free(n);
		return err_add(r, "variable '%s'", f->var[var].name);
	}
	*ret = n;
	return 0;
}
