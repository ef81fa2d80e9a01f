#include "view/image/image_fill.h"

#include "base/buf.h"

#include <string.h>

/* As netCDF's documentation has them, by type. */
static const uint8_t fill_of_type[][8] = {
	[NC_TYPE_BYTE] = {0x81},
	[NC_TYPE_CHAR] = {0},
	[NC_TYPE_SHORT] = {0x80, 0x01},
	[NC_TYPE_INT] = {0x80, 0, 0, 0x01},
	[NC_TYPE_FLOAT] = {0x7c, 0xf0, 0, 0},
	[NC_TYPE_DOUBLE] = {0x47, 0x9e, 0, 0, 0, 0, 0, 0},
	[NC_TYPE_UBYTE] = {0xff},
	[NC_TYPE_USHORT] = {0xff, 0xff},
	[NC_TYPE_UINT] = {0xff, 0xff, 0xff, 0xff},
	[NC_TYPE_INT64] = {0x80, 0, 0, 0, 0, 0, 0, 0x02},
	[NC_TYPE_UINT64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe},
};

struct image_fill
image_fill_of(const struct nc_var *v)
{
	const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const struct attr *a = attrs_find(&v->attrs, "_FillValue");
	struct image_fill f = {.size = nc_type_size(v->type)};
	if (v->type < sizeof fill_of_type / sizeof *fill_of_type)
		memcpy(f.bytes, fill_of_type[v->type], sizeof f.bytes);
	if (a && a->type == v->type && a->count == 1)
		for (size_t i = 0; i < f.size; i++)
			f.bytes[i] = ((const uint8_t *)a->data)[is_big ? i : f.size - 1 - i];
	return f;
}

bool
image_is_fill(const struct image_fill *f, const uint8_t *bytes, size_t n)
{
	return span_repeats((struct span){bytes, n}, f->bytes, f->size);
}
