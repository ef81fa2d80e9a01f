/* packbits, which are two.
 *
 * numcodecs': booleans as bits, the first in the highest bit of a byte; before them a byte that
 * says how many bits of the last one are padding.
 *
 * Zarr V3's (zarr-extensions): of each number the bits from first_bit to last_bit, the first in the
 * lowest bit of a byte; the number of padding bits in a byte before or behind, or nowhere. It has
 * at least one of its options, which tells them apart. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "model/narrow.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum padding { PADDING_NONE, PADDING_FIRST, PADDING_LAST };

struct bits {
	unsigned size;         /* bytes of a number; a complex element is two of them */
	unsigned first, width; /* bits of it that are stored */
	bool is_signed;
	enum padding padding;
};

/* A number of bits, to be read and written eight bytes at a time. */
static uint64_t
low_bits(uint64_t v, unsigned n)
{
	return n < 64 ? v & (((uint64_t)1 << n) - 1) : v;
}

static int
read_bit(const struct json *config, const char *key, unsigned def, unsigned bits, unsigned *ret)
{
	int64_t v;
	int r = codec_number(config, key, def, 0, (int64_t)bits - 1, &v);
	*ret = r < 0 ? 0 : (unsigned)v;
	return r;
}

static int
read_padding(const struct json *config, enum padding *ret)
{
	const struct json *v = json_get(config, "padding_encoding");
	*ret = PADDING_NONE;
	if (!v || json_type(v) == JSON_TYPE_NULL || json_is(v, "none"))
		return 0;
	*ret = json_is(v, "first_byte") ? PADDING_FIRST : PADDING_LAST;
	if (*ret == PADDING_FIRST || json_is(v, "last_byte") || json_is(v, "end_byte"))
		return 0;
	return err_set(-ENOTSUP, "'padding_encoding' is not known");
}

/* Bits of one number; 0: elements are none. */
static unsigned
bits_of(const struct dtype *d)
{
	if (narrow_is_raw(d))
		return narrow_bits(d->narrow);
	switch (d->kind) {
	case DTYPE_BOOL: return 1;
	case DTYPE_INT:
	case DTYPE_UINT:
	case DTYPE_FLOAT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return 8 * d->size;
	case DTYPE_COMPLEX: return 4 * d->size;
	default: return 0;
	}
}

static int
open_bits(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	const struct dtype *d = in->dtype;
	unsigned n = d ? bits_of(d) : 0, last = 0;
	if (!n || (d->big && d->size > 1))
		return err_set(-ENOTSUP, "only numbers in little-endian order can be packed");
	CLEAN(clean_free) struct bits *b = calloc(1, sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "out of memory");
	b->size = d->kind == DTYPE_COMPLEX ? d->size / 2 : d->size;
	b->is_signed = d->kind == DTYPE_INT;
	int r = read_bit(config, "first_bit", 0, n, &b->first);
	if (r == 0)
		r = read_bit(config, "last_bit", n - 1, n, &last);
	if (r == 0)
		r = read_padding(config, &b->padding);
	if (r == 0 && last < b->first)
		r = err_set(-EINVAL, "'last_bit' is before 'first_bit'");
	if (r < 0)
		return r;
	b->width = last - b->first + 1;
	uint64_t bits;
	if (mul_over(in->bytes / b->size, b->width, &bits) || bits / 8 > SIZE_MAX / 2)
		return err_set(-EINVAL, "chunk is too large");
	out->bytes = ceil_div(bits, 8) + (b->padding != PADDING_NONE);
	out->exact = in->exact;
	*ret = MOVE(b);
	return 0;
}

/* The packed bits of `numbers` numbers in `in`, without what tells their padding. */
static int
find_bits(const struct bits *b, struct span in, uint64_t numbers, struct span *ret)
{
	uint64_t bits = numbers * b->width, bytes = ceil_div(bits, 8);
	bool told = b->padding != PADDING_NONE;
	if (in.len != bytes + told)
		return err_set(
			-EIO, "%zu packed bytes instead of %zu", in.len, (size_t)bytes + told);
	*ret = (struct span){in.data + (b->padding == PADDING_FIRST), bytes};
	if (told && in.data[b->padding == PADDING_FIRST ? 0 : bytes] != bytes * 8 - bits)
		return err_set(-EIO, "another number of padding bits than the chunk has");
	return 0;
}

