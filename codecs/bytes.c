/* bytes (Zarr V3, "Bytes codec") in big-endian order behind codecs that calculate, which do that in
 * little-endian order. Elsewhere it is no codec here: elements stay as they are stored, and their
 * dtype says in which order that is. */
#include "base/err.h"
#include "base/swap.h"
#include "codec/codec.h"

#include <errno.h>
#include <string.h>

struct bytes {
	unsigned unit; /* bytes of what has an order, a number or half a complex one */
};

static int
bytes_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	const struct json *endian = config ? json_get(config, "endian") : NULL;
	const struct dtype *d = in->dtype;
	if (!endian || !json_is(endian, "big"))
		return err_set(-EINVAL, "'endian' is not 'big'");
	if (!d || d->kind >= DTYPE_VLEN_TEXT || d->nfields)
		return err_set(-EINVAL, "only numbers have a byte order");
	struct bytes *b = malloc(sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "out of memory");
	b->unit = d->narrow ? d->size : dtype_swap_unit(d);
	out->bytes = in->bytes;
	out->exact = in->exact;
	*ret = b;
	return 0;
}

static int
turn(const struct bytes *b, struct span in, struct buf *out)
{
	if (in.len % b->unit)
		return err_set(-EIO, "%zu bytes are no whole numbers of %u", in.len, b->unit);
	out->len = in.len;
	if (b->unit > 1)
		swap_run(b->unit, out->data, in.data, in.len / b->unit);
	else if (in.len)
		memcpy(out->data, in.data, in.len);
	return 0;
}

static int
bytes_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	if (in.len > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", in.len, out->cap);
	return turn(state, in, out);
}

static int
bytes_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	int r = buf_reserve(out, in.len);
	return r < 0 ? r : turn(state, in, out);
}

const struct codec_ops codec_bytes = {
	.ids = (const char *const[]){"bytes", NULL},
	.kind = CODEC_PACK,
	.open = bytes_open,
	.close = free,
	.decode = bytes_decode,
	.encode = bytes_encode,
	.each = true,
};
