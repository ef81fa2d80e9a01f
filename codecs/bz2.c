/* bzip2: one or more streams, whose contents follow each other. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"
#include "base/lazy.h"

#include <bzlib.h>
#include <errno.h>
#include <limits.h>

enum { LEVEL_DEFAULT = 1, LEVEL_MAX = 9 };

#define LIBBZ2(F)                                                                                  \
	F(BZ2_bzBuffToBuffCompress)                                                                \
	F(BZ2_bzDecompress) F(BZ2_bzDecompressEnd) F(BZ2_bzDecompressInit)
LAZY_LIBRARY(libbz2, LIBBZ2, SONAME_BZ2)

struct bz2 {
	int level;
};

static int
bz2_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct bz2 *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->level = codec_level(config, "level", LEVEL_DEFAULT, 1, LEVEL_MAX);
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

static unsigned
piece(size_t n)
{
	return (unsigned)min_u64(n, UINT_MAX);
}

/* One stream. in and room shrink by what was used. */
static int
decode_stream(struct span *in, uint8_t **to, size_t *room)
{
	bz_stream s = {0};
	if (libbz2.BZ2_bzDecompressInit(&s, 0, 0) != BZ_OK)
		return err_set(-ENOMEM, "out of memory");
	int r = BZ_OK;
	while (r == BZ_OK) {
		unsigned have = piece(in->len), space = piece(*room);
		s.next_in = (char *)in->data; /* only read */
		s.avail_in = have;
		s.next_out = (char *)*to;
		s.avail_out = space;
		r = libbz2.BZ2_bzDecompress(&s);
		in->data += have - s.avail_in;
		in->len -= have - s.avail_in;
		*to += space - s.avail_out;
		*room -= space - s.avail_out;
		if (r == BZ_OK && s.avail_in == have && s.avail_out == space)
			break; /* no way to go on: no input left, or no room */
	}
	libbz2.BZ2_bzDecompressEnd(&s);
	if (r == BZ_STREAM_END)
		return 0;
	if (r == BZ_MEM_ERROR)
		return err_set(-ENOMEM, "out of memory");
	if (r == BZ_OK && in->len && !*room)
		return err_set(-EIO, "bz2 data decode to more bytes than expected");
	return err_set(-EIO, "bz2 data are damaged or truncated");
}

static int
bz2_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	uint8_t *to = out->data;
	size_t room = form->bytes;
	int r = libbz2_load();
	if (r < 0)
		return r;
	do {
		r = decode_stream(&in, &to, &room);
		if (r < 0)
			return r;
	} while (in.len);
	out->len = form->bytes - room;
	return 0;
}

static int
bz2_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct bz2 *z = obj;
	/* the manual's bound: 1 % and 600 bytes above the input */
	unsigned size = piece(in.len + in.len / 100 + 600);
	if (in.len > UINT_MAX / 2)
		return err_set(-EIO, "cannot compress %zu bytes at once", in.len);
	int r = libbz2_load();
	if (r == 0)
		r = buf_reserve(out, size);
	if (r < 0)
		return r;
	if (libbz2.BZ2_bzBuffToBuffCompress((char *)out->data, &size, (char *)in.data,
		    (unsigned)in.len, z->level, 0, 0) != BZ_OK)
		return err_set(-EIO, "cannot compress %zu bytes", in.len);
	out->len = size;
	return 0;
}

static int
bz2_load(const void *state)
{
	(void)state;
	return libbz2_load();
}

const struct codec_ops codec_bz2 = {
	.ids = (const char *const[]){"bz2", "numcodecs.bz2", NULL},
	.kind = CODEC_BYTES,
	.open = bz2_open,
	.close = free,
	.decode = bz2_decode,
	.encode = bz2_encode,
	.load = bz2_load,
};
