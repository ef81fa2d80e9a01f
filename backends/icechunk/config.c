/* What the configuration of a repository says of a virtual chunk. That of spec 2 came with `repo`;
 * that of spec 1 is an object of its own, which is asked for when a chunk first needs it. */
#include "backends/icechunk/impl.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX = 256 << 10 };

void
ice_take_places(struct ice *p, struct ice_places *now, int64_t due)
{
	LOCKED(&p->lock) {
		struct ice_places *old = p->places;
		p->places = now;
		p->places_due = due;
		now = old;
	}
	ice_places_free(now);
}

static bool
is_due(struct ice *p)
{
	bool due = false;
	LOCKED(&p->lock)
		due = clock_now() >= p->places_due;
	return due;
}

/* Turn held. */
static int
read_config(struct ice *p, int64_t deadline, struct cancel *cancel)
{
	CLEAN(buf_free) struct buf bytes = {0};
	CLEAN(clean_free) char *key = NULL;
	struct zmap_stat s = {0};
	struct ice_places *now = NULL;
	const int64_t due = p->every == INT64_MAX ? INT64_MAX : clock_now() + p->every;
	if (asprintf(&key, "%sconfig.yaml", p->root) < 0) {
		key = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	const struct zmap_get g = {.key = key,
		.into = &bytes,
		.max = CONFIG_MAX,
		.revalidate = true,
		.if_none_match = *p->config_version ? p->config_version : NULL,
		.deadline = deadline,
		.cancel = cancel};
	int r = zmap_get(p->lower, &g, &s);
	if (r == ZMAP_SAME) {
		LOCKED(&p->lock)
			p->places_due = due;
		return 0;
	}
	if (r < 0 && !ice_is_nothing(r))
		return err_add(r, "'%s'", key);
	if (r != 0)
		bytes.len = 0;
	r = ice_places_new(ice_config_yaml, buf_span(&bytes), &now);
	if (r < 0)
		return r;
	memcpy(p->config_version, s.version, sizeof p->config_version);
	ice_take_places(p, now, due);
	return 0;
}

static int
look_at_config(struct ice *p, int64_t deadline, struct cancel *cancel)
{
	int r = 0;
	if (is_due(p))
		LOCKED(&p->turn) /* one asks for all */
			if (is_due(p))
				r = read_config(p, deadline, cancel);
	return r;
}

/* A configuration that cannot be had is only missed where a name stands for what lies there. */
int
ice_explain(struct container *c, int64_t deadline, struct cancel *cancel, struct chunk_place *place)
{
	struct ice *p = (struct ice *)c;
	int r = look_at_config(p, deadline, cancel);
	if (r < 0 && !strncmp(place->name, "vcc:", 4))
		return err_add(r, "'%s'", place->name);
	LOCKED(&p->lock)
		r = ice_places_apply(p->places, place);
	return r;
}
