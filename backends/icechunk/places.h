/* The containers of virtual chunks in the configuration of an Icechunk repository: what their names
 * stand for, and which prefix to propose to the user. They permit nothing. Values are immutable
 * once made; any thread may use them. */
#pragma once

#include "backends/container/container.h"

struct ice_places;

/* What a configuration says of one; empty: nothing. */
struct ice_place {
	struct span name, prefix;
	struct span region, endpoint;
	bool anonymous;
};

/* Adds a copy of each container that a configuration names. What cannot be read in it is left out;
 * < 0: all of it, or -ENOMEM. */
typedef int ice_config_fn(struct span config, struct ice_places *into);
ice_config_fn ice_config_flex, /* FlexBuffers: spec 2 */
	ice_config_yaml;       /* spec 1; none where this is built without libyaml */
int ice_places_add(struct ice_places *, const struct ice_place *);

/* Of a configuration; empty: there are none. 0; -ENOMEM. */
int ice_places_new(ice_config_fn *, struct span config, struct ice_places **ret);
struct ice_places *ice_places_free(struct ice_places *); /* NULL allowed; returns NULL */
/* Says of a virtual chunk what "vcc://NAME/" stands for, and which container it is in. NULL: there
 * are none. 0; -ENOMEM. */
int ice_places_apply(const struct ice_places *, struct chunk_place *);
