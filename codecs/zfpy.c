/* zfpy (numcodecs): a zfp stream with its header, which says the type, the axes (fastest first) and
 * the mode. zfp (zarr-extensions): the same without a header; its "mode" is a text, and all is said
 * by the metadata. Integers of one or two bytes are stored in it as 32 bits.
 *
 * libzfp never looks where its input ends. So it reads a copy with room behind it for all that it
 * could read by the parameters of the header, and what it did read is compared with what there
 * was. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "codecs/libzfp.h"
#include "codecs/number.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	SCRATCH = 2,
	SCRATCH_AGAIN = 3,
	SCRATCH_SMALL = 4, /* which of the thread's */
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
	unsigned minbits, maxbits, maxprec; /* of mode "expert" */
	int minexp;
	bool bare; /* no header */
	bool big;
	uint32_t size; /* of an element as the array has it */
	unsigned up;   /* bits by which small integers are moved up to be stored; 0: they are not
			  small */
	bool is_signed;
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
	*c = (struct coder){0};
	if (libzfp_load() < 0)
		return -EIO;
	*c = (struct coder){.bits = stream_open(data, len), .field = zfp_field_alloc()};
	c->stream = c->bits ? zfp_stream_open(c->bits) : NULL;
	if (c->bits && c->stream && c->field) {
		zfp_stream_rewind(c->stream);
		return 0;
	}
	return err_set(-ENOMEM, "out of memory");
}

static zfp_type
type_of(const struct dtype *d, bool bare)
{
	bool number = d && (d->kind == DTYPE_INT || d->kind == DTYPE_UINT);
	if (bare && number && d->size < 4)
		return zfp_type_int32;
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

/* Bytes that no sensible stream exceeds: its blocks of 4 elements an axis, twice the size of the
 * largest type each. */
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

/* Mode "expert": all four of its numbers. */
static int
read_expert(const struct json *config, struct zfpy *z)
{
	static const char *const keys[] = {"minbits", "maxbits", "maxprec", "minexp"};
	int64_t v[4] = {0};
	for (unsigned i = 0; i < 4; i++) {
		if (!json_get(config, keys[i]))
			return err_set(-EINVAL, "no '%s'", keys[i]);
		int r = codec_number(
			config, keys[i], 0, i < 3 ? 0 : INT16_MIN, INT16_MAX * 2, &v[i]);
		if (r < 0)
			return r;
	}
	z->minbits = (unsigned)v[0];
	z->maxbits = (unsigned)v[1];
	z->maxprec = (unsigned)v[2];
	z->minexp = (int)v[3];
	return 0;
}

/* What a stream without a header is decoded by must be said. */
static int
read_mode(const struct json *config, struct zfpy *z)
{
	const struct json *mode = json_get(config, "mode");
	if (json_is(mode, "reversible"))
		z->mode = zfp_mode_reversible;
	else if (json_is(mode, "expert"))
		z->mode = zfp_mode_expert;
	else if (json_is(mode, "fixed_accuracy") || json_is(mode, "fixedaccuracy"))
		z->mode = zfp_mode_fixed_accuracy;
	else if (json_is(mode, "fixed_rate") || json_is(mode, "fixedrate"))
		z->mode = zfp_mode_fixed_rate;
	else if (json_is(mode, "fixed_precision") || json_is(mode, "fixedprecision"))
		z->mode = zfp_mode_fixed_precision;
	else
		return err_set(-ENOTSUP, "'mode' is not known");
	if (z->mode == zfp_mode_expert)
		return read_expert(config, z);
	bool said = z->mode == zfp_mode_fixed_accuracy    ? z->tolerance >= 0
		    : z->mode == zfp_mode_fixed_rate      ? z->rate > 0
		    : z->mode == zfp_mode_fixed_precision ? z->precision > 0
							  : true;
	return said ? 0 : err_set(-EINVAL, "the number that 'mode' needs is missing");
}

static int
zfpy_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	const struct json *mode = config ? json_get(config, "mode") : NULL;
	bool bare = mode && json_type(mode) == JSON_TYPE_TEXT;
	zfp_type type = type_of(in->dtype, bare);
	if (type == zfp_type_none)
		return err_set(bare ? -ENOTSUP : -EINVAL,
			"only signed integers and floats of 4 or 8 bytes can be compressed");
	if (bare && in->rank > AXES)
		return err_set(-ENOTSUP, "%u dimensions, at most %d are supported", in->rank, AXES);
	CLEAN(clean_free) struct zfpy *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->type = type;
	z->bare = bare;
	z->big = in->dtype->big;
	z->size = in->dtype->size;
	z->up = z->size < 4 ? 31 - 8 * z->size : 0;
	z->is_signed = in->dtype->kind == DTYPE_INT;
	z->tolerance = option(config, "tolerance");
	z->rate = option(config, "rate");
	z->precision = (unsigned)codec_level(config, "precision", 0, 0, ZFP_MAX_PREC);
	if (!bare)
		z->mode = (zfp_mode)codec_level(config, "mode", zfp_mode_fixed_accuracy,
			zfp_mode_fixed_rate, zfp_mode_reversible);
	int r = bare ? read_mode(config, z) : 0;
	if (r < 0)
		return r;
	out->bytes = most_bytes(in->rank, in->shape, in->count);
	*ret = MOVE(z);
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
	else if (z->mode == zfp_mode_expert)
		zfp_stream_set_params(s, z->minbits, z->maxbits, z->maxprec, z->minexp);
	else
		zfp_stream_set_reversible(s);
}

