/* zfpy (numcodecs): a zfp stream with its header, which says the type, the axes (fastest first) and the mode.
 *
 * libzfp never looks where its input ends. So it reads a copy with room behind it for all that it could read
 * by the parameters of the header, and what it did read is compared with what there was. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "codecs/number.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zfp.h>

enum {
	SCRATCH = 2,
	SCRATCH_AGAIN = 3, /* which of the thread's */
	WORD = 8,          /* bytes of a stream's word as Debian and zfpy build libzfp */
	HEADER_ROOM = 64,  /* bytes: the header and the words around it */
	WORDS_AHEAD = 64,  /* bytes that the bit stream may read ahead */
	AXES = 4,
};

struct zfpy {
	zfp_type type;
	zfp_mode mode; /* of encoding; decoding takes what the header says */
	double tolerance, rate;
	unsigned precision;
	bool big;
	uint32_t size;
};

/* What libzfp needs at once; coder_close frees what there is of it. */
struct coder {
	bitstream *bits;
	zfp_stream *stream;
	zfp_field *field;
};

static void
coder_close(struct coder *c)
{
	if (c->field)
		zfp_field_free(c->field);
	if (c->stream)
		zfp_stream_close(c->stream);
	if (c->bits)
		stream_close(c->bits);
	*c = (struct coder){0};
}

static int
coder_open(struct coder *c, void *data, size_t len)
{
	*c = (struct coder){.bits = stream_open(data, len), .field = zfp_field_alloc()};
	c->stream = c->bits ? zfp_stream_open(c->bits) : NULL;
	if (c->bits && c->stream && c->field) {
		zfp_stream_rewind(c->stream);
		return 0;
	}
	return err_set(-ENOMEM, "out of memory");
}

static zfp_type
type_of(const struct dtype *d)
{
	if (!d || (d->size != 4 && d->size != 8))
		return zfp_type_none;
	if (d->kind == DTYPE_FLOAT)
		return d->size == 4 ? zfp_type_float : zfp_type_double;
	if (d->kind == DTYPE_INT)
		return d->size == 4 ? zfp_type_int32 : zfp_type_int64;
	return zfp_type_none;
}

/* A number of the config; negative where it is not said. */
static double
option(const struct json *config, const char *key)
{
	double v;
	const struct json *j = config ? json_get(config, key) : NULL;
	return j && json_double(j, &v) == 0 ? v : -1;
}

/* Bytes that no sensible stream exceeds: its blocks of 4 elements an axis, twice the size of the largest type each. */
static size_t
most_bytes(unsigned rank, const uint64_t *shape, uint64_t count)
{
	uint64_t bytes = 2 * sizeof(double);
	if (rank < 1 || rank > AXES) {
		rank = 1;
		shape = &count;
	}
	for (unsigned i = 0; i < rank; i++)
		if (mul_over(bytes, ceil_div(shape[i], 4) * 4, &bytes))
			return SIZE_MAX / 2;
	return min_u64(bytes, SIZE_MAX / 4) + codec_worst(0);
}

static int
zfpy_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	zfp_type type = type_of(in->dtype);
	if (type == zfp_type_none)
		return err_set(
			-EINVAL, "only integers and floats of 4 or 8 bytes can be compressed");
	struct zfpy *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->type = type;
	z->big = in->dtype->big;
	z->size = in->dtype->size;
	z->mode = (zfp_mode)codec_level(
		config, "mode", zfp_mode_fixed_accuracy, zfp_mode_fixed_rate, zfp_mode_reversible);
	z->tolerance = option(config, "tolerance");
	z->rate = option(config, "rate");
	z->precision = (unsigned)codec_level(config, "precision", 0, 0, ZFP_MAX_PREC);
	out->bytes = most_bytes(in->rank, in->shape, in->count);
	*ret = z;
	return 0;
}

/* Reads the header; on success c->field says type and axes. */
static int
read_header(struct coder *c)
{
	if (!zfp_read_header(c->stream, c->field, ZFP_HEADER_FULL))
		return err_set(-EIO, "zfp data have no valid header");
	return 0;
}

/* Is the header that of the chunk? ret: bytes that decoding reads at the most. */
static int
check_header(const struct zfpy *z, const struct form *form, const struct coder *c, size_t *ret)
{
	const zfp_field *f = c->field;
	const uint64_t n[AXES] = {f->nx, f->ny ? f->ny : 1, f->nz ? f->nz : 1, f->nw ? f->nw : 1};
	uint64_t count = 1;
	for (unsigned i = 0; i < AXES; i++)
		if (mul_over(count, n[i], &count))
			count = UINT64_MAX;
	if (f->type != z->type || count != form->count)
		return err_set(-EIO, "zfp data are of another type or size than the chunk");
	*ret = zfp_stream_maximum_size(c->stream, f);
	if (!*ret || *ret > most_bytes(zfp_field_dimensionality(f), n, count))
		return err_set(-EIO, "zfp header asks for too many bits");
	return 0;
}

/* How much decoding may read, from a header that lies in zeroed memory. */
static int
measure(const struct zfpy *z, const struct form *form, struct span in, size_t *ret)
{
	uint64_t head[HEADER_ROOM / sizeof(uint64_t)] = {0};
	memcpy(head, in.data, min_u64(in.len, sizeof head));
	CLEAN(coder_close) struct coder c = {0};
	int r = coder_open(&c, head, sizeof head);
	if (r >= 0)
		r = read_header(&c);
	return r < 0 ? r : check_header(z, form, &c, ret);
}

