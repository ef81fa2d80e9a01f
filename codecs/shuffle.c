/* shuffle: all first bytes of the elements, then all second bytes, and so on (numcodecs; HDF5
 * filter 2).
 *
 * "elementsize" 0 means the size that the elements have in memory: netCDF-C writes 0 and means
 * that, so for its strings the size of a pointer. None means 4 to numcodecs. Bytes behind the last
 * whole element stay behind, as HDF5 has it; numcodecs neither writes nor reads such chunks, so
 * none is encoded. */
#include "codec/codec.h"

#include "base/err.h"
#include "codecs/planes.h"

#include <errno.h>
#include <string.h>

struct shuffle {
	size_t size; /* bytes of an element */
};

enum {
	SIZE_LIMIT = 1 << 30, /* far above any element */
	SIZE_DEFAULT = 4,
	NC_STRING_SIZE = 8, /* sizeof(char *) where it was written */
};

static size_t
size_in_memory(const struct dtype *d)
{
	return d->kind == DTYPE_BYTES && !d->is_char ? NC_STRING_SIZE : d->size;
}

static int
shuffle_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	int64_t size;
	int r = codec_number(config, "elementsize", SIZE_DEFAULT, 0, SIZE_LIMIT, &size);
	if (r < 0)
		return r;
	const struct dtype *d = in->dtype || !in->origin ? in->dtype : in->origin->dtype;
	if (size == 0 && !d)
		return err_set(-ENOTSUP, "'elementsize' 0, and what is shuffled is not an array");
	if (size == 0)
		size = (int64_t)size_in_memory(d);
	struct shuffle *s = malloc(sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	s->size = size ? (size_t)size : 1;
	out->bytes = in->bytes;
	out->exact = in->exact;
	*ret = s;
	return 0;
}

typedef void mover(const uint8_t *in, size_t size, size_t n, uint8_t *out);

/* Both directions, but for `move`. */
static int
run(const struct shuffle *s, struct span in, struct buf *out, mover *move)
{
	if (in.len > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", in.len, out->cap);
	size_t n = in.len / s->size, whole = n * s->size;
	if (s->size == 1)
		whole = 0;
	if (whole)
		move(in.data, s->size, n, out->data);
	if (in.len > whole)
		memcpy(out->data + whole, in.data + whole, in.len - whole);
	out->len = in.len;
	return 0;
}

static int
shuffle_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return run(state, in, out, planes_join);
}

static int
shuffle_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct shuffle *s = state;
	if (in.len % s->size)
		return err_set(-ERANGE,
			"%zu bytes are no whole elements of %zu: numcodecs reads no such chunk",
			in.len, s->size);
	int r = buf_reserve(out, in.len);
	return r < 0 ? r : run(s, in, out, planes_split);
}

const struct codec_ops codec_shuffle = {
	.ids = (const char *const[]){"shuffle", "numcodecs.shuffle", NULL},
	.kind = CODEC_BYTES,
	.open = shuffle_open,
	.close = free,
	.decode = shuffle_decode,
	.encode = shuffle_encode,
};
