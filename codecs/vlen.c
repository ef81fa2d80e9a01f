/* vlen-utf8 and vlen-bytes (numcodecs): the number of elements, then of each its length and its
 * bytes; all numbers 32 bits, little-endian. Elements that are null were written as empty.
 *
 * Decoded they are padded to the width of the array's dtype, which may also be S<n> or U<n>:
 * zarr-python 3.0 wrote such arrays with this filter. Bytes that are not UTF-8 pass through
 * vlen-utf8 both ways: half a character may be stored while the other half is still on its way. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "codecs/text.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	LENGTH = 4,      /* bytes of a number */
	SLACK = 1 << 20, /* so that an element that is too long is found here, with its number, not
			    before as "too much" */
	UNMEASURED = 64 << 20, /* for a chunk whose longest element is being looked for */
};

static int
vlen_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	if (!in->dtype || !text_holds(in->dtype))
		return err_set(-EINVAL, "only text or bytes have elements of variable length");
	bool measuring = in->origin && in->origin->measuring;
	uint64_t bytes, size = in->dtype->size, slack = measuring ? UNMEASURED : SLACK;
	if (mul_over(in->count, size + LENGTH, &bytes) || add_over(bytes, LENGTH + slack, &bytes) ||
		bytes > SIZE_MAX / 2)
		return err_set(-EINVAL, "chunk of %" PRIu64 " elements is too large", in->count);
	out->bytes = bytes;
	return 0;
}

static uint32_t
read_length(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, LENGTH);
	return le32toh(v);
}

static int
add_length(struct buf *out, size_t v)
{
	uint32_t le = htole32((uint32_t)v);
	return buf_add(out, &le, LENGTH);
}

static int
read_count(struct span in, uint64_t want)
{
	if (in.len < LENGTH)
		return err_set(-EIO, "%zu bytes are no elements of variable length", in.len);
	uint64_t n = read_length(in.data);
	if (n != want)
		return err_set(-EIO, "%" PRIu64 " elements instead of %" PRIu64, n, want);
	return 0;
}

/* Element number i, at *at, which moves on. */
static int
next_element(struct span in, uint64_t i, size_t *at, struct span *ret)
{
	if (in.len - *at < LENGTH)
		return err_set(-EIO, "truncated at element %" PRIu64, i);
	size_t n = read_length(in.data + *at);
	*at += LENGTH;
	if (in.len - *at < n)
		return err_set(-EIO, "truncated in element %" PRIu64 " of %zu bytes", i, n);
	*ret = (struct span){in.data + *at, n};
	*at += n;
	return 0;
}

static int
vlen_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	size_t at = LENGTH, size = form->dtype->size;
	uint64_t bytes;
	int r = read_count(in, form->count);
	if (r < 0)
		return r;
	if (mul_over(form->count, size, &bytes) || bytes > out->cap)
		return err_set(-EIO, "%" PRIu64 " elements do not fit in %zu bytes", form->count,
			out->cap);
	for (uint64_t i = 0; i < form->count; i++) {
		struct span text = {0};
		r = next_element(in, i, &at, &text);
		if (r >= 0)
			r = text_fit(form->dtype, i, text, out->data + i * size);
		if (r < 0)
			return r;
	}
	if (at != in.len)
		return err_set(-EIO, "%zu bytes follow the last element", in.len - at);
	out->len = bytes;
	return 0;
}

static int
vlen_width(const void *state, const struct form *form, struct span in, size_t *ret)
{
	size_t at = LENGTH, longest = 0;
	int r = read_count(in, form->count);
	for (uint64_t i = 0; r >= 0 && i < form->count; i++) {
		struct span text = {0};
		r = next_element(in, i, &at, &text);
		if (r >= 0)
			longest = max_u64(longest, text.len);
	}
	if (r < 0)
		return r;
	*ret = longest;
	return 0;
}

static int
vlen_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	size_t size = form->dtype->size;
	if (form->count > UINT32_MAX || (size && in.len / size != form->count))
		return err_set(
			-EINVAL, "%zu bytes are not %" PRIu64 " elements", in.len, form->count);
	out->len = 0;
	int r = add_length(out, form->count);
	for (uint64_t i = 0; r >= 0 && i < form->count; i++) {
		size_t at = out->len;
		r = add_length(out, 0);
		if (r >= 0)
			r = text_take(form->dtype, i, in.data + i * size, out);
		if (r < 0)
			return r;
		uint32_t n = htole32((uint32_t)(out->len - at - LENGTH));
		memcpy(out->data + at, &n, LENGTH);
	}
	return r;
}

const struct codec_ops codec_vlen = {
	.ids = (const char *const[]){"vlen-utf8", "vlen-bytes", "numcodecs.vlen-utf8",
		"numcodecs.vlen-bytes", NULL},
	.kind = CODEC_PACK,
	.open = vlen_open,
	.decode = vlen_decode,
	.encode = vlen_encode,
	.width = vlen_width,
};
