/* Versions of chunks: which one the store has, which ones readers were given before, and which one a reader is to be given. */
#include "data/cache_impl.h"

#include <errno.h>
#include <string.h>

enum { PASTS = 64 }; /* versions of one chunk that are remembered besides the store's */

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool
same_chunk(const struct piece *p, const struct piece_id *id)
{
	return p->id.space == id->space && p->id.chunk == id->chunk;
}

static void
forget(struct mark *m)
{
	while (m->past) {
		struct past *p = m->past;
		m->past = p->older;
		free(p);
	}
}

void
versions_free(struct cache *c)
{
	for (unsigned i = 0; i < CHUNKS_KNOWN; i++)
		forget(&c->mark[i]);
}

static const struct mark *
known(struct cache *c, const struct piece_id *id)
{
	uint64_t h;
	const struct mark *m = table_mark(c, id, &h);
	return m->chunk == h ? m : NULL;
}

int
version_for(struct cache *c, const struct piece_id *id, int64_t since, const struct past **ret)
{
	const struct mark *m = known(c, id);
	*ret = NULL;
	for (const struct past *p = m ? m->past : NULL; p; p = p->older)
		if (p->given >= since)
			*ret = p;
	if (m && m->lost >= since && m->lost)
		return err_set(-ESTALE, "chunk was replaced while it was read");
	return 0;
}

void
version_begin(struct cache *c, struct piece *p, const struct past *past)
{
	const struct mark *m = known(c, &p->id);
	p->former = m ? m->former : p->prev ? p->prev->former : 0;
	if (!past)
		return;
	p->superseded = true;
	p->until = past->until;
	p->former = past->former;
	memcpy(p->version, past->version, sizeof p->version);
}

bool
version_suits(struct cache *c, const struct piece *p, int64_t since)
{
	const struct past *past;
	if (p->until == PIECE_CURRENT)
		return !p->former || p->former < since;
	return version_for(c, &p->id, since, &past) == 0 && past && past->until == p->until;
}

void
version_dropped(struct cache *c, const struct piece *p)
{
	uint64_t h;
	struct mark *m = table_mark(c, &p->id, &h);
	if (m->chunk == h && p->state == PIECE_READY && p->until == PIECE_CURRENT &&
		strcmp(m->version, p->version) == 0)
		m->given = later(m->given, p->given);
}

/* Is there something of a version other than that of `found`, that counts as the store's until now? */
static bool
is_former(const struct piece *p, const struct piece *found)
{
	return same_chunk(p, &found->id) && p->state == PIECE_READY && p->until == PIECE_CURRENT &&
	       strcmp(p->version, found->version) != 0;
}

/* The pieces of the version before that of `found` are of the past from now on. When they were last given to anybody. */
static int64_t
supersede(struct cache *c, const struct piece *found, int64_t now)
{
	int64_t given = 0;
	for (struct piece *p = *table_bucket(c, &found->id); p; p = p->hash_next) {
		if (is_former(p, found)) {
			p->until = now;
			given = later(given, p->given);
		}
	}
	return given;
}

/* The oldest is forgotten, so that there is room for one more. */
static void
make_room(struct mark *m)
{
	unsigned n = 0;
	for (struct past **at = &m->past; *at; at = &(*at)->older) {
		if (++n < PASTS)
			continue;
		m->lost = later(m->lost, (*at)->given);
		free(*at);
		*at = NULL;
		return;
	}
}

/* The chunk has another version now than the mark says. */
static void
turn_page(struct cache *c, struct mark *m, const struct piece *found, int64_t now)
{
	int64_t given = later(m->given, supersede(c, found, now));
	struct past *p = calloc(1, sizeof *p);
	make_room(m);
	if (p) {
		*p = (struct past){
			.older = m->past, .until = now, .given = given, .former = m->former};
		memcpy(p->version, m->version, sizeof p->version);
		m->past = p;
	} else {
		m->lost = later(m->lost, given);
	}
	memcpy(m->version, found->version, sizeof m->version);
	m->former = later(m->former, given);
	m->given = 0;
	m->turned = now;
}

/* Makes a piece one of the past. One of a version that nobody was given is for nobody. */
static void
join_past(const struct mark *m, struct piece *p)
{
	p->until = 0;
	for (const struct past *past = m->past; past; past = past->older) {
		if (strcmp(past->version, p->version) != 0)
			continue;
		p->until = past->until;
		p->former = past->former;
	}
}

void
version_ready(struct cache *c, struct piece *p)
{
	const struct mark *m = known(c, &p->id);
	if (p->state != PIECE_READY || p->until != PIECE_CURRENT)
		return;
	if (m && strcmp(m->version, p->version) != 0)
		join_past(m, p);
	else if (p->dropped)
		version_dropped(c, p); /* again: those who waited for it have it now */
}

/* What was to be compared with the store and is of another version is of use for those who have some of it. */
static void
put_back(struct cache *c, const struct mark *m, struct piece *prev)
{
	if (prev && prev->dropped && prev->until == PIECE_CURRENT &&
		strcmp(prev->version, m->version) != 0) {
		join_past(m, prev);
		table_restore(c, prev);
	}
}

/* A piece that tells which version the chunk had, where no mark does. */
static const struct piece *
known_before(struct cache *c, const struct piece *found)
{
	for (const struct piece *p = *table_bucket(c, &found->id); p; p = p->hash_next)
		if (is_former(p, found))
			return p;
	return found->prev ? found->prev : found;
}

bool
cache_found(struct cache *c, struct piece *p)
{
	uint64_t chunk;
	int64_t now = when_now();
	bool changed = false;
	if (p->superseded)
		return false;
	LOCKED(&c->lock) {
		struct mark *m = table_mark(c, &p->id, &chunk);
		if (m->chunk != chunk) {
			const struct piece *like = known_before(c, p);
			forget(m);
			*m = (struct mark){.chunk = chunk,
				.turned = like == p ? now : 0,
				.given = like->given,
				.former = like->former};
			memcpy(m->version, like->version, sizeof m->version);
		}
		m->seen = now;
		changed = strcmp(m->version, p->version) != 0;
		if (changed &&
			p->begun < m->turned) { /* it may be older than what was found meanwhile */
			join_past(m, p);
			return false;
		}
		if (changed)
			turn_page(c, m, p, now);
		put_back(c, m, p->prev);
		p->former = m->former;
	}
	return changed;
}

bool
cache_keep(struct cache *c, const struct piece_id *id, int64_t since, int64_t now)
{
	bool same = true;
	LOCKED(&c->lock) {
		uint64_t h;
		struct mark *m = table_mark(c, id, &h);
		if (m->chunk != h)
			return true;
		same = !m->former || m->former < since;
		if (same)
			m->given = later(m->given, now);
	}
	return same;
}
