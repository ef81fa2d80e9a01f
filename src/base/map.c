#include "base/map.h"

#include <stdlib.h>

enum { FIRST = 64 };

static void
push(struct map_entry **to, struct map_entry *e)
{
	e->next = *to;
	*to = e;
}

/* Moves a bucket's entries to where they belong, in the order that they have. */
static void
move(struct map *m, struct map_entry *from)
{
	struct map_entry *turned = NULL;
	for (struct map_entry *e = from, *next; e; e = next) {
		next = e->next;
		push(&turned, e);
	}
	for (struct map_entry *e = turned, *next; e; e = next) {
		next = e->next;
		push(map_bucket(m, e->hash), e);
	}
}

static void
resize(struct map *m, size_t buckets)
{
	const struct map was = *m;
	struct map_entry **new = calloc(buckets, sizeof(struct map_entry *));
	if (!new)
		return;
	*m = (struct map){.bucket = new, .buckets = buckets, .n = was.n};
	move(m, was.only);
	for (size_t b = 0; b < was.buckets; b++)
		move(m, was.bucket[b]);
	free(was.bucket);
}

void
map_reserve(struct map *m, size_t n)
{
	size_t buckets = FIRST;
	while (buckets < n && buckets <= SIZE_MAX / 2)
		buckets *= 2;
	if (buckets > m->buckets)
		resize(m, buckets);
}

void
map_add(struct map *m, struct map_entry *e, uint64_t hash)
{
	if (m->n >= m->buckets)
		map_reserve(m, m->n + 1);
	e->hash = hash;
	push(map_bucket(m, hash), e);
	m->n++;
}

void
map_remove(struct map *m, struct map_entry *e)
{
	struct map_entry **at = map_bucket(m, e->hash);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	m->n--;
}

struct map_entry *
map_walk(const struct map *m, const struct map_entry *e)
{
	if (!m->buckets)
		return e ? e->next : m->only;
	if (e && e->next)
		return e->next;
	for (size_t b = e ? (e->hash & (m->buckets - 1)) + 1 : 0; b < m->buckets; b++)
		if (m->bucket[b])
			return m->bucket[b];
	return NULL;
}

void
map_done(struct map *m)
{
	free(m->bucket);
	*m = (struct map){0};
}