/* The field and the mode as metadata say them. */
static int
set_up(const struct zfpy *z, const struct form *form, struct coder *c)
{
	unsigned rank = form->rank ? form->rank : 1;
	size_t n[AXES] = {form->count};
	for (unsigned i = 0; i < form->rank; i++)
		n[i] = form->shape[form->rank - 1 - i];
	zfp_field_set_type(c->field, z->type);
	zfp_field_set_size_4d(c->field, n[0], n[1], n[2], n[3]);
	set_mode(z, rank, c->stream);
	if (z->mode == zfp_mode_expert && z->minbits > z->maxbits)
		return err_set(-EIO, "zfp's 'minbits' are more than its 'maxbits'");
	return 0;
}

/* Reads the header, where there is one; on success c->field says type and axes. */
static int
read_header(const struct zfpy *z, const struct form *form, struct coder *c)
{
	if (z->bare)
		return set_up(z, form, c);
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
		r = read_header(z, form, &c);
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
		r = read_header(z, form, &c);
	if (r < 0)
		return r;
	zfp_field_set_pointer(c.field, out);
	size_t used = zfp_decompress(c.stream, c.field);
	if (!used || used > round_up(in.len, WORD))
		return err_set(-EIO, "zfp data are truncated or damaged (%zu bytes)", in.len);
	return 0;
}

/* libzfp counts in words. Where data end within one, all is there only if what follows does not
 * matter. */
static int
check_end(const struct zfpy *z, const struct form *form, struct span in, const void *got)
{
	if (in.len % WORD == 0)
		return 0;
	size_t bytes = form->count * (z->up ? sizeof(int32_t) : z->size);
	void *again = codec_scratch(SCRATCH_AGAIN, bytes);
	if (!again)
		return err_set(-ENOMEM, "no memory for %zu bytes", bytes);
	int r = decompress(z, form, in, UINT8_MAX, again);
	if (r >= 0 && memcmp(got, again, bytes) != 0)
		r = err_set(-EIO, "zfp data are truncated (%zu bytes)", in.len);
	return r;
}

/* zfp_demote_*: in the machine's byte order; what lies beyond the type is its nearest. */
static void
demote(const struct zfpy *z, const int32_t *in, uint64_t n, uint8_t *out)
{
	int32_t half = 1 << (8 * z->size - 1);
	for (uint64_t i = 0; i < n; i++) {
		int32_t v = in[i] >> z->up;
		v = v < -half ? -half : v >= half ? half - 1 : v;
		v += z->is_signed ? 0 : half;
		uint8_t byte = (uint8_t)v;
		uint16_t two = (uint16_t)v;
		memcpy(out + i * z->size, z->size == 1 ? (void *)&byte : (void *)&two, z->size);
	}
}

