/* A block is one stream, or one for each byte of an element (of those bytes of all elements). A
 * stream: its size (i32), and the data compressed, or as they are where that would not have made
 * them smaller. What lz4, zlib and zstd made is decoded here, without c-blosc, which makes a new
 * zstd context for each stream and knows only the slowest zlib. */
#include "codecs/blosc_block.h"

#include "base/err.h"
#include "codec/codec.h"
#include "codecs/libblosc.h"
#include "codecs/lz4_block.h"
#include "codecs/planes.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

enum {
	SIZE = 4,             /* bytes of the size of a stream */
	COMPRESSOR_SHIFT = 5, /* flags from there on say which compressor */
	SPLITS_MAX =
		16, /* larger elements are never split, nor are blocks of less than … elements */
	SPLIT_ELEMENTS_MIN = 128,
	SCRATCH_STREAMS = 4,
	SCRATCH_BUFFER = 5,
};

static void *
zstd_make(void)
{
	return ZSTD_createDCtx();
}

static void
zstd_destroy(void *d)
{
	ZSTD_freeDCtx(d);
}

static void *
zlib_make(void)
{
	return libdeflate_alloc_decompressor();
}

static void
zlib_destroy(void *d)
{
	libdeflate_free_decompressor(d);
}

static bool
decode_lz4(struct span in, uint8_t *out, size_t n)
{
	return lz4_block_decode(in, n, n, out);
}

static bool
decode_zstd(struct span in, uint8_t *out, size_t n)
{
	static _Thread_local void *reader;
	ZSTD_DCtx *d = codec_local(&reader, zstd_make, zstd_destroy);
	return d && ZSTD_decompressDCtx(d, out, n, in.data, in.len) == n;
}

static bool
decode_zlib(struct span in, uint8_t *out, size_t n)
{
	static _Thread_local void *reader;
	struct libdeflate_decompressor *d = codec_local(&reader, zlib_make, zlib_destroy);
	return d &&
	       libdeflate_zlib_decompress(d, in.data, in.len, out, n, NULL) == LIBDEFLATE_SUCCESS;
}

typedef bool decoder(struct span in, uint8_t *out, size_t n);

/* By the header's number of the compressor; NULL: c-blosc must do it. */
static decoder *const decoders[1 << (8 - COMPRESSOR_SHIFT)] = {
	[BLOSC_LZ4_FORMAT] = decode_lz4,
	[BLOSC_ZLIB_FORMAT] = decode_zlib,
	[BLOSC_ZSTD_FORMAT] = decode_zstd,
};

static int
stream_size(struct span in, size_t *ret)
{
	uint32_t v;
	if (in.len < SIZE)
		return err_set(-EIO, "blosc data are truncated");
	memcpy(&v, in.data, sizeof v);
	v = le32toh(v);
	if (!v || v > in.len - SIZE)
		return err_set(-EIO, "blosc data are truncated: %" PRIu32 " bytes of %zu", v,
			in.len - SIZE);
	*ret = v;
	return 0;
}

static size_t
streams_of(const struct blosc_header *h, size_t n)
{
	bool split = !(h->flags & BLOSC_FLAG_NOT_SPLIT) && n == h->blocksize &&
		     h->typesize <= SPLITS_MAX && h->blocksize / h->typesize >= SPLIT_ELEMENTS_MIN;
	return split ? h->typesize : 1;
}

/* Where the last one ends. */
static int
walk_streams(struct span in, size_t streams, size_t *ret)
{
	struct span rest = in;
	for (size_t i = 0; i < streams; i++) {
		size_t size = 0;
		int r = stream_size(rest, &size);
		if (r < 0)
			return r;
		rest.data += SIZE + size;
		rest.len -= SIZE + size;
	}
	*ret = in.len - rest.len;
	return 0;
}

int
blosc_block_length(const struct blosc_header *h, struct span in, size_t n, size_t *ret)
{
	return walk_streams(in, streams_of(h, n), ret);
}

static int
decode_streams(decoder *decode, struct span in, size_t streams, size_t n, uint8_t *out)
{
	size_t each = n / streams;
	for (size_t i = 0; i < streams; i++) {
		size_t size = 0;
		int r = stream_size(in, &size);
		if (r < 0)
			return r;
		in.data += SIZE;
		if (size == each)
			memcpy(out, in.data, each);
		else if (!decode((struct span){in.data, size}, out, each))
			return err_set(-EIO, "blosc data are damaged");
		in.data += size;
		in.len -= SIZE + size;
		out += each;
	}
	return 0;
}

static void
put_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

/* A Blosc buffer of this block alone, for c-blosc. A short block becomes a whole one that is not
 * split. */
