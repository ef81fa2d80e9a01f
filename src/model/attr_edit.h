/* Attributes on their way into documents: which type a new value gets, and how it is spelled. Any
 * thread; what is returned in a struct attr is the caller's (attr_clear). */
#pragma once

#include "base/buf.h"
#include "model/attr.h"

int attr_copy(const struct attr *, struct attr *ret);
/* Type and value are the same; names do not count. */
bool attr_same(const struct attr *, const struct attr *);
/* The same numbers in another type. -ERANGE: one of them is none of it, exactly, or it is no
 * numeric type. */
int attr_as(const struct attr *, enum nc_type, struct attr *ret);
/* The value in the type that the attribute had, where it fits that; old NULL: there was none. */
int attr_keep_type(const struct attr *, const struct attr *old, struct attr *ret);
/* A value as users write it (and attr_text shows it): numbers in CDL notation, joined by commas,
 * else text. What was text stays text. */
int attr_of_text(
	const char *name, const char *text, size_t len, const struct attr *old, struct attr *ret);

/* How documents of a dialect spell values. */
enum attr_spelling {
	ATTR_PURE,     /* no types, NaN as Python writes it; floats in all digits of the double that
			  they are */
	ATTR_RECORDED, /* NCZarr of netcdf-c 4.9.1 and later: "NaN" */
	ATTR_RECORDED_1, /* of 4.8.1 and 4.9.0, where text is "<U1" and there are no strings */
};

/* Appends the JSON value. was: the JSON that it replaces (len 0: none), for what JSON alone tells:
 * dicts, lists of one. -EINVAL: it has no value of that spelling. */
int attr_json(const struct attr *, enum attr_spelling, struct span was, struct buf *ret);
/* Appends what netcdf-c calls its type ("<f4", ">S1"). -ENOTSUP: that version has no such type. */
int attr_type_name(const struct attr *, enum attr_spelling, struct buf *ret);
