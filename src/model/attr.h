/* Typed attributes, as netCDF has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* netCDF's external types, with netCDF's numbers. */
enum nc_type {
	NC_TYPE_NONE = 0,
	NC_TYPE_BYTE = 1,
	NC_TYPE_CHAR = 2,
	NC_TYPE_SHORT = 3,
	NC_TYPE_INT = 4,
	NC_TYPE_FLOAT = 5,
	NC_TYPE_DOUBLE = 6,
	NC_TYPE_UBYTE = 7,
	NC_TYPE_USHORT = 8,
	NC_TYPE_UINT = 9,
	NC_TYPE_INT64 = 10,
	NC_TYPE_UINT64 = 11,
	NC_TYPE_STRING = 12,
};

struct attr {
	char *name;
	enum nc_type type;
	bool recorded; /* the store said the type (NCZarr); else inferred */
	bool json;     /* text of a JSON object or nested list */
	size_t count;  /* elements; CHAR: bytes */
	void *data;    /* count elements in native order; CHAR: bytes and a NUL behind; STRING: char
			*[count] */
};

struct attrs {
	struct attr *attr;
	size_t count;
	char **problem; /* one line for each attribute that could not be kept, for the log */
	size_t nproblems;
};

void attrs_free(struct attrs *);
void attr_clear(struct attr *); /* what it holds */
/* Makes it text: a copy of len bytes; its name stays. 0 or -ENOMEM. */
int attr_set_text(struct attr *, const char *text, size_t len);
/* CF and netCDF want the attribute of that name in its variable's own type. */
bool attr_takes_type(const char *name);
/* A name that the formats keep for themselves: no user sees it. */
bool attr_is_hidden(const char *name);
const struct attr *attrs_find(const struct attrs *, const char *name);
/* Of an attribute that is one text, or NULL. Borrowed. */
const char *attrs_text(const struct attrs *, const char *name);
size_t nc_type_size(enum nc_type); /* 0 for STRING */
/* The one of these types that goes with elements of 1, 2, 4 or 8 bytes; NC_TYPE_NONE for other
 * sizes. */
enum nc_type nc_type_by_size(
	uint32_t size, enum nc_type one, enum nc_type two, enum nc_type four, enum nc_type eight);
struct dtype;
/* The netCDF type that holds elements of a dtype as they are, or NC_TYPE_NONE. */
enum nc_type nc_type_of(const struct dtype *);
/* A number of any type: whole, or not. */
struct attr_number {
	bool real, above; /* real: in d, else in i; above: more than an int64 holds, in u */
	double d;
	int64_t i;
	uint64_t u; /* the bits of i */
};
/* Element `at` of a numeric attribute. */
struct attr_number attr_number(const struct attr *, size_t at);
/* Are its elements numbers? */
bool attr_is_number(const struct attr *);
/* The value as a user reads it: text as it is, numbers in CDL notation (1.5f, 3b, 7ULL …) joined by
 * ", ". Caller frees. */
char *attr_text(const struct attr *);
