/* Versions of stored objects: which one the store has, which ones readers were given before, and
 * which one a reader is to be given. */
#include "data/cache_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PASTS = 64 }; /* versions of one object that are remembered besides the store's */

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void
version_forget(struct object *o)
{
	while (o->past) {
		struct old_version *p = o->past;
		o->past = p->older;
		free(p);
	}
}

int
version_for(
	struct cache *c, const struct extent_id *id, int64_t since, const struct old_version **ret)
{
	const struct object *o = object_find(c, id);
	*ret = NULL;
	for (const struct old_version *p = o ? o->past : NULL; p; p = p->older)
		if (p->given >= since)
			*ret = p;
	if (o && o->lost >= since && o->lost)
		return err_set(-ESTALE, "chunk was replaced while it was read");
	return 0;
}

void
version_begin(struct extent *p, const struct old_version *past)
{
	p->former = p->object->former;
	if (!past)
		return;
	p->superseded = true;
	p->until = past->until;
	p->former = past->former;
	memcpy(p->version, past->version, sizeof p->version);
}

bool
version_suits(struct cache *c, const struct extent *p, int64_t since)
{
	const struct old_version *past;
	if (p->until == EXTENT_CURRENT)
		return !p->former || p->former < since;
	return version_for(c, &p->id, since, &past) == 0 && past && past->until == p->until;
}

void
version_dropped(const struct extent *p)
{
	struct object *o = p->object;
	if (o->found && p->state == EXTENT_READY && p->until == EXTENT_CURRENT &&
		strcmp(o->version, p->version) == 0)
		o->given = later(o->given, p->given);
}

/* The extents of the version before this one are of the past from now on. When they were last given
 * to a reader. */
static int64_t
supersede(const struct object *o, const char *version, int64_t now)
{
	int64_t given = 0;
	for (struct extent *p = o->extents; p; p = p->object_next) {
		if (p->state != EXTENT_READY || p->until != EXTENT_CURRENT ||
			strcmp(p->version, version) == 0)
			continue;
		p->until = now;
		given = later(given, p->given);
	}
	return given;
}

/* The oldest is forgotten, so that there is room for one more. */
static void
make_room(struct object *o)
{
	unsigned n = 0;
	for (struct old_version **at = &o->past; *at; at = &(*at)->older) {
		if (++n < PASTS)
			continue;
		o->lost = later(o->lost, (*at)->given);
		free(*at);
		*at = NULL;
		return;
	}
}

/* The object has another version now than was known. */
static void
turn_page(struct object *o, const char *version, int64_t now)
{
	int64_t given = later(o->given, supersede(o, version, now));
	struct old_version *p = calloc(1, sizeof *p);
	make_room(o);
	if (p) {
		*p = (struct old_version){
			.older = o->past, .until = now, .given = given, .former = o->former};
		memcpy(p->version, o->version, sizeof p->version);
		o->past = p;
	} else {
		o->lost = later(o->lost, given);
	}
	snprintf(o->version, sizeof o->version, "%s", version);
	o->former = later(o->former, given);
	o->given = 0;
	o->turned = now;
}

void
version_join_past(struct extent *p)
{
	p->until = 0;
	for (const struct old_version *past = p->object->past; past; past = past->older) {
		if (strcmp(past->version, p->version) != 0)
			continue;
		p->until = past->until;
		p->former = past->former;
	}
}

void
version_ready(struct extent *p)
{
	const struct object *o = p->object;
	if (p->state != EXTENT_READY || p->until != EXTENT_CURRENT)
		return;
	if (o->found && strcmp(o->version, p->version) != 0)
		version_join_past(p);
	else if (p->dropped)
		version_dropped(p); /* again: readers that waited for it have it now */
}

void
version_found_first(struct object *o, const struct extent *p, int64_t now)
{
	o->found = true;
	o->turned = now;
	o->given = p->given;
	o->former = p->former;
	memcpy(o->version, p->version, sizeof o->version);
}

int
version_found(struct object *o, const char *version, int64_t begun)
{
	if (!strcmp(o->version, version))
		return 0;
	if (begun < o->turned)
		return VERSION_OLD;
	turn_page(o, version, clock_now());
	return VERSION_NEW;
}
