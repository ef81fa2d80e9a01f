/* Fill values as JSON, the inverse of dtype_fill*.c. */
#include "base/base64.h"
#include "base/err.h"
#include "base/json_edit.h"
#include "base/number.h"
#include "base/swap.h"
#include "model/encode.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

static int
add_int(uint64_t v, uint32_t size, bool is_signed, struct buf *ret)
{
	char text[NUMBER_INT];
	const unsigned unused = 64 - 8 * size;
	if (!is_signed)
		return buf_add(ret, text, number_uint(v, text));
	return buf_add(ret, text, number_int((int64_t)(v << unused) >> unused, text));
}

/* The NaN that is meant by the word. */
static uint64_t
usual_nan(uint32_t size)
{
	return size == 2 ? 0x7e00 : size == 4 ? 0x7fc00000 : 0x7ff8000000000000;
}

static int
add_real(const uint8_t *p, uint32_t size, bool big, bool v3, struct buf *ret)
{
	char text[NUMBER_DOUBLE];
	const uint64_t bits = number_bits(p, size, big);
	const double d = number_of_bits(bits, size);
	if (isnan(d) && v3 && bits != usual_nan(size))
		return buf_addf(ret, "\"0x%0*llx\"", (int)(2 * size), (unsigned long long)bits);
	if (isnan(d))
		return buf_add(ret, "\"NaN\"", 5);
	if (isinf(d))
		return buf_addf(ret, "\"%sInfinity\"", d < 0 ? "-" : "");
	return buf_add(ret, text, number_double(d, text));
}

static int
add_complex(const struct dtype *d, const uint8_t *p, bool v3, struct buf *ret)
{
	const uint32_t half = d->size / 2;
	int r = buf_add(ret, "[", 1);
	if (r == 0)
		r = add_real(p, half, d->big, v3, ret);
	if (r == 0)
		r = buf_add(ret, ", ", 2);
	if (r == 0)
		r = add_real(p + half, half, d->big, v3, ret);
	return r < 0 ? r : buf_add(ret, "]", 1);
}

static int
add_base64(const uint8_t *p, size_t len, struct buf *ret)
{
	int r = buf_add(ret, "\"", 1);
	if (r == 0)
		r = base64_encode((struct span){p, len}, ret);
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

static size_t
without_nuls(const uint8_t *p, size_t len)
{
	while (len && !p[len - 1])
		len--;
	return len;
}

static int
add_unicode(const struct dtype *d, const uint8_t *p, struct buf *ret)
{
	CLEAN(buf_free) struct buf text = {0};
	int r = 0;
	size_t n = d->size / 4;
	while (n && !number_bits(p + 4 * (n - 1), 4, d->big))
		n--;
	for (size_t i = 0; r == 0 && i < n; i++) {
		utf8proc_uint8_t utf8[4];
		uint64_t c = number_bits(p + 4 * i, 4, d->big);
		if (!utf8proc_codepoint_valid((utf8proc_int32_t)(c & INT32_MAX)) || c > INT32_MAX)
			return err_set(-EINVAL, "a fill value is no text");
		r = buf_add(&text, utf8, (size_t)utf8proc_encode_char((utf8proc_int32_t)c, utf8));
	}
	return r < 0 ? r : json_quote(text.len ? (char *)text.data : "", text.len, ret);
}

int
encode_fill(const struct dtype *d, const uint8_t *fill, bool v3, bool plain, struct buf *ret)
{
	switch (d->kind) {
	case DTYPE_BOOL: return buf_addf(ret, "%s", *fill ? "true" : "false");
	case DTYPE_INT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		return add_int(number_bits(fill, d->size, d->big), d->size, true, ret);
	case DTYPE_UINT: return add_int(number_bits(fill, d->size, d->big), d->size, false, ret);
	case DTYPE_FLOAT: return add_real(fill, d->size, d->big, v3, ret);
	case DTYPE_COMPLEX: return add_complex(d, fill, v3, ret);
	case DTYPE_BYTES:
		return plain ? json_quote((const char *)fill, without_nuls(fill, d->size), ret)
			     : add_base64(fill, without_nuls(fill, d->size) ? d->size : 0, ret);
	case DTYPE_RAW: return add_base64(fill, d->size, ret);
	case DTYPE_UNICODE: return add_unicode(d, fill, ret);
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES: return buf_add(ret, "\"\"", 2);
	default: return err_set(-ENOTSUP, "arrays of such a type are read, but not made");
	}
}
