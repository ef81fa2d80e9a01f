#include "view/convert.h"

#include "base/err.h"
#include "base/swap.h"
#include "view/convert_bytes.h"
#include "view/convert_time.h"
#include "view/convert_undo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static int
copy_bytes(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	memcpy(out, in, n * c->atom_in);
	return 0;
}

static int
swap_bytes(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	swap_run(c->atom_in, out, in, n);
	return 0;
}

static int
ubyte_to_short(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store16(out + 2 * i, in[i]);
	return 0;
}

static inline void
ushorts(const uint8_t *in, uint64_t n, uint8_t *out, bool swap)
{
	for (uint64_t i = 0; i < n; i++)
		store32(out + 4 * i, load16(in + 2 * i, swap));
}

static int
ushort_to_int(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	if (c->swap)
		ushorts(in, n, out, true);
	else
		ushorts(in, n, out, false);
	return 0;
}

static inline void
uints(const uint8_t *in, uint64_t n, uint8_t *out, bool swap)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, load32(in + 4 * i, swap));
}

static int
uint_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	if (c->swap)
		uints(in, n, out, true);
	else
		uints(in, n, out, false);
	return 0;
}

/* IEEE 754 binary16: as a float with its small exponent, scaled by a power of two, which is
 * exact. */
static inline void
halves(const uint8_t *in, uint64_t n, uint8_t *out, bool swap)
{
	for (uint64_t i = 0; i < n; i++) {
		uint16_t h = load16(in + 2 * i, swap);
		uint32_t bits = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
		uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
		float f;
		memcpy(&f, &bits, sizeof f);
		f *= 0x1p112f;
		memcpy(&bits, &f, sizeof bits);
		store32(out + 4 * i, bits | special | sign);
	}
}

static int
half_to_float(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	if (c->swap)
		halves(in, n, out, true);
	else
		halves(in, n, out, false);
	return 0;
}

/* Are there more significant bits than a double has? */
static bool
too_fine(uint64_t magnitude)
{
	return magnitude >> DOUBLE_BITS && (magnitude >> __builtin_ctzll(magnitude)) >> DOUBLE_BITS;
}

/* Why an element cannot be shown as the double d; NULL: it can. bits: of the element as its type
 * has them, one of the fill values. */
static const char *
refusal(const struct convert *c, uint64_t bits, uint64_t magnitude, double d, bool is_signed)
{
	bool mistaken = false;
	for (unsigned i = 0; i < c->nfills; i++) {
		if (c->fill[i] == bits)
			return NULL;
		mistaken |= d == (is_signed ? (double)(int64_t)c->fill[i] : (double)c->fill[i]);
	}
	return too_fine(magnitude) ? "hold exactly" : mistaken ? "tell from the fill value" : NULL;
}

static int
refuse(const struct convert *c, const char *number, const char *what)
{
	return err_set(-EIO, "an element is %s, which a double cannot %s%s%s%s", number, what,
		c->where ? ": read '" : "", c->where ? c->where : "", c->where ? "'" : "");
}

static int
check_int64(const struct convert *c, const uint8_t *in, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
		const char *why = refusal(c, (uint64_t)v, magnitude, (double)v, true);
		char text[32];
		if (why) {
			snprintf(text, sizeof text, "%" PRId64, v);
			return refuse(c, text, why);
		}
	}
	return 0;
}

/* Is there any that a double may not tell from all others? */
static inline bool
int64s(const uint8_t *in, uint64_t n, uint8_t *out, bool swap)
{
	const uint64_t most = (UINT64_C(1) << DOUBLE_BITS) - 1;
	uint64_t beyond = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = load64(in + 8 * i, swap);
		beyond |= v + most > 2 * most;
		store_double(out + 8 * i, (double)(int64_t)v);
	}
	return beyond;
}

static int
int64_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	bool look = c->swap ? int64s(in, n, out, true) : int64s(in, n, out, false);
	return look ? check_int64(c, in, n) : 0;
}

static int
uint64_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = load64(in + 8 * i, c->swap);
		const char *why = v >> DOUBLE_BITS ? refusal(c, v, v, (double)v, false) : NULL;
		char text[32];
		if (why) {
			snprintf(text, sizeof text, "%" PRIu64, v);
			return refuse(c, text, why);
		}
		store_double(out + 8 * i, (double)v);
	}
	return 0;
}

/* As wide as it was: no character needs more than four bytes. */
static int
ucs4_to_utf8(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++, in += c->atom_in, out += c->atom_out) {
		size_t len = 0;
		for (uint32_t at = 0; at < c->atom_in; at += 4) {
			uint32_t ch = load32(in + at, c->swap);
			if (ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000))
				return err_set(-EIO,
					"an element has 0x%" PRIx32 " in it, which is no character",
					ch);
			len += (size_t)utf8proc_encode_char((utf8proc_int32_t)ch, out + len);
		}
		memset(out + len, 0, c->atom_out - len);
	}
	return 0;
}

