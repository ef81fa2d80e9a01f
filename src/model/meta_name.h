/* What the objects are called that metadata lie in, of every dialect. */
#pragma once

#include <stdbool.h>

/* Kinds of objects. */
enum meta_kind {
	META_ARRAY, /* Zarr V2's: what an array is */
	META_GROUP,
	META_ATTRS,    /* of either */
	META_ALL,      /* all of those below a group */
	META_NC_GROUP, /* NCZarr V1's, beside them */
	META_NC_ARRAY,
	META_NC_ATTRS,
	META_V3, /* Zarr V3's: everything */
	META_KINDS,
};

/* Names of the object, the usual one first; the second may be NULL. */
extern const char *const meta_name[META_KINDS][2];
/* The kind of object that has the name, META_KINDS: none. */
enum meta_kind meta_kind_of(const char *name);
/* A name that is no key of a user's own: metadata of any kind. */
bool meta_is_name(const char *name);