static void
promote(const struct zfpy *z, const uint8_t *in, uint64_t n, int32_t *out)
{
	int32_t half = 1 << (8 * z->size - 1);
	for (uint64_t i = 0; i < n; i++) {
		uint16_t two = in[i];
		if (z->size == 2)
			memcpy(&two, in + 2 * i, 2);
		int32_t v = !z->is_signed  ? (int32_t)two - half
			    : z->size == 1 ? (int8_t)two
					   : (int16_t)two;
		out[i] = v * (1 << z->up);
	}
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
	void *to = z->up ? codec_scratch(SCRATCH_SMALL, form->count * sizeof(int32_t)) : out->data;
	if (!to)
		return err_set(-ENOMEM, "no memory for %zu bytes", bytes);
	int r = decompress(z, form, in, 0, to);
	if (r >= 0)
		r = check_end(z, form, in, to);
	if (r < 0)
		return r;
	if (z->up)
		demote(z, to, form->count, out->data);
	if (z->big != NUMBER_HOST_BIG)
		dtype_swap(form->dtype, out->data, form->count);
	out->len = bytes;
	return 0;
}

static int
compress(const struct zfpy *z, const struct form *form, void *data, struct buf *out)
{
	CLEAN(coder_close) struct coder c = {0};
	int r = coder_open(&c, NULL, 0);
	if (r == 0)
		r = set_up(z, form, &c);
	if (r < 0)
		return r;
	zfp_field_set_pointer(c.field, data);
	size_t most = zfp_stream_maximum_size(c.stream, c.field);
	r = buf_reserve(out, most);
	if (r < 0)
		return r;
	stream_close(c.bits);
	c.bits = stream_open(out->data, out->cap);
	zfp_stream_set_bit_stream(c.stream, c.bits);
	zfp_stream_rewind(c.stream);
	bool done = c.bits && (z->bare || zfp_write_header(c.stream, c.field, ZFP_HEADER_FULL));
	out->len = done ? zfp_compress(c.stream, c.field) : 0;
	return out->len ? 0 : err_set(-EIO, "cannot compress %" PRIu64 " elements", form->count);
}

static int
zfpy_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct zfpy *z = state;
	if ((form->rank < 1 && !z->bare) || form->rank > AXES || !form->count ||
		in.len != form->count * z->size)
		return err_set(-EINVAL, "%u axes, %zu bytes: not compressible", form->rank, in.len);
	CLEAN(buf_free) struct buf native = {0};
	int r = buf_add(&native, in.data, in.len);
	if (r < 0)
		return r;
	if (z->big != NUMBER_HOST_BIG)
		dtype_swap(form->dtype, native.data, form->count);
	if (!z->up)
		return compress(z, form, native.data, out);
	int32_t *wide = codec_scratch(SCRATCH_SMALL, form->count * sizeof *wide);
	if (!wide)
		return err_set(-ENOMEM, "no memory for %" PRIu64 " elements", form->count);
	promote(z, native.data, form->count, wide);
	return compress(z, form, wide, out);
}

static bool
zfpy_lossy(const void *state)
{
	const struct zfpy *z = state;
	return z->mode != zfp_mode_reversible;
}

static int
zfpy_load(const void *state)
{
	(void)state;
	return libzfp_load();
}

const struct codec_ops codec_zfpy = {
	.ids = (const char *const[]){"zfpy", "numcodecs.zfpy", "zfp", NULL},
	.kind = CODEC_PACK,
	.open = zfpy_open,
	.close = free,
	.decode = zfpy_decode,
	.encode = zfpy_encode,
	.load = zfpy_load,
	.lossy = zfpy_lossy,
};