/* n <= 64 bits from bit `at` on. */
static uint64_t
take(struct span in, uint64_t at, unsigned n)
{
	size_t byte = at / 8, left = in.len - byte;
	unsigned shift = at % 8;
	uint64_t v = 0;
	memcpy(&v, in.data + byte, left < sizeof v ? left : sizeof v);
	v = le64toh(v) >> shift;
	if (shift + n > 64)
		v |= (uint64_t)in.data[byte + 8] << (64 - shift);
	return low_bits(v, n);
}

static int
decode_bits(const struct bits *b, const struct form *form, struct span in, struct buf *out)
{
	uint64_t numbers = form->bytes / b->size;
	struct span bits = {0};
	int r = find_bits(b, in, numbers, &bits);
	if (r < 0)
		return r;
	if (form->bytes > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", form->bytes, out->cap);
	for (uint64_t i = 0; i < numbers; i++) {
		uint64_t v = take(bits, i * b->width, b->width) << b->first;
		unsigned top = b->first + b->width;
		if (b->is_signed && top < 64 && v >> (top - 1))
			v |= UINT64_MAX << top;
		v = htole64(v);
		memcpy(out->data + i * b->size, &v, b->size);
	}
	out->len = form->bytes;
	return 0;
}

/* Lower bits may go, as the options say; higher ones would be another number. */
static bool
keeps(const struct bits *b, uint64_t v, unsigned all)
{
	unsigned top = b->first + b->width;
	if (top >= all)
		return true;
	uint64_t high = low_bits(v, all) >> top, ones = low_bits(UINT64_MAX, all - top);
	return b->is_signed && v >> (top - 1) & 1 ? high == ones : !high;
}

static int
encode_bits(const struct bits *b, const struct form *form, struct span in, struct buf *out)
{
	uint64_t numbers = in.len / b->size, bits = numbers * b->width, bytes = ceil_div(bits, 8);
	bool told = b->padding != PADDING_NONE, before = b->padding == PADDING_FIRST;
	unsigned all = bits_of(form->dtype);
	int r = buf_reserve(out, bytes + told);
	if (r < 0)
		return r;
	memset(out->data, 0, bytes + told);
	if (told)
		out->data[before ? 0 : bytes] = (uint8_t)(bytes * 8 - bits);
	uint8_t *to = out->data + before;
	for (uint64_t i = 0; i < numbers; i++) {
		uint64_t v = 0;
		memcpy(&v, in.data + i * b->size, b->size);
		v = le64toh(v);
		if (!keeps(b, v, all))
			return err_set(
				-ERANGE, "element %zu has more bits than are stored", (size_t)i);
		v = low_bits(v >> b->first, b->width);
		uint64_t at = i * b->width;
		for (unsigned done = 0; done < b->width; done += 8 - (at + done) % 8)
			to[(at + done) / 8] |= (uint8_t)(v >> done << (at + done) % 8);
	}
	out->len = bytes + told;
	return 0;
}

static int
packbits_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	static const char *const options[] = {"padding_encoding", "first_bit", "last_bit"};
	for (size_t i = 0; config && i < sizeof options / sizeof *options; i++)
		if (json_get(config, options[i]))
			return open_bits(config, in, out, ret);
	if (in->dtype && in->dtype->size != 1)
		return err_set(-EINVAL, "elements of %u bytes are no booleans", in->dtype->size);
	out->bytes = 1 + in->bytes / 8 + (in->bytes % 8 != 0);
	out->exact = in->exact;
	return 0;
}

static int
decode_booleans(struct span in, struct buf *out)
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
packbits_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return state ? decode_bits(state, form, in, out) : decode_booleans(in, out);
}

static int
encode_booleans(struct span in, struct buf *out)
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

static int
packbits_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return state ? encode_bits(state, form, in, out) : encode_booleans(in, out);
}

const struct codec_ops codec_packbits = {
	.ids = (const char *const[]){"packbits", "numcodecs.packbits", NULL},
	.kind = CODEC_PACK,
	.open = packbits_open,
	.close = free,
	.decode = packbits_decode,
	.encode = packbits_encode,
};
