/* What one element is: kind, size, byte order. From Zarr V2 dtype strings and lists (V2 spec, "Data
 * type encoding") and from V3 data_type ("Data types", and the registered extensions). A dtype is a
 * plain value; fields of a structured type are owned (dtype_free). */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype_kind {
	DTYPE_BOOL,
	DTYPE_INT,
	DTYPE_UINT,
	DTYPE_FLOAT,    /* 2, 4, 8 bytes */
	DTYPE_COMPLEX,  /* 8, 16 bytes: two floats, each in the byte order */
	DTYPE_DATETIME, /* int64, NaT = INT64_MIN */
	DTYPE_TIMEDELTA,
	DTYPE_BYTES,     /* S<n>, NUL-padded; also NetCDF's char, see is_char */
	DTYPE_UNICODE,   /* U<n>, UCS-4 in the byte order */
	DTYPE_RAW,       /* V<n> */
	DTYPE_STRUCT,    /* packed fields */
	DTYPE_VLEN_TEXT, /* variable-length UTF-8; size is the width that its elements are padded
			    to, 0 while unknown */
	DTYPE_VLEN_BYTES,
	DTYPE_OBJECT, /* anything else that has no flat form (json2, msgpack2, vlen-array,
			 pickle) */
};

enum time_unit {
	TIME_GENERIC,
	TIME_Y,
	TIME_M,
	TIME_W,
	TIME_D,
	TIME_H,
	TIME_MIN,
	TIME_S,
	TIME_MS,
	TIME_US,
	TIME_NS,
	TIME_PS,
	TIME_FS,
	TIME_AS
};

/* Numbers that are stored in less than they are shown in: model/narrow.h. */
enum narrow {
	NARROW_NONE,
	NARROW_INT2,
	NARROW_INT4,
	NARROW_UINT2,
	NARROW_UINT4,
	NARROW_BFLOAT16,
	NARROW_FLOAT4_E2M1FN,
	NARROW_FLOAT6_E2M3FN,
	NARROW_FLOAT6_E3M2FN,
	NARROW_FLOAT8_E3M4,
	NARROW_FLOAT8_E4M3,
	NARROW_FLOAT8_E4M3FN,
	NARROW_FLOAT8_E4M3FNUZ,
	NARROW_FLOAT8_E4M3B11FNUZ,
	NARROW_FLOAT8_E5M2,
	NARROW_FLOAT8_E5M2FNUZ,
	NARROW_FLOAT8_E8M0FNU,
};

/* No element is larger, in bytes: NumPy has the same limit. */
enum { DTYPE_RANK_MAX = 32, DTYPE_SIZE_MAX = INT32_MAX };

struct dtype_field;

struct dtype {
	enum dtype_kind kind;
	bool big;      /* byte order of what the codecs give; meaningless for 1-byte elements and
			  structs, whose fields each have their own */
	bool is_char;  /* NCZarr's NC_CHAR (">S1" and older "<U1" with 1 byte) */
	uint32_t size; /* bytes of one element; DTYPE_OBJECT: 0 */
	enum narrow narrow; /* what it was stored as; kind and size are what it is shown as, or
			       DTYPE_RAW to codecs between */
	enum time_unit unit;
	uint32_t unit_count; /* of "M8[10ns]": 10 */
	struct dtype_field *field;
	size_t nfields;
};

struct dtype_field {
	char *name;
	struct dtype type; /* of one element of the field */
	unsigned rank;     /* subarray; 0: none */
	uint64_t shape[DTYPE_RANK_MAX];
	uint64_t count;  /* product of shape */
	uint32_t offset; /* in the structured element */
};

/* A V2 dtype: a string or a list of fields. -EINVAL (with the reason) for what is not a dtype at
 * all. -ENOTSUP for one that is known but not read here (float128, …): *ret then is a DTYPE_RAW of
 * its size. */
int dtype_parse_v2(const struct json *, struct dtype *ret);
/* The same of a V2 dtype that is a text: "<f4", and NumPy's names ("float32"), in the machine's
 * byte order. */
int dtype_parse_name(const char *text, struct dtype *ret);
/* A V3 data_type: its name, or {"name", "configuration"}. The byte order is the machine's: the
 * codec `bytes` says it later, to dtype_set_order. Errors as of dtype_parse_v2. */
int dtype_parse_v3(const struct json *, struct dtype *ret);
/* All that swaps is stored in that order, fields too. */
void dtype_set_order(struct dtype *, bool big);
/* Is there anything in an element that has a byte order? */
bool dtype_has_order(const struct dtype *);
/* For parsers: puts a field, whose type and count are known, behind those before it. -EINVAL: too
 * large. */
int dtype_place_field(struct dtype *, struct dtype_field *);
void dtype_free(struct dtype *);
int dtype_copy(const struct dtype *, struct dtype *ret);
/* As Zarr V2 would write it ("<f4", "|S3", "[('x', '<f4')]" for structs): for user.zarrfs.dtype.
 * Caller frees. */
char *dtype_text(const struct dtype *);
/* "ns", "D", … as NumPy and V3 call it; TIME_GENERIC: "generic". */
const char *dtype_unit_name(enum time_unit);
/* Bytes that swap together: 2, 4, 8, or 1 if nothing does. Complex: its floats; U: 4. Not for
 * DTYPE_STRUCT. */
unsigned dtype_swap_unit(const struct dtype *);
/* Swaps n elements in place, fields of structured types each by their own unit. */
void dtype_swap(const struct dtype *, void *data, uint64_t n);
/* The bytes of a fill value, in the dtype's own byte order, from a V2 fill_value in any of its
 * spellings. null or absent (NULL): zeros and *null_fill. `out` has dtype->size bytes. -EINVAL if
 * it cannot be one; `out` is zeros then. Of types without a flat form (vlen, object) it is
 * zeros. */
int dtype_fill_v2(const struct dtype *, const struct json *value, uint8_t *out, bool *null_fill);
/* The same as NCZarr writes it: the text of S types is plain, where zarr-python has base64, unless
 * it is longer than the element. So it is for is_char in the other function, too. */
int dtype_fill_nczarr(
	const struct dtype *, const struct json *value, uint8_t *out, bool *null_fill);
/* The same from a V3 fill_value: also bits in hexadecimal, lists of bytes, a member for each field
 * of a structured type. */
int dtype_fill_v3(const struct dtype *, const struct json *value, uint8_t *out, bool *null_fill);
/* The nearest real number of 2, 4 or 8 bytes, in that byte order. */
void dtype_put_real(double, unsigned size, bool big, uint8_t *out);
