/* The metadata objects of a node itself, as one look asks for them. Only model/ includes this. */
#pragma once

#include "model/node_cache.h"

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
struct probe {
	struct discovery *l;
	struct fetch f;
	unsigned asked,
		stale; /* what was asked for; what is known to be the same but has no bytes here */
	bool in_zarr;  /* the path lies in a Zarr hierarchy */
	bool v1, pure;
	bool v2, v3;  /* only documents of that Zarr version count: its hierarchy's, or the URL says
			 so */
	bool entered; /* it was asked whether another store lies here, or is known that none does */
	bool unlikely;      /* that there is anything: consolidated metadata lack it */
	bool listed, below; /* it is known whether there are keys below; there are some */
};

/* Asks for what was not asked for yet. */
void probe_need(struct probe *, unsigned kinds);
/* One of them was asked for and is there. */
bool probe_has(const struct probe *, unsigned kinds);
/* Refused, or too large: one may do without. */
bool probe_left_out(int result);
/* The first failure among what was asked for. Beside an object that is there (found), one that is
 * refused or too large is only left out where it is optional. 0 or -errno. */
int probe_failure(const struct probe *, bool found);
/* Above stores, and where it is unlikely, most paths are no nodes, and one listing says which
 * metadata objects there are; but of a root that is said to be of the dialect with one object, or
 * is known to have it. What it does not name is not asked for. 0, also where it cannot say; or
 * -errno. */
int probe_names(struct probe *);
/* The root of a remote store with consolidated metadata costs one request. Where there were none
 * the last time, nothing waits for them. */
bool probe_consolidated_first(const struct probe *);
/* Everything that can say what the path is. Where each request costs a round trip, all that is
 * likely needed goes together. A; the kinds of a group; V3; 0: nothing. */
unsigned probe_what(struct probe *);
/* All that was asked for is as it was when the node was made. */
bool probe_unchanged(const struct probe *);
/* Bytes of what was the same, since a node is made of all of its objects; not of consolidated ones,
 * whose index is kept. */
void probe_get_the_same(struct probe *);
/* What is there, with its versions, for the next look. */
int probe_keep_seen(const struct probe *, struct seen **ret);

/* Consolidated metadata above know the path. */
/* Lists the array's keys, where metadata do not say what separates indices and the look goes that
 * far. 0 or -errno. */
int discover_separator(const struct discovery *, struct node *);
/* The node that was there before was made without having done that. */
bool discover_separator_due(const struct discovery *);
