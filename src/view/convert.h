/* Elements of a variable made into those of a netCDF file: big-endian (netCDF-4 has both orders),
 * wider where the format lacks the type, text as UTF-8, times as numbers, one field of a structured
 * type. Never rounded, but for times and fill values. And back again. Immutable once made; any
 * thread. */
#pragma once

#include "model/attr.h"
#include "model/dtype.h"

struct convert_part {
	uint32_t at,
		atoms; /* in an element: numbers that lie side by side, beginning at this byte */
};

struct convert;
typedef int convert_atoms(const struct convert *, const uint8_t *in, uint64_t n, uint8_t *out);

struct convert {
	uint64_t in, out;            /* bytes of one element, as it is stored and as it becomes */
	convert_atoms *atoms, *undo; /* there, and back */
	uint32_t atom_in, atom_out;
	uint64_t count;    /* atoms of an element */
	bool swap;         /* as stored they are not in the order that atoms wants */
	bool big;          /* order of the numbers that it makes */
	uint64_t mul, div; /* of times */
	uint64_t fill[2];  /* numbers that need not be held exactly, in native order */
	unsigned nfills;
	struct convert_part *part; /* of a structured element; NULL: all of it is atoms. Owned */
	uint32_t nparts;
	char *where; /* for messages: the file that holds what this cannot; owned; may be NULL */
};

/* Can a file that a program writes have doubles for elements of this type, which no file of ours
 * has? */
bool convert_from_doubles(const struct dtype *);
/* From elements of the type t, not a structured one, to `type`, which is the one that
 * nc_type_in_file() says, or see convert_from_doubles. */
int convert_make(const struct dtype *t, enum nc_type type, struct convert *ret);
/* Of what convert_make made: elements in which nothing but the order of bytes would change stay as
 * they are. */
void convert_keep_order(struct convert *);
/* What convert_make made works on a field of type t of a structured element of `size` bytes; parts
 * are taken over. */
void convert_pick(struct convert *, uint32_t size, struct convert_part *part, uint32_t nparts);
/* A number of the elements' type, in their byte order, that may be rounded. */
void convert_allow(struct convert *, const uint8_t *element);
void convert_free(struct convert *);
/* There are elements that it refuses. */
bool convert_refuses(const struct convert *);
/* There are numbers of the file that cannot be taken back. */
bool convert_undo_refuses(const struct convert *);
/* Bytes stay as they are. */
bool convert_none(const struct convert *);
/* n whole elements. -EIO: one cannot be held. */
int convert_run(const struct convert *, const uint8_t *in, uint64_t n, uint8_t *out);

/* n atoms that are all of the file's, made into those that are stored, packed. What convert_run
 * would make of them is what was there, but for the bits of a NaN in half precision and the sign of
 * an integer zero. -ERANGE: there is no such value, err_text says which. */
int convert_undo(const struct convert *, const uint8_t *in, uint64_t n, uint8_t *out);
/* The first byte of an atom, counted from the first element's first, in the elements as they are
 * stored; *ret_run: how many lie side by side from there. */
uint64_t convert_place(const struct convert *, uint64_t atom, uint64_t *ret_run);

/* The unit in which times of this type are counted in a file of this type of numbers (DOUBLE or
 * INT64); NULL: just numbers. */
const char *convert_time_unit(const struct dtype *, enum nc_type);
/* The attribute `units` of such numbers. False: just numbers, ret is as it was. */
bool convert_time_units(const struct dtype *, enum nc_type, char *ret, size_t size);
/* What stands for NaT in double. netCDF's own fill value: NaN is no time to cftime and CDO. */
extern const double convert_nat;
