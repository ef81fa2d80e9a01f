/* The metadata objects of a node itself, as one look asks for them. Only model/ includes this. */
#pragma once

#include "model/place.h"

enum {
	A = 1 << META_ARRAY,
	G = 1 << META_GROUP,
	T = 1 << META_ATTRS,
	ALL = 1 << META_ALL,
	NC_GROUP = 1 << META_NC_GROUP,
	NC_ARRAY = 1 << META_NC_ARRAY,
	NC_ATTRS = 1 << META_NC_ATTRS,
	V3 = 1 << META_V3,
};

/* A look at a node's own objects. Zeroed but for what is known before. */
struct own {
	struct look *l;
	struct fetch f;
	unsigned asked,
		stale; /* what was asked for; what is known to be the same but has no bytes here */
	bool in_zarr;  /* the path lies in a Zarr hierarchy */
	bool v1, pure;
	bool listed, below; /* it is known whether there are keys below; there are some */
};

/* Asks for what was not asked for yet. */
void own_need(struct own *, unsigned kinds);
/* One of them was asked for and is there. */
bool own_has(const struct own *, unsigned kinds);
/* Refused, or too large: one may do without. */
bool own_left_out(int result);
/* The first failure among what was asked for. Beside an object that is there (found), one that is refused or
 * too large is only left out where it is optional. 0 or -errno. */
int own_failure(const struct own *, bool found);
/* Above stores most paths are no nodes, and one listing says which metadata objects there are. What it does not name is not asked for.
 * 0, also where it cannot say; or -errno. */
int own_names(struct own *);
/* Everything that can say what the path is. Where each request costs a round trip, all that is likely needed goes together.
 * A; the kinds of a group; V3; 0: nothing. */
unsigned own_what(struct own *);
/* All that was asked for is as it was when the node was made. */
bool own_unchanged(const struct own *);
/* Bytes of what was the same, since a node is made of all of its objects; not of .zmetadata, whose index is kept. */
void own_get_the_same(struct own *);
/* What is there, with its versions, for the next look. */
int own_keep_seen(const struct own *, struct seen **ret);

/* Consolidated metadata above know the path. */
bool look_covered(const struct look *);
