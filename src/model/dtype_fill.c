/* Fill values of Zarr V2 (V2 spec, "Fill value encoding"), with the spellings of zarr-python 2,
 * netcdf-c and others. Where the text leaves a choice, the element is what zarr-python 2 makes of
 * it. */
#include "model/dtype.h"

#include "base/base64.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
not_a_fill(const struct dtype *d, const struct json *v)
{
	CLEAN(clean_free) char *type = dtype_text(d);
	CLEAN(clean_free) char *text = json_dump(v);
	return err_set(-EINVAL, "%.100s is no fill_value of dtype %.100s", text ? text : "?",
		type ? type : "?");
}

/* The low `size` bytes of v. */
static void
put(uint64_t v, unsigned size, bool big, uint8_t *out)
{
	for (unsigned i = 0; i < size; i++)
		out[big ? size - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

/* Bits of the binary16 nearest to x, ties to even: once from the double, since by way of a float it
 * would round twice. */
static uint16_t
half_bits(double x)
{
	static const double largest = 65520; /* from here on it is infinity */
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	double magnitude = fabs(x);
	if (isnan(x))
		return 0x7e00;
	if (magnitude >= largest)
		return sign | 0x7c00;
	int exponent;
	frexp(magnitude, &exponent); /* magnitude < 2^exponent */
	if (exponent < -13 || magnitude == 0)
		exponent = -13; /* subnormal, in units of 2^-24 */
	int steps = (int)rint(ldexp(magnitude,
		11 - exponent)); /* a carry out of 2048 steps goes to the exponent by itself */
	return (uint16_t)(sign | (((exponent + 13) << 10) + steps));
}

void
dtype_put_real(double x, unsigned size, bool big, uint8_t *out)
{
	if (size == 2) {
		put(half_bits(x), 2, big, out);
	} else if (size == 4) {
		float f = (float)x;
		uint32_t bits;
		memcpy(&bits, &f, sizeof bits);
		put(bits, 4, big, out);
	} else {
		uint64_t bits;
		memcpy(&bits, &x, sizeof bits);
		put(bits, 8, big, out);
	}
}

static int
read_float(const struct json *v, double *ret)
{
	const char *s = v ? json_text(v, NULL) : NULL;
	if (v && json_type(v) == JSON_TYPE_BOOL) {
		*ret = json_bool(v);
		return 0;
	}
	if (s && strpbrk(s, "xX"))
		return err_set(-EINVAL, "hexadecimal numbers are none in Zarr V2");
	int r = json_double(v, ret);
	if (r == -ERANGE) {
		*ret = strchr(s, '-') == s ? -INFINITY : INFINITY;
		r = 0;
	}
	return r;
}

static int
fill_float(const struct dtype *d, const struct json *v, uint8_t *out)
{
	double x;
	if (read_float(v, &x) < 0)
		return not_a_fill(d, v);
	dtype_put_real(x, d->size, d->big, out);
	return 0;
}

/* [re, im], or only re. */
static int
fill_complex(const struct dtype *d, const struct json *v, uint8_t *out)
{
	bool list = json_type(v) == JSON_TYPE_LIST;
	double re, im = 0;
	if ((list && json_count(v) > 2) || read_float(list ? json_at(v, 0) : v, &re) < 0 ||
		(list && json_count(v) == 2 && read_float(json_at(v, 1), &im) < 0))
		return not_a_fill(d, v);
	dtype_put_real(re, d->size / 2, d->big, out);
	dtype_put_real(im, d->size / 2, d->big, out + d->size / 2);
	return 0;
}

/* The bits of an integer of any sign. A fraction is dropped. */
static int
read_bits(const struct json *v, bool *negative, uint64_t *ret)
{
	int64_t i = 0;
	if (json_type(v) == JSON_TYPE_BOOL) {
		*negative = false;
		*ret = json_bool(v);
		return 0;
	}
	int r = json_int(v, &i);
	*negative = r == 0 && i < 0;
	*ret = (uint64_t)i;
	double x;
	if (r == 0 || (r == -ERANGE && json_uint(v, ret) == 0))
		return 0;
	if (json_double(v, &x) < 0 || !(x >= -0x1p63 && x < 0x1p64))
		return r;
	*negative = x < 0;
	*ret = x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
	return 0;
}

/* -1 in an unsigned type and 255 in a signed byte mean their bits: netCDF's writers have
 * `_Unsigned` attributes. */
static int
fill_integer(const struct dtype *d, const struct json *v, uint8_t *out)
{
	bool negative;
	uint64_t bits;
	unsigned width = 8 * d->size;
	if (read_bits(v, &negative, &bits) < 0)
		return not_a_fill(d, v);
	bool fits = negative ? (int64_t)bits >= INT64_MIN >> (64 - width)
			     : bits <= UINT64_MAX >> (64 - width);
	if (!fits)
		return not_a_fill(d, v);
	put(bits, d->size, d->big, out);
	return 0;
}

static int
fill_bool(const struct dtype *d, const struct json *v, uint8_t *out)
{
	double x;
	if (json_type(v) == JSON_TYPE_BOOL)
		*out = json_bool(v);
	else if (json_is(v, "true") || json_is(v, "True"))
		*out = 1;
	else if (json_is(v, "false") || json_is(v, "False") || json_is(v, ""))
		*out = 0;
	else if (read_float(v, &x) == 0)
		*out = x != 0;
	else
		return not_a_fill(d, v);
	return 0;
}

static int
fill_time(const struct dtype *d, const struct json *v, uint8_t *out)
{
	int64_t t = INT64_MIN;
	const char *s = json_text(v, NULL);
	if (!(s && !strcasecmp(s, "NaT")) && json_int(v, &t) < 0)
		return not_a_fill(d, v);
	put((uint64_t)t, 8, d->big, out);
	return 0;
}

/* What does not fit is cut off, as in any element of the type. */
static void
put_bytes(const void *bytes, size_t len, const struct dtype *d, uint8_t *out)
{
	memcpy(out, bytes, len < d->size ? len : d->size);
}

/* Base64; but a number, and text that is not base64 or need not be, stand for themselves. */
static int
fill_bytes(const struct dtype *d, const struct json *v, bool plain, uint8_t *out)
{
	size_t len;
	CLEAN(buf_free) struct buf bytes = {0};
	const char *s = json_text(v, &len);
	if (!s)
		return not_a_fill(d, v);
	bool itself = json_type(v) == JSON_TYPE_WORD || (plain && len <= d->size);
	int r = itself ? -EINVAL : base64_decode(s, len, &bytes);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && bytes.len)
		put_bytes(bytes.data, bytes.len, d, out);
	else if (r < 0)
		put_bytes(s, len, d, out);
	return 0;
}

/* The character at *p, which is left behind it; a byte that is not UTF-8 counts for U+FFFD. */
static uint32_t
next_character(const uint8_t **p, const uint8_t *end)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = *(*p)++;
	if (first < 0x80)
		return first;
	int bytes = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
	if (!bytes || first >= 0xf8 || end - *p < bytes - 1)
		return 0xfffd;
	uint32_t c = first & (0x7fu >> bytes);
	for (int i = 0; i < bytes - 1; i++) {
		if (((*p)[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | ((*p)[i] & 0x3f);
	}
	if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0xfffd;
	*p += bytes - 1;
	return c;
}

static int
fill_unicode(const struct dtype *d, const struct json *v, uint8_t *out)
{
	size_t len;
	const uint8_t *s = (const uint8_t *)json_text(v, &len);
	if (!s)
		return not_a_fill(d, v);
	const uint8_t *end = s + len;
	for (uint32_t at = 0; at < d->size && s < end; at += 4)
		put(next_character(&s, end), 4, d->big, out + at);
	return 0;
}

/* Base64 of the element, perhaps without its last bytes; or the number 0. */
static int
fill_raw(const struct dtype *d, const struct json *v, uint8_t *out)
{
	size_t len;
	int64_t zero;
	CLEAN(buf_free) struct buf bytes = {0};
	const char *s = json_text(v, &len);
	if (json_type(v) == JSON_TYPE_WORD && json_int(v, &zero) == 0 && !zero)
		return 0;
	if (!s || json_type(v) != JSON_TYPE_TEXT)
		return not_a_fill(d, v);
	int r = base64_decode(s, len, &bytes);
	if (r < 0)
		return r == -EINVAL ? not_a_fill(d, v) : r;
	if (bytes.len > d->size)
		return not_a_fill(d, v);
	if (bytes.len)
		memcpy(out, bytes.data, bytes.len);
	return 0;
}

static int
fill(const struct dtype *d, const struct json *v, bool plain, uint8_t *out)
{
	switch (d->kind) {
	case DTYPE_BOOL: return fill_bool(d, v, out);
	case DTYPE_INT:
	case DTYPE_UINT: return fill_integer(d, v, out);
	case DTYPE_FLOAT: return fill_float(d, v, out);
	case DTYPE_COMPLEX: return fill_complex(d, v, out);
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return fill_time(d, v, out);
	case DTYPE_BYTES: return fill_bytes(d, v, plain || d->is_char, out);
	case DTYPE_UNICODE: return fill_unicode(d, v, out);
	case DTYPE_RAW:
	case DTYPE_STRUCT: return fill_raw(d, v, out);
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES:
	case DTYPE_OBJECT: return 0;
	}
	return 0;
}

/* netcdf-c 4.8.0 wrote a list of one. */
static const struct json *
unwrap(const struct json *v)
{
	while (v && json_type(v) == JSON_TYPE_LIST && json_count(v) == 1)
		v = json_at(v, 0);
	return v && json_type(v) == JSON_TYPE_NULL ? NULL : v;
}

int
dtype_fill_v2(const struct dtype *d, const struct json *v, uint8_t *out, bool *null_fill)
{
	if (d->narrow) /* no Zarr V2 that NumPy knows: as they are in V3 */
		return dtype_fill_v3(d, unwrap(v), out, null_fill);
	v = unwrap(v);
	memset(out, 0, d->size);
	*null_fill = !v;
	return v ? fill(d, v, false, out) : 0;
}

int
dtype_fill_nczarr(const struct dtype *d, const struct json *v, uint8_t *out, bool *null_fill)
{
	v = unwrap(v);
	memset(out, 0, d->size);
	*null_fill = !v;
	return v ? fill(d, v, true, out) : 0;
}
