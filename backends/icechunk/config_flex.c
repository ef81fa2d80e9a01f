/* The configuration of spec 2, which lies in `repo`. */
#include "backends/icechunk/flex.h"
#include "backends/icechunk/places.h"

enum {
	CONTAINERS_MAX = 1024,
	OPTIONS_MAX = 64,
};

static struct span
text_of(const struct flex_map *m, const char *key)
{
	struct flex f;
	struct span s;
	return flex_get(m, key, &f) && flex_text(&f, &s) ? s : (struct span){0};
}

/* {KIND: options} */
static void
read_store(const struct flex *store, struct ice_place *ret)
{
	struct flex_map m, options;
	struct span kind;
	struct flex f;
	if (!flex_map(store, &m) || m.count != 1 || !flex_entry(&m, 0, &kind, &f) ||
		!flex_map(&f, &options) || options.count > OPTIONS_MAX)
		return;
	ret->region = text_of(&options, "region");
	ret->endpoint = text_of(&options, "endpoint_url");
	ret->anonymous = flex_get(&options, "anonymous", &f) && flex_true(&f);
}

static bool
read_container(const struct flex *f, struct ice_place *ret)
{
	struct flex_map m;
	struct flex store;
	if (!flex_map(f, &m) || m.count > OPTIONS_MAX)
		return false;
	ret->name = text_of(&m, "name");
	ret->prefix = text_of(&m, "url_prefix");
	if (flex_get(&m, "store", &store))
		read_store(&store, ret);
	return true;
}

static bool
find_containers(struct span config, struct flex_map *ret)
{
	struct flex root, f;
	struct flex_map m;
	return flex_root(config, &root) && flex_map(&root, &m) && m.count <= OPTIONS_MAX &&
	       flex_get(&m, "virtual_chunk_containers", &f) && flex_map(&f, ret) &&
	       ret->count <= CONTAINERS_MAX;
}

int
ice_config_flex(struct span config, struct ice_places *into)
{
	struct flex_map m;
	int r = 0;
	if (!find_containers(config, &m))
		return 0;
	for (size_t i = 0; i < m.count && r == 0; i++) {
		struct span key;
		struct flex f;
		struct ice_place place = {0};
		if (flex_entry(&m, i, &key, &f) && read_container(&f, &place))
			r = ice_places_add(into, &place);
	}
	return r;
}
