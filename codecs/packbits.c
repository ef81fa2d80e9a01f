/* packbits (numcodecs): booleans as bits, the first in the highest bit of a byte; before them a byte that says how many
 * bits of the last one are padding. The codec of the same name in Zarr V3, which has options and begins with the
 * lowest bit, is another. */
#include "base/err.h"
#include "codec/codec.h"

#include <errno.h>
#include <string.h>

static int
packbits_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	static const char *const others[] = {"padding_encoding", "first_bit", "last_bit"};
	for (size_t i = 0; config && i < sizeof others / sizeof *others; i++)
		if (json_get(config, others[i]))
			return err_set(-ENOTSUP, "'%s': the codec of Zarr V3", others[i]);
	if (in->dtype && in->dtype->size != 1)
		return err_set(-EINVAL, "elements of %u bytes are no booleans", in->dtype->size);
	out->bytes = 1 + in->bytes / 8 + (in->bytes % 8 != 0);
	out->exact = in->exact;
	return 0;
}

static int
packbits_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	if (in.len < 1 || in.data[0] > 7 || (in.len == 1 && in.data[0]))
		return err_set(-EIO, "packed bits are truncated or damaged");
	size_t bytes = in.len - 1;
	if (bytes > SIZE_MAX / 8 || bytes * 8 - in.data[0] > out->cap)
		return err_set(-EIO, "%zu packed bytes, more than %zu bits", bytes, out->cap);
	size_t n = bytes * 8 - in.data[0];
	for (size_t i = 0; i < n / 8; i++)
		for (unsigned b = 0; b < 8; b++)
			out->data[8 * i + b] = in.data[1 + i] >> (7 - b) & 1;
	for (size_t i = n / 8 * 8; i < n; i++)
		out->data[i] = in.data[1 + i / 8] >> (7 - i % 8) & 1;
	out->len = n;
	return 0;
}

static int
packbits_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	size_t bytes = in.len / 8 + (in.len % 8 != 0);
	int r = buf_reserve(out, 1 + bytes);
	if (r < 0)
		return r;
	memset(out->data, 0, 1 + bytes);
	out->data[0] = (uint8_t)(bytes * 8 - in.len);
	for (size_t i = 0; i < in.len; i++)
		out->data[1 + i / 8] |= (uint8_t)((in.data[i] != 0) << (7 - i % 8));
	out->len = 1 + bytes;
	return 0;
}

const struct codec_ops codec_packbits = {
	.ids = (const char *const[]){"packbits", "numcodecs.packbits", NULL},
	.kind = CODEC_PACK,
	.open = packbits_open,
	.decode = packbits_decode,
	.encode = packbits_encode,
};
