/* szip as HDF5 and NCZarr store it: decoded size (u32, little-endian), then one stream of extended
 * Rice code (CCSDS 121.0-B) over pixels that are the elements. Elements of four and eight bytes are
 * stored as planes of bytes, and each scanline is filled up to whole blocks.
 *
 * Metadata hold the mask and the pixels of a block only; the rest follows from the array: a
 * scanline is the length of the array's last dimension (netCDF-C takes the dimension's, HDF5 the
 * chunk's), within limits. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"
#include "base/lazy.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <libaec.h>
#include <string.h>

enum {
	HEADER = 4,
	MASK_NEAREST_NEIGHBOUR = 32,
	PIXELS_PER_BLOCK_MAX = 32,
	BLOCKS_PER_SCANLINE_MAX = 128,
	PIXELS_PER_SCANLINE_MAX = PIXELS_PER_BLOCK_MAX * BLOCKS_PER_SCANLINE_MAX,
	SCRATCH_LINES = 2,
	SLACK = 8, /* what a writer may have added to fill a word */
};

#define LIBAEC(F) F(aec_buffer_decode) F(aec_buffer_encode)
LAZY_LIBRARY(libaec, LIBAEC, SONAME_AEC)

/* pixel: bytes of one; planes: how many the elements are taken apart into (1: not at all). */
struct szip {
	uint64_t block, scanline;
	unsigned pixel, planes;
	bool big, nearest;
};

/* n: elements of a chunk; last: length of the fastest dimension. */
static uint64_t
scanline_of(uint64_t block, uint64_t n, uint64_t last)
{
	uint64_t most = block * BLOCKS_PER_SCANLINE_MAX;
	if (last < block)
		return min_u64(most, n);
	return last <= PIXELS_PER_SCANLINE_MAX ? min_u64(most, last) : most;
}

static int
szip_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	const struct form *array = in->origin ? in->origin : in;
	int64_t mask, block;
	int r = codec_number(config, "mask", MASK_NEAREST_NEIGHBOUR, 0, UINT16_MAX, &mask);
	if (r == 0)
		r = codec_number(config, "pixels-per-block", 0, 2, PIXELS_PER_BLOCK_MAX, &block);
	if (r < 0)
		return r;
	if (block % 2)
		return err_set(-EINVAL, "'pixels-per-block' is odd: %" PRId64, block);
	uint32_t size = array->dtype ? array->dtype->size : 0;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return err_set(
			-ENOTSUP, "szip does not work on elements of %" PRIu32 " bytes", size);
	if (!array->rank || array->count < (uint64_t)block)
		return err_set(-EINVAL, "a chunk of %" PRIu64 " elements is smaller than a block",
			array->count);
	struct szip *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->block = (uint64_t)block;
	z->nearest = mask & MASK_NEAREST_NEIGHBOUR;
	z->big = array->dtype->big;
	z->pixel = size > 2 ? 1 : size;
	z->planes = size > 2 ? size : 1;
	const uint64_t *shape = array->extent ? array->extent : array->shape;
	z->scanline = scanline_of(z->block, array->count, shape[array->rank - 1]);
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

/* How a chunk of n bytes is laid out as lines of pixels. */
struct lines {
	uint64_t count, line,
		padded; /* bytes of a line, without and with what fills its last block */
	size_t bytes;   /* of all padded lines */
};

static int
lay_lines(const struct szip *z, size_t n, struct lines *ret)
{
	ret->line = z->scanline * z->pixel;
	ret->padded = round_up(z->scanline, z->block) * z->pixel;
	ret->count = ceil_div(n, ret->line);
	uint64_t bytes;
	if (mul_over(ret->count, ret->padded, &bytes) || bytes > SIZE_MAX / 2)
		return err_set(-EIO, "szip cannot hold %zu bytes", n);
	ret->bytes = ret->line == ret->padded ? round_up(n, z->block * z->pixel) : bytes;
	return 0;
}

static struct aec_stream
stream_of(const struct szip *z)
{
	return (struct aec_stream){
		.bits_per_sample = 8 * z->pixel,
		.block_size = (unsigned)z->block,
		.rsi = (unsigned)ceil_div(z->scanline, z->block),
		.flags = AEC_NOT_ENFORCE | (z->nearest ? AEC_DATA_PREPROCESS : 0) |
			 (z->big ? AEC_DATA_MSB : 0),
	};
}

/* Byte i of the unpadded pixels is at this place of the padded ones. */
static size_t
padded_at(const struct lines *l, size_t i)
{
	return i / l->line * l->padded + i % l->line;
}

