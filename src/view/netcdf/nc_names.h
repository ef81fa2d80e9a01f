/* Names as netCDF files have them: NFC, because libnetcdf looks them up so; what netCDF (or ncgen
 * and NCO) refuses is written
 * `_xHH_`, which can be undone: a literal `_xHH_` has its first '_' written so too. */
#pragma once

#include "base/set.h"

enum {
	NC_NAME_MAX = 255
}; /* bytes; 256 are allowed, but ncdump finds no such attribute, and CDO aborts */

/* The name in the file. Never empty, valid UTF-8, at most NC_NAME_MAX bytes (else cut, with a
 * hash). Caller frees; NULL: no memory. */
char *nc_name(const char *name);
/* name, shortened where needed, and text; "t", "_2" → "t_2". For names that must differ. Caller
 * frees; NULL: no memory. */
char *nc_name_with(const char *name, const char *text);

/* Names that must differ from each other: {0} at first. */
struct nc_taken {
	struct set names;
};

/* The name in the file, of which there is only one: "t", then "t_2" … Caller frees; NULL: no
 * memory. */
char *nc_name_once(struct nc_taken *, const char *name);
void nc_taken_free(struct nc_taken *);
/* The same without a copy: what is taken borrows the name until nc_taken_done. All names of one
 * nc_taken are given one way. */
char *nc_name_lent(struct nc_taken *, const char *name);
void nc_taken_done(struct nc_taken *);
