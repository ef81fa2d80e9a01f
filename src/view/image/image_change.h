/* What one netCDF header means after another: which variables are the same, which are new, what of
 * their attributes differs, which dimensions have grown. By names, whatever lies where. A plain
 * value that borrows from both forms. */
#pragma once

#include "view/image/image_form.h"

static const size_t CHANGE_NONE = SIZE_MAX; /* no variable: a new one; the file itself */

struct change_attr {
	size_t var; /* of the later form; CHANGE_NONE: the file's own */
	const char *name;
	const struct attr *to;   /* NULL: deleted */
	const struct attr *from; /* NULL: added */
};

struct change {
	const struct image_form *was; /* NULL: there was no file */
	const struct image_form *now;
	size_t *var; /* one a variable of `now`: which it was, or CHANGE_NONE */
	struct change_attr *attr;
	size_t nattrs;
	uint64_t *grown;      /* one a dimension of `was`: how long it is now; 0: as before */
	const char **renamed; /* one a dimension of `was`: what it is called now; NULL: as before */
	size_t missing;       /* variables of `was` that `now` has not */
	bool *gone;           /* one a variable of `was`: it is one of them */
	bool in_place;        /* the file was edited: variables and dimensions keep their numbers */
	bool rewritten;       /* nothing shows through of what the file was */
	bool flows;           /* elements of all variables are written in the order of the file */
};

enum change_how {
	CHANGE_KEEP = 1, /* nothing is taken for deleted that `now` lacks, but for attributes of the
			    variable `own` */
	CHANGE_REWRITTEN = 2,
	CHANGE_BY_NAME = 4, /* a variable of another name is another one */
};

/* how: enum change_how, together; own: the variable of `was` that the file is for, or CHANGE_NONE.
 * Of a file that was edited where it lies variables and dimensions are known by their numbers,
 * whatever they are called now: netCDF libraries keep these. Else by their names; a dimension of
 * the same size, where nothing has the old name any more and nothing had the new one, is that one
 * with another name, unless all was rewritten. 0, -EINVAL with the reason: an existing variable has
 * become something else. */
int change_make(const struct image_form *was, const struct image_form *now, unsigned how,
	size_t own, struct change *ret);
void change_free(struct change *); /* what it holds, not itself */
/* Has any dimension of `was` another name? */
bool change_renames_dims(const struct change *);
/* Has any variable? */
bool change_renames_vars(const struct change *);
/* Has the variable of `now` another name than it had? */
bool change_renames(const struct change *, size_t var);
/* How long the leading dimension of a variable is that the file had before, if that has grown; else
 * 0. */
uint64_t change_grown(const struct change *, size_t var);
/* Is there anything but values that differs? */
bool change_of_metadata(const struct change *);
/* The variable of that name, or CHANGE_NONE. */
size_t change_find(const struct nc_file *, const char *name);
/* Do two attributes say the same? Of the same type, unless types are free: then numbers count. */
bool change_same_attr(const struct attr *, const struct attr *, bool free_types);