/* Planes of padded lines become elements. */
static void
join_planes(const struct szip *z, const struct lines *l, const uint8_t *from, uint8_t *to, size_t n)
{
	size_t elements = n / z->planes;
	for (unsigned b = 0; b < z->planes; b++) {
		for (size_t i = 0; i < elements;) {
			size_t at = b * elements + i;
			size_t end = i + min_u64(elements - i, l->line - at % l->line);
			for (const uint8_t *p = from + padded_at(l, at); i < end; i++)
				to[i * z->planes + b] = *p++;
		}
	}
}

/* The other way round; lines are filled with their last pixel. */
static void
split_planes(
	const struct szip *z, const struct lines *l, const uint8_t *from, uint8_t *to, size_t n)
{
	size_t elements = n / z->planes;
	for (unsigned b = 0; b < z->planes; b++)
		for (size_t i = 0; i < elements; i++)
			to[padded_at(l, b * elements + i)] = from[i * z->planes + b];
	for (uint64_t i = 0; i < l->count; i++) {
		uint8_t *line = to + i * l->padded;
		size_t end = min_u64(l->padded, l->bytes - i * l->padded);
		for (size_t at = min_u64(l->line, n - i * l->line); at < end; at++)
			line[at] = line[at - z->pixel];
	}
}

static int
decode_pixels(const struct szip *z, struct span in, size_t n, uint8_t *out)
{
	struct lines l = {0};
	int r = libaec_load();
	if (r == 0)
		r = lay_lines(z, n, &l);
	if (r < 0)
		return r;
	bool direct = z->planes == 1 && l.bytes == n;
	uint8_t *pixels = direct ? out : codec_scratch(SCRATCH_LINES, l.bytes);
	if (!pixels)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", n);
	struct aec_stream s = stream_of(z);
	s.next_in = in.data;
	s.avail_in = in.len;
	s.next_out = pixels;
	s.avail_out = l.bytes;
	r = libaec.aec_buffer_decode(&s);
	if (r == AEC_MEM_ERROR)
		return err_set(-ENOMEM, "out of memory");
	if (r != AEC_OK || s.total_out <= padded_at(&l, n - 1))
		return err_set(-EIO, "szip data are damaged or truncated (%zu bytes)", in.len);
	if (s.avail_in > SLACK)
		return err_set(-EIO, "%zu bytes follow the end of szip data", s.avail_in);
	if (!direct)
		join_planes(z, &l, pixels, out, n);
	return 0;
}

static int
szip_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct szip *z = obj;
	if (in.len < HEADER)
		return err_set(-EIO, "%zu bytes are no szip data", in.len);
	uint32_t n;
	memcpy(&n, in.data, sizeof n);
	n = le32toh(n);
	if (!n || n > form->bytes || (form->exact && n != form->bytes) ||
		n % (z->planes * z->pixel))
		return err_set(-EIO, "szip data decode to %" PRIu32 " bytes instead of %zu", n,
			form->bytes);
	in = (struct span){in.data + HEADER, in.len - HEADER};
	out->len = n;
	return decode_pixels(z, in, n, out->data);
}

static int
szip_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct szip *z = obj;
	struct lines l = {0};
	if (!in.len || in.len > UINT32_MAX || in.len % (z->planes * z->pixel))
		return err_set(-EIO, "szip cannot hold %zu bytes", in.len);
	int r = libaec_load();
	if (r == 0)
		r = lay_lines(z, in.len, &l);
	if (r == 0)
		r = buf_reserve(out, codec_worst(l.bytes));
	if (r < 0)
		return r;
	uint8_t *pixels = codec_scratch(SCRATCH_LINES, l.bytes);
	if (!pixels)
		return err_set(-ENOMEM, "no memory to encode %zu bytes", in.len);
	split_planes(z, &l, in.data, pixels, in.len);
	struct aec_stream s = stream_of(z);
	s.next_in = pixels;
	s.avail_in = l.bytes;
	s.next_out = out->data + HEADER;
	s.avail_out = out->cap - HEADER;
	if (libaec.aec_buffer_encode(&s) != AEC_OK)
		return err_set(-EIO, "cannot compress %zu bytes", in.len);
	uint32_t n = htole32((uint32_t)in.len);
	memcpy(out->data, &n, sizeof n);
	out->len = HEADER + s.total_out;
	return 0;
}

static uint64_t
szip_by_extent(const void *obj)
{
	return PIXELS_PER_SCANLINE_MAX;
}

static int
szip_load(const void *state)
{
	(void)state;
	return libaec_load();
}

const struct codec_ops codec_szip = {
	.ids = (const char *const[]){"szip", NULL},
	.kind = CODEC_BYTES,
	.open = szip_open,
	.close = free,
	.decode = szip_decode,
	.encode = szip_encode,
	.load = szip_load,
	.by_extent = szip_by_extent,
};