static bool
host_is_big(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static void
same(struct convert *c, bool big)
{
	bool turn = !big && (c->atom_in == 2 || c->atom_in == 4 || c->atom_in == 8);
	c->atoms = c->undo = turn ? swap_bytes : copy_bytes;
}

static const struct {
	enum dtype_kind kind;
	uint32_t size;
	enum nc_type to;
	convert_atoms *atoms, *undo;
} widening[] = {
	{DTYPE_UINT, 1, NC_TYPE_SHORT, ubyte_to_short, undo_short_to_ubyte},
	{DTYPE_UINT, 2, NC_TYPE_INT, ushort_to_int, undo_int_to_ushort},
	{DTYPE_UINT, 4, NC_TYPE_DOUBLE, uint_to_double, undo_double_to_unsigned},
	{DTYPE_UINT, 8, NC_TYPE_DOUBLE, uint64_to_double, undo_double_to_uint64},
	{DTYPE_INT, 8, NC_TYPE_DOUBLE, int64_to_double, undo_double_to_int64},
	/* without a unit */
	{DTYPE_DATETIME, 8, NC_TYPE_DOUBLE, int64_to_double, undo_double_to_int64},
	{DTYPE_TIMEDELTA, 8, NC_TYPE_DOUBLE, int64_to_double, undo_double_to_int64},
	{DTYPE_FLOAT, 2, NC_TYPE_FLOAT, half_to_float, undo_float_to_half},
	/* in files that programs write */
	{DTYPE_FLOAT, 4, NC_TYPE_DOUBLE, float_to_double, undo_double_to_float},
	{DTYPE_INT, 1, NC_TYPE_DOUBLE, byte_to_double, undo_double_to_int},
	{DTYPE_INT, 2, NC_TYPE_DOUBLE, short_to_double, undo_double_to_int},
	{DTYPE_INT, 4, NC_TYPE_DOUBLE, int_to_double, undo_double_to_int},
	{DTYPE_UINT, 1, NC_TYPE_DOUBLE, ubyte_to_double, undo_double_to_unsigned},
	{DTYPE_UINT, 2, NC_TYPE_DOUBLE, ushort_to_double, undo_double_to_unsigned},
};

static bool
widen(const struct dtype *t, enum nc_type type, struct convert *c)
{
	for (size_t i = 0; i < sizeof widening / sizeof *widening; i++)
		if (widening[i].kind == t->kind && widening[i].size == t->size &&
			widening[i].to == type) {
			c->atoms = widening[i].atoms;
			c->undo = widening[i].undo;
			c->atom_out = (uint32_t)nc_type_size(type);
			return true;
		}
	return false;
}

bool
convert_from_doubles(const struct dtype *t)
{
	struct convert c = {0};
	return widen(t, NC_TYPE_DOUBLE, &c);
}

int
convert_make(const struct dtype *t, enum nc_type type, struct convert *ret)
{
	struct convert c = {.undo = copy_bytes,
		.atom_in = t->size,
		.atom_out = t->size,
		.swap = t->big != host_is_big(),
		.big = true};
	if (t->kind == DTYPE_COMPLEX)
		c.atom_in = c.atom_out = t->size / 2;
	if (t->kind == DTYPE_UNICODE) {
		c.atoms = ucs4_to_utf8;
		c.undo = undo_utf8_to_ucs4;
	} else if (type == NC_TYPE_CHAR || nc_type_size(type) == 1)
		c.atoms = widen(t, type, &c) ? c.atoms : copy_bytes;
	else if (!convert_time_make(t, type, &c) && !widen(t, type, &c))
		same(&c, t->big);
	if (t->kind == DTYPE_BOOL)
		c.undo = undo_bool;
	if (!c.atom_in || c.atom_out % nc_type_size(type))
		return err_set(-EINVAL, "no way from this type to that of the file");
	c.count = t->size / c.atom_in;
	c.in = t->size;
	c.out = c.count * c.atom_out;
	*ret = c;
	return 0;
}

void
convert_keep_order(struct convert *c)
{
	if (c->atoms != swap_bytes)
		return;
	c->atoms = c->undo = copy_bytes;
	c->big = false;
}

void
convert_pick(struct convert *c, uint32_t size, struct convert_part *part, uint32_t nparts)
{
	free(c->part);
	c->part = part;
	c->nparts = nparts;
	c->in = size;
	c->count = 0;
	for (uint32_t i = 0; i < nparts; i++)
		c->count += part[i].atoms;
	c->out = c->count * c->atom_out;
}

void
convert_allow(struct convert *c, const uint8_t *element)
{
	if (c->atom_in == 8 && c->nfills < sizeof c->fill / sizeof *c->fill)
		c->fill[c->nfills++] = load64(element, c->swap);
}

void
convert_free(struct convert *c)
{
	free(c->part);
	free(c->where);
	*c = (struct convert){0};
}

bool
convert_refuses(const struct convert *c)
{
	return c->atoms == int64_to_double || c->atoms == uint64_to_double ||
	       convert_time_refuses(c);
}

bool
convert_undo_refuses(const struct convert *c)
{
	return c->undo != copy_bytes && c->undo != swap_bytes;
}

bool
convert_none(const struct convert *c)
{
	return c->atoms == copy_bytes && !c->part;
}

int
convert_run(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	if (!c->part)
		return c->atoms(c, in, n * c->count, out);
	int r = 0;
	for (uint64_t i = 0; i < n && r == 0; i++, in += c->in)
		for (uint32_t k = 0; k < c->nparts && r == 0; k++) {
			r = c->atoms(c, in + c->part[k].at, c->part[k].atoms, out);
			out += (uint64_t)c->part[k].atoms * c->atom_out;
		}
	return r;
}
