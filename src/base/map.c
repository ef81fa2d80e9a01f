#include "base/map.h"

#include <stdlib.h>

enum { FIRST = 64 };

static void
resize(struct map *m, size_t buckets)
{
	const struct map was = *m;
	struct map_entry **new = calloc(buckets, sizeof(struct map_entry *));
	if (!new)
		return;
	*m = (struct map){.bucket = new, .buckets = buckets, .n = was.n};
	for (struct map_entry *e = map_walk(&was, NULL), *next; e; e = next) {
		next = map_walk(&was, e);
		struct map_entry **b = map_bucket(m, e->hash);
		e->next = *b;
		*b = e;
	}
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
	struct map_entry **b = map_bucket(m, hash);
	*e = (struct map_entry){.next = *b, .hash = hash};
	*b = e;
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
