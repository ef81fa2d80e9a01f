#include "view/text/cdl_text.h"

#include "base/err.h"
#include "store/zmap.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static bool
in_list(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* What ncgen reads as something else than a name. */
static bool
is_word(const char *name)
{
	static const char *const words[] = {"byte", "char", "short", "int", "integer", "long",
		"ulong", "float", "real", "double", "ubyte", "ushort", "uint", "int64", "uint64",
		"string", "opaque", "enum", "compound", "struct", "structure", "netcdf", "netCDF",
		"NETCDF", "types", "dimensions", "variables", "data", "group", "unlimited",
		"UNLIMITED", "NaN", "nan", "NaNf", "nanf", "inf", "inff", "infinity", "infinityf",
		"Inf", "Inff", "Infinity", "Infinityf", "NIL", "nil", "Nil", "_",
		/* about storage */
		"_Format", "_Storage", "_ChunkSizes", "_Fletcher32", "_DeflateLevel", "_Shuffle",
		"_Endianness", "_NoFill", "_Codecs", "_Filter", "_NCProperties", "_IsNetcdf4",
		"_SuperblockVersion", "_Netcdf4Dimid", "_Netcdf4Coordinates", NULL};
	return in_list(words, name);
}

static int
add_name(const char *name, bool escaped, struct buf *ret)
{
	const uint8_t *p = (const uint8_t *)name;
	int r = 0;
	for (size_t i = 0; p[i] && r == 0; i++) {
		bool plain = isalnum(p[i]) || p[i] >= 0x80 || strchr("_+-.@", p[i]);
		if ((i == 0 && escaped) || p[i] == '?')
			r = buf_addf(ret, "_x%02X_", p[i]);
		else if (!plain || (i == 0 && isdigit(p[i])))
			r = buf_addf(ret, "\\%c", p[i]);
		else
			r = buf_add(ret, p + i, 1);
	}
	return r;
}

int
cdl_name(const char *name, struct buf *ret)
{
	return cdl_attr_name(name, false, ret);
}

int
cdl_attr_name(const char *name, bool in_variable, struct buf *ret)
{
	bool misplaced = !in_variable && strcmp(name, "_FillValue") == 0;
	return add_name(name, is_word(name) || misplaced, ret);
}

int
cdl_quoted(const char *text, size_t len, struct buf *ret)
{
	const uint8_t *p = (const uint8_t *)text;
	int r = buf_add(ret, "\"", 1);
	for (size_t i = 0; i < len && r == 0; i++) {
		static const char from[] = "\b\f\n\r\t\v\"'\\", to[] = "bfnrtv\"'\\";
		const char *found = p[i] ? strchr(from, p[i]) : NULL;
		if (found)
			r = buf_addf(ret, "\\%c", to[found - from]);
		else if (p[i] < ' ' || p[i] == 0x7f)
			r = buf_addf(ret, "\\%03o", p[i]);
		else
			r = buf_add(ret, p + i, 1);
	}
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

int
cdl_values(const struct attr *a, struct buf *ret)
{
	int r = 0;
	if (a->type == NC_TYPE_CHAR)
		return cdl_quoted(a->data, a->count, ret);
	if (!a->count)
		return ZMAP_ABSENT;
	if (a->type != NC_TYPE_STRING) {
		CLEAN(clean_free) char *text = attr_text(a);
		return text ? buf_add(ret, text, strlen(text))
			    : err_set(-ENOMEM, "no memory for an attribute");
	}
	for (size_t i = 0; i < a->count && r == 0; i++) {
		const char *s = ((char **)a->data)[i];
		r = i ? buf_add(ret, ", ", 2) : 0;
		if (r == 0)
			r = cdl_quoted(s, strlen(s), ret);
	}
	return r;
}

int
cdl_comment(const char *text, struct buf *ret)
{
	int r = 0;
	for (; *text && r == 0; text++)
		r = buf_add(ret, (uint8_t)*text < ' ' ? " " : text, 1);
	return r;
}

const char *
cdl_type_name(enum nc_type t)
{
	static const char *const name[] = {
		[NC_TYPE_NONE] = "",
		[NC_TYPE_BYTE] = "byte",
		[NC_TYPE_CHAR] = "char",
		[NC_TYPE_SHORT] = "short",
		[NC_TYPE_INT] = "int",
		[NC_TYPE_FLOAT] = "float",
		[NC_TYPE_DOUBLE] = "double",
		[NC_TYPE_UBYTE] = "ubyte",
		[NC_TYPE_USHORT] = "ushort",
		[NC_TYPE_UINT] = "uint",
		[NC_TYPE_INT64] = "int64",
		[NC_TYPE_UINT64] = "uint64",
		[NC_TYPE_STRING] = "string",
	};
	return name[t];
}