/* Decodes in, with `filler` behind it, into out. */
static int
decompress(const struct zfpy *z, const struct form *form, struct span in, uint8_t filler, void *out)
{
	size_t most = 0;
	int r = measure(z, form, in, &most);
	if (r < 0)
		return r;
	most = max_u64(most, in.len) + WORDS_AHEAD;
	uint8_t *copy = codec_scratch(SCRATCH, most);
	if (!copy)
		return err_set(-ENOMEM, "no memory for %zu bytes", most);
	memcpy(copy, in.data, in.len);
	memset(copy + in.len, filler, WORDS_AHEAD);
	CLEAN(coder_close) struct coder c = {0};
	r = coder_open(&c, copy, most);
	if (r >= 0)
		r = read_header(&c);
	if (r < 0)
		return r;
	zfp_field_set_pointer(c.field, out);
	size_t used = zfp_decompress(c.stream, c.field);
	if (!used || used > round_up(in.len, WORD))
		return err_set(-EIO, "zfp data are truncated or damaged (%zu bytes)", in.len);
	return 0;
}

/* libzfp counts in words. Where data end within one, all is there only if what follows does not matter. */
static int
check_end(const struct zfpy *z, const struct form *form, struct span in, const void *got)
{
	if (in.len % WORD == 0)
		return 0;
	size_t bytes = form->count * z->size;
	void *again = codec_scratch(SCRATCH_AGAIN, bytes);
	if (!again)
		return err_set(-ENOMEM, "no memory for %zu bytes", bytes);
	int r = decompress(z, form, in, UINT8_MAX, again);
	if (r >= 0 && memcmp(got, again, bytes) != 0)
		r = err_set(-EIO, "zfp data are truncated (%zu bytes)", in.len);
	return r;
}

static int
zfpy_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct zfpy *z = state;
	size_t bytes = form->count * z->size;
	if (!in.len || !bytes)
		return err_set(-EIO, "zfp data are empty");
	if (bytes > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", bytes, out->cap);
	int r = decompress(z, form, in, 0, out->data);
	if (r >= 0)
		r = check_end(z, form, in, out->data);
	if (r < 0)
		return r;
	if (z->big != NUMBER_HOST_BIG)
		dtype_swap(form->dtype, out->data, form->count);
	out->len = bytes;
	return 0;
}

/* Options that are not said, or -1, mean lossless, as zfpy has it. */
static void
set_mode(const struct zfpy *z, unsigned rank, zfp_stream *s)
{
	if (z->mode == zfp_mode_fixed_accuracy && z->tolerance >= 0)
		zfp_stream_set_accuracy(s, z->tolerance);
	else if (z->mode == zfp_mode_fixed_rate && z->rate >= 0)
		zfp_stream_set_rate(s, z->rate, z->type, rank, zfp_false);
	else if (z->mode == zfp_mode_fixed_precision && z->precision)
		zfp_stream_set_precision(s, z->precision);
	else
		zfp_stream_set_reversible(s);
}

static int
compress(const struct zfpy *z, const struct form *form, void *data, struct buf *out)
{
	size_t n[AXES] = {0};
	for (unsigned i = 0; i < form->rank; i++)
		n[i] = form->shape[form->rank - 1 - i];
	CLEAN(coder_close) struct coder c = {0};
	int r = coder_open(&c, NULL, 0);
	if (r < 0)
		return r;
	zfp_field_set_type(c.field, z->type);
	zfp_field_set_pointer(c.field, data);
	zfp_field_set_size_4d(c.field, n[0], n[1], n[2], n[3]);
	set_mode(z, form->rank, c.stream);
	size_t most = zfp_stream_maximum_size(c.stream, c.field);
	r = buf_reserve(out, most);
	if (r < 0)
		return r;
	stream_close(c.bits);
	c.bits = stream_open(out->data, out->cap);
	zfp_stream_set_bit_stream(c.stream, c.bits);
	zfp_stream_rewind(c.stream);
	bool done = c.bits && zfp_write_header(c.stream, c.field, ZFP_HEADER_FULL);
	out->len = done ? zfp_compress(c.stream, c.field) : 0;
	return out->len ? 0 : err_set(-EIO, "cannot compress %" PRIu64 " elements", form->count);
}

static int
zfpy_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct zfpy *z = state;
	if (form->rank < 1 || form->rank > AXES || !form->count || in.len != form->count * z->size)
		return err_set(-EINVAL, "%u axes, %zu bytes: not compressible", form->rank, in.len);
	CLEAN(buf_free) struct buf native = {0};
	int r = buf_add(&native, in.data, in.len);
	if (r < 0)
		return r;
	if (z->big != NUMBER_HOST_BIG)
		dtype_swap(form->dtype, native.data, form->count);
	return compress(z, form, native.data, out);
}

const struct codec_ops codec_zfpy = {
	.ids = (const char *const[]){"zfpy", "numcodecs.zfpy", NULL},
	.kind = CODEC_PACK,
	.open = zfpy_open,
	.close = free,
	.decode = zfpy_decode,
	.encode = zfpy_encode,
};
