/* Versions of stored objects: which one the store has, which ones readers were given before, and
 * which one a reader is to be given. */
#include "data/cache_impl.h"

#include "base/check.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Old versions that are remembered: of one object, while those of all are fewer than the second
 * number; else one of an object. */
enum { OLD_VERSIONS = 64, OLD_VERSIONS_ALL = 16384 };

static uint64_t
distance(const struct given *a, const struct given *b)
{
	return a->to < b->from ? b->from - a->to : b->to < a->from ? a->from - b->to : 0;
}

void
given_note(struct given *g, unsigned n, const struct given *more)
{
	struct given *to = g;
	if (!more->at)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (!g[i].at && (!i || distance(to, more) > 1))
			to = &g[i];
		if (!g[i].at)
			break;
		if (distance(&g[i], more) < distance(to, more))
			to = &g[i];
	}
	if (!to->at) {
		*to = *more;
		return;
	}
	to->from = more->from < to->from ? more->from : to->from;
	to->to = more->to > to->to ? more->to : to->to;
	to->at = max_i64(to->at, more->at);
}

int64_t
given_at(const struct given *g, unsigned n, uint64_t chunk)
{
	int64_t at = 0;
	for (unsigned i = 0; i < n && g[i].at; i++)
		if (chunk >= g[i].from && chunk <= g[i].to)
			at = max_i64(at, g[i].at);
	return at;
}

static void
note_extent(struct given *g, unsigned n, const struct extent *p)
{
	if (p->given)
		given_note(g, n, &(struct given){p->id.chunk, p->id.chunk, p->given});
}

static int64_t
old_given(const struct old_version *p, uint64_t chunk)
{
	return given_at(p->given, OLD_GIVEN, chunk);
}

int64_t
version_given(const struct object *o, const struct old_version *p, uint64_t chunk)
{
	int64_t at = given_at(&o->lost, 1, chunk);
	for (; p; p = p->older)
		at = max_i64(at, old_given(p, chunk));
	return at;
}

void
version_forget(struct cache *c, struct object *o)
{
	while (o->old) {
		struct old_version *p = o->old;
		o->old = p->older;
		c->objects.old_versions--;
		free(p);
	}
}

int
version_for(
	struct cache *c, const struct extent_id *id, int64_t since, const struct old_version **ret)
{
	const struct object *o = object_find(c, id);
	*ret = NULL;
	if (!o || !version_turned(o))
		return 0;
	for (const struct old_version *p = o->old; p; p = p->older) {
		int64_t at = old_given(p, id->chunk);
		if (at && at >= since)
			*ret = p;
	}
	int64_t lost = given_at(&o->lost, 1, id->chunk);
	if (lost && lost >= since)
		return err_set(-ESTALE, "chunk was replaced while it was read");
	return 0;
}

int
version_of(const struct extent *p, const struct old_version **ret)
{
	*ret = p->superseded ? p->object->old : NULL;
	while (*ret && (*ret)->until != p->until)
		*ret = (*ret)->older;
	if (p->superseded && !*ret)
		return err_set(-ESTALE, "a version of a chunk is forgotten");
	return 0;
}

void
version_begin(struct extent *p, const struct old_version *old)
{
	p->former = version_former(p->object, p->id.chunk);
	if (!old)
		return;
	p->superseded = true;
	p->until = old->until;
	p->former = version_given(p->object, old->older, p->id.chunk);
	memcpy(p->version, old->version, sizeof p->version);
}

bool
version_suits(struct cache *c, const struct extent *p, int64_t since)
{
	const struct old_version *old;
	if (p->superseded) /* the reader asked for that version, and no other is loaded */
		return true;
	if (p->until == EXTENT_CURRENT)
		return !p->former || p->former < since;
	return version_for(c, &p->id, since, &old) == 0 && old && old->until == p->until;
}

void
version_dropped(const struct extent *p)
{
	struct object *o = p->object;
	if (o->found && p->state == EXTENT_READY && p->until == EXTENT_CURRENT &&
		strcmp(o->version, p->version) == 0)
		note_extent(o->given, OBJECT_GIVEN, p);
}

/* The extents of the version before this one are old ones from now on. Notes which ones readers
 * were given. */
static void
supersede(const struct object *o, const char *version, int64_t now, struct given *g, unsigned n)
{
	for (struct extent *p = o->extents; p; p = p->object_next) {
		if (p->state != EXTENT_READY || p->until != EXTENT_CURRENT ||
			strcmp(p->version, version) == 0)
			continue;
		p->until = now;
		note_extent(g, n, p);
	}
}

static void
lose(struct object *o, const struct old_version *p)
{
	for (unsigned i = 0; i < OLD_GIVEN; i++)
		given_note(&o->lost, 1, &p->given[i]);
}

void
version_lose_old(struct cache *c, struct object *o)
{
	for (const struct old_version *p = o->old; p; p = p->older)
		lose(o, p);
	version_forget(c, o);
}

/* The oldest are forgotten, so that there is room for one more. */
static void
make_room(struct cache *c, struct object *o)
{
	const unsigned most = c->objects.old_versions < OLD_VERSIONS_ALL ? OLD_VERSIONS : 1;
	struct old_version **at = &o->old, *p;
	for (unsigned n = 1; *at && n < most; n++)
		at = &(*at)->older;
	while ((p = *at)) {
		*at = p->older;
		lose(o, p);
		c->objects.old_versions--;
		free(p);
	}
}

/* The object has another version now than was known. */
static void
begin_version(struct cache *c, struct object *o, const char *version, int64_t now)
{
	struct old_version *p = calloc(1, sizeof *p);
	struct given *given = p ? p->given : &o->lost;
	const unsigned n = p ? OLD_GIVEN : 1;
	make_room(c, o);
	for (unsigned i = 0; i < OBJECT_GIVEN; i++)
		given_note(given, n, &o->given[i]);
	supersede(o, version, now, given, n);
	if (p) {
		p->older = o->old;
		p->until = now;
		memcpy(p->version, o->version, sizeof p->version);
		o->old = p;
		c->objects.old_versions++;
	}
	snprintf(o->version, sizeof o->version, "%s", version);
	memset(o->given, 0, sizeof o->given);
	o->turned = now;
}

void
version_join_old(struct extent *p)
{
	p->until = 0;
	for (const struct old_version *old = p->object->old; old; old = old->older) {
		if (strcmp(old->version, p->version) != 0)
			continue;
		p->until = old->until;
		p->former = version_given(p->object, old->older, p->id.chunk);
	}
}

void
version_ready(struct extent *p)
{
	const struct object *o = p->object;
	if (p->state != EXTENT_READY || p->until != EXTENT_CURRENT)
		return;
	if (o->found && strcmp(o->version, p->version) != 0)
		version_join_old(p);
	else if (extent_dropped(p))
		version_dropped(p); /* again: readers that waited for it have it now */
}

void
version_found_first(struct object *o, const struct extent *p, int64_t now)
{
	o->found = true;
	o->turned = now;
	note_extent(o->given, OBJECT_GIVEN, p);
	memcpy(o->version, p->version, sizeof o->version);
}

int
version_found(struct cache *c, struct object *o, const char *version, int64_t begun)
{
	if (!strcmp(o->version, version))
		return 0;
	if (begun < o->turned)
		return VERSION_OLD;
	begin_version(c, o, version, clock_now());
	return VERSION_NEW;
}
