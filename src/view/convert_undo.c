#include "view/convert_undo.h"

#include "base/err.h"
#include "view/convert_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <utf8proc.h>

int
undo_refuse(double d)
{
	return err_set(-ERANGE, "%.17g is no value that these elements can have", d);
}

int
undo_bool(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		if (in[i] > 1)
			return undo_refuse((int8_t)in[i]);
	memcpy(out, in, n);
	return 0;
}

int
undo_short_to_ubyte(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int16_t v = (int16_t)load_big16(in + 2 * i);
		if (v < 0 || v > UINT8_MAX)
			return undo_refuse(v);
		out[i] = (uint8_t)v;
	}
	return 0;
}

int
undo_int_to_ushort(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int32_t v = (int32_t)load_big32(in + 4 * i);
		if (v < 0 || v > UINT16_MAX)
			return undo_refuse(v);
		put16(out + 2 * i, (uint16_t)v, c->swap);
	}
	return 0;
}

/* A double that a fill value was rounded to is that. */
static bool
is_fill(const struct convert *c, double d, bool is_signed, uint64_t *ret)
{
	for (unsigned i = 0; i < c->nfills; i++)
		if (d == (is_signed ? (double)(int64_t)c->fill[i] : (double)c->fill[i])) {
			*ret = c->fill[i];
			return true;
		}
	return false;
}

int
undo_double_to_int64(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		double d = load_double(in + 8 * i);
		uint64_t v;
		if (!is_fill(c, d, true, &v)) {
			if (!(d >= -0x1p63 && d < 0x1p63) || d != floor(d))
				return undo_refuse(d);
			v = (uint64_t)(int64_t)d;
		}
		put64(out + 8 * i, v, c->swap);
	}
	return 0;
}

int
undo_double_to_uint64(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		double d = load_double(in + 8 * i);
		uint64_t v;
		if (!is_fill(c, d, false, &v)) {
			if (!(d >= 0 && d < 0x1p64) || d != floor(d))
				return undo_refuse(d);
			v = (uint64_t)d;
		}
		put64(out + 8 * i, v, c->swap);
	}
	return 0;
}

int
undo_float_to_half(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	enum { DROPPED = 13, INF = 0x7c00, QUIET = 0x200 };
	for (uint64_t i = 0; i < n; i++) {
		uint32_t bits = load_big32(in + 4 * i), sign = bits >> 16 & 0x8000, small;
		float f, g;
		bits &= 0x7fffffff;
		memcpy(&f, &bits, sizeof f);
		g = f * 0x1p-112f; /* with the exponent that a half has; exact if it is one */
		memcpy(&small, &g, sizeof small);
		uint32_t h = small >> DROPPED;
		if (isnan(f))
			h = INF | (bits >> DROPPED & 0x3ff) | QUIET;
		else if (isinf(f))
			h = INF;
		else if (h >= INF || h << DROPPED != small || g * 0x1p112f != f)
			return undo_refuse((double)(sign ? -f : f));
		put16(out + 2 * i, (uint16_t)(h | sign), c->swap);
	}
	return 0;
}

/* Of one element. */
static int
take_text(const struct convert *c, const uint8_t *in, uint8_t *out)
{
	const uint32_t most = c->atom_in / 4;
	uint32_t len = c->atom_out, n = 0;
	while (len && !in[len - 1])
		len--;
	memset(out, 0, c->atom_in);
	for (uint32_t at = 0; at < len; n++) {
		utf8proc_int32_t ch;
		utf8proc_ssize_t took =
			utf8proc_iterate(in + at, (utf8proc_ssize_t)(len - at), &ch);
		if (took <= 0)
			return err_set(-ERANGE, "a text that is not UTF-8");
		if (n == most)
			return err_set(-ERANGE, "a text of more than %" PRIu32 " characters", most);
		put32(out + 4 * (uint64_t)n, (uint32_t)ch, c->swap);
		at += (uint32_t)took;
	}
	return 0;
}

int
undo_utf8_to_ucs4(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	int r = 0;
	for (uint64_t i = 0; i < n && r == 0; i++, in += c->atom_out, out += c->atom_in)
		r = take_text(c, in, out);
	return r;
}

int
convert_undo(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	return c->undo(c, in, n, out);
}

uint64_t
convert_place(const struct convert *c, uint64_t atom, uint64_t *ret_run)
{
	if (!c->part) {
		*ret_run = UINT64_MAX;
		return atom * c->atom_in;
	}
	uint64_t element = atom / c->count, in = atom % c->count;
	uint32_t i = 0;
	while (in >= c->part[i].atoms)
		in -= c->part[i++].atoms;
	*ret_run = c->part[i].atoms - in;
	return element * c->in + c->part[i].at + in * c->atom_in;
}
