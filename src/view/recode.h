/* Elements of a variable made into those of a netCDF file: big-endian, wider where the format lacks the type, text as UTF-8, times as
 * numbers, one field of a structured type. Never rounded, but for times and fill values. Immutable once made; any thread. */
#pragma once

#include "model/attr.h"
#include "model/dtype.h"

struct recode_part {
	uint32_t at,
		atoms; /* in an element: numbers that lie side by side, beginning at this byte */
};

struct recode {
	uint64_t in, out; /* bytes of one element, as it is stored and as it becomes */
	int (*atoms)(const struct recode *, const uint8_t *in, uint64_t n, uint8_t *out);
	uint32_t atom_in, atom_out;
	uint64_t count;    /* atoms of an element */
	bool swap;         /* as stored they are not in the order that atoms wants */
	uint64_t mul, div; /* of times */
	uint64_t fill[2];  /* numbers that need not be held exactly, in native order */
	unsigned nfills;
	struct recode_part *part; /* of a structured element; NULL: all of it is atoms. Owned */
	uint32_t nparts;
	char *where; /* for messages: the file that holds what this cannot; owned; may be NULL */
};

/* From elements of the type t, not a structured one, to `type`, which is the one that nc_type_in_file() says. */
int recode_make(const struct dtype *t, enum nc_type type, struct recode *ret);
/* What recode_make made works on a field of type t of a structured element of `size` bytes; parts are taken over. */
void recode_pick(struct recode *, uint32_t size, struct recode_part *part, uint32_t nparts);
/* A number of the elements' type, in their byte order, that may be rounded. */
void recode_allow(struct recode *, const uint8_t *element);
void recode_free(struct recode *);
/* There are elements that it refuses. */
bool recode_refuses(const struct recode *);
/* Bytes stay as they are. */
bool recode_none(const struct recode *);
/* n whole elements. -EIO: one cannot be held. */
int recode_run(const struct recode *, const uint8_t *in, uint64_t n, uint8_t *out);

/* The unit in which times of this type are counted in a file of this type of numbers (DOUBLE or INT64); NULL: just numbers. */
const char *recode_time_unit(const struct dtype *, enum nc_type);
/* What stands for NaT in double. netCDF's own fill value: NaN is no time to cftime and CDO. */
extern const double recode_nat;
