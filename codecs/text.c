#include "codecs/text.h"

#include "base/err.h"
#include "codecs/number.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { CHAR_MAX_UTF8 = 0x10ffff, SURROGATE = 0xd800, SURROGATE_END = 0xdfff, UCS4 = 4 };

bool
text_holds(const struct dtype *d)
{
	return d->kind == DTYPE_BYTES || d->kind == DTYPE_UNICODE || d->kind == DTYPE_VLEN_TEXT ||
	       d->kind == DTYPE_VLEN_BYTES;
}

/* One character of n > 0 bytes; returns its bytes, or 0: it is none. */
static size_t
read_char(const uint8_t *s, size_t n, uint32_t *ret)
{
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	size_t k = 0;
	while (k < 4 && (s[0] & forms[k].mask) != forms[k].lead)
		k++;
	if (k == 4 || k >= n)
		return 0;
	uint32_t c = s[0] & (uint8_t)~forms[k].mask;
	for (size_t i = 1; i <= k; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < forms[k].least || c > CHAR_MAX_UTF8 || (c >= SURROGATE && c <= SURROGATE_END))
		return 0;
	*ret = c;
	return k + 1;
}

static size_t
write_char(uint32_t c, uint8_t s[4])
{
	if (c < 0x80) {
		s[0] = (uint8_t)c;
		return 1;
	}
	size_t k = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	for (size_t i = k; i > 0; i--, c >>= 6)
		s[i] = 0x80 | (c & 0x3f);
	s[0] = (uint8_t)(c | (k == 1 ? 0xc0 : k == 2 ? 0xe0 : 0xf0));
	return k + 1;
}

static int
fit_unicode(const struct dtype *d, uint64_t i, struct span text, uint8_t *out)
{
	size_t at = 0, room = d->size / UCS4, n = 0;
	while (at < text.len) {
		uint32_t c;
		size_t used = read_char(text.data + at, text.len - at, &c);
		if (!used)
			return err_set(-EIO, "element %" PRIu64 " is not UTF-8", i);
		if (n == room)
			return err_set(
				-EIO, "element %" PRIu64 " has more than %zu characters", i, room);
		c = d->big != NUMBER_HOST_BIG ? bswap_32(c) : c;
		memcpy(out + n++ * UCS4, &c, UCS4);
		at += used;
	}
	memset(out + n * UCS4, 0, d->size - n * UCS4);
	return 0;
}

int
text_fit(const struct dtype *d, uint64_t i, struct span text, uint8_t *out)
{
	if (d->kind == DTYPE_UNICODE)
		return fit_unicode(d, i, text, out);
	if (text.len > d->size)
		return err_set(-EIO, "element %" PRIu64 " has %zu bytes, the width is %u", i,
			text.len, d->size);
	bool fixed = d->kind == DTYPE_BYTES; /* NumPy's own padding hides NULs as well */
	if (!fixed && text.len && !text.data[text.len - 1])
		return err_set(-EIO,
			"element %" PRIu64 " of %zu bytes ends in NUL, which padding would hide", i,
			text.len);
	if (text.len)
		memcpy(out, text.data, text.len);
	memset(out + text.len, 0, d->size - text.len);
	return 0;
}

static int
take_unicode(const struct dtype *d, uint64_t i, const uint8_t *element, struct buf *out)
{
	size_t n = d->size / UCS4;
	uint32_t c = 0;
	while (n && !memcmp(element + (n - 1) * UCS4, &c, UCS4))
		n--;
	for (size_t k = 0; k < n; k++) {
		memcpy(&c, element + k * UCS4, UCS4);
		c = d->big != NUMBER_HOST_BIG ? bswap_32(c) : c;
		if (c > CHAR_MAX_UTF8 || (c >= SURROGATE && c <= SURROGATE_END))
			return err_set(-EINVAL,
				"element %" PRIu64 ": 0x%" PRIx32 " is no character", i, c);
		uint8_t s[4];
		int r = buf_add(out, s, write_char(c, s));
		if (r < 0)
			return r;
	}
	return 0;
}

int
text_take(const struct dtype *d, uint64_t i, const uint8_t *element, struct buf *out)
{
	if (d->kind == DTYPE_UNICODE)
		return take_unicode(d, i, element, out);
	size_t n = d->size;
	while (n && !element[n - 1])
		n--;
	return buf_add(out, element, n);
}