static int
decode_by_blosc(
	const struct blosc_header *h, struct span in, size_t streams, size_t n, uint8_t *out)
{
	size_t len = 0;
	int r = walk_streams(in, streams, &len);
	if (r == 0)
		r = libblosc_load();
	if (r < 0)
		return r;
	size_t all = BLOSC_HEADER + SIZE + len;
	uint8_t *b = codec_scratch(SCRATCH_BUFFER, all);
	if (!b)
		return err_set(-ENOMEM, "no memory for %zu encoded bytes", all);
	b[0] = BLOSC_FORMAT;
	b[1] = 1; /* the compressor's own format: all have one only */
	b[2] = n < h->blocksize ? h->flags | BLOSC_FLAG_NOT_SPLIT : h->flags;
	b[3] = h->typesize;
	put_u32(b + 4, (uint32_t)n);
	put_u32(b + 8, (uint32_t)n);
	put_u32(b + 12, (uint32_t)all);
	put_u32(b + BLOSC_HEADER, BLOSC_HEADER + SIZE);
	memcpy(b + BLOSC_HEADER + SIZE, in.data, len);
	int got = blosc_decompress_ctx(b, out, n, 1);
	return got >= 0 && (size_t)got == n ? 0 : err_set(-EIO, "blosc data are damaged (%d)", got);
}

bool
blosc_block_fine(const struct blosc_header *h)
{
	return h->flags >> COMPRESSOR_SHIFT == BLOSC_LZ4_FORMAT && !(h->flags & BLOSC_DOBITSHUFFLE);
}

/* Bytes [from, to) of a stream of n bytes. */
static int
slice_stream(struct span in, size_t n, const size_t want[static 2], uint8_t *out)
{
	size_t len = want[1] - want[0];
	if (in.len == n) {
		memcpy(out, in.data + want[0], len);
		return 0;
	}
	uint8_t *whole = codec_scratch(SCRATCH_BUFFER, n);
	if (!whole)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", n);
	if (!lz4_block_decode(in, n, want[1], whole))
		return err_set(-EIO, "blosc data are damaged");
	memcpy(out, whole + want[0], len);
	return 0;
}

/* Each stream gives the same bytes of its own, which are joined. */
int
blosc_block_decode_slice(const struct blosc_header *h, struct span in, size_t n,
	const size_t want[static 2], uint8_t *out)
{
	size_t streams = streams_of(h, n), unit = streams, each = n / streams;
	bool shuffled = h->flags & BLOSC_DOSHUFFLE && h->typesize > 1;
	if (!blosc_block_fine(h) || n % streams || shuffled != (streams > 1))
		return BLOSC_BLOCK_WHOLE;
	const size_t part[2] = {want[0] / unit, (want[1] + unit - 1) / unit};
	size_t count = part[1] - part[0], skip = want[0] - part[0] * unit;
	uint8_t *planes = codec_scratch(SCRATCH_STREAMS, 2 * count * unit);
	if (!planes)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", 2 * count * unit);
	for (size_t i = 0; i < streams; i++) {
		size_t size = 0;
		int r = stream_size(in, &size);
		if (r == 0)
			r = slice_stream((struct span){in.data + SIZE, size}, each, part,
				planes + i * count);
		if (r < 0)
			return r;
		in.data += SIZE + size;
		in.len -= SIZE + size;
	}
	uint8_t *joined = planes + count * unit;
	if (streams > 1)
		planes_join(planes, unit, count, joined);
	memcpy(out, (streams > 1 ? joined : planes) + skip, want[1] - want[0]);
	return 0;
}

/* Bytes behind the last whole element, and bits of elements that are not eights, were not moved. */
static void
join(const struct blosc_header *h, const uint8_t *in, size_t n, uint8_t *out)
{
	size_t elements = n / h->typesize, done = elements * h->typesize;
	if (h->flags & BLOSC_DOSHUFFLE)
		planes_join(in, h->typesize, elements, out);
	else if (elements % 8 == 0)
		planes_join_bits(in, h->typesize, elements, out);
	else
		done = 0;
	memcpy(out + done, in + done, n - done);
}

int
blosc_block_decode(const struct blosc_header *h, struct span in, size_t n, uint8_t *out)
{
	size_t streams = streams_of(h, n);
	if (n % streams)
		return err_set(-EIO, "blosc header is damaged or of another format");
	decoder *decode = decoders[h->flags >> COMPRESSOR_SHIFT];
	if (!decode)
		return decode_by_blosc(h, in, streams, n, out);
	bool joined =
		h->flags & BLOSC_DOBITSHUFFLE || (h->flags & BLOSC_DOSHUFFLE && h->typesize > 1);
	if (!joined)
		return decode_streams(decode, in, streams, n, out);
	uint8_t *planes = codec_scratch(SCRATCH_STREAMS, n);
	if (!planes)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", n);
	int r = decode_streams(decode, in, streams, n, planes);
	if (r == 0)
		join(h, planes, n, out);
	return r;
}
