/* A table of things by a hash of what they are known by: each has a struct map_entry as a member,
 * and is in one map of that member at most. It grows as things come; without memory for that it is
 * only slower. The owner of the map locks, also where it is only looked at. Empty: {0}. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_entry {
	struct map_entry *next; /* in its bucket */
	uint64_t hash;
};

struct map {
	struct map_entry **bucket, *only; /* only: the one bucket where there is no table */
	size_t buckets;                   /* a power of two; 0: no table yet */
	size_t n;                         /* entries */
};

/* The thing that has the entry as that member. */
#define MAP_OF(entry, type, member) ((type *)(void *)((char *)(entry)-offsetof(type, member)))

static inline struct map_entry **
map_bucket(const struct map *m, uint64_t hash)
{
	return m->buckets ? &m->bucket[hash & (m->buckets - 1)]
			  : (struct map_entry **)(uintptr_t)&m->only;
}

static inline struct map_entry *
map_same(struct map_entry *e, uint64_t hash)
{
	while (e && e->hash != hash)
		e = e->next;
	return e;
}

/* The newest entry with the hash, and the one before it; NULL: there is none. */
static inline struct map_entry *
map_first(const struct map *m, uint64_t hash)
{
	return map_same(*map_bucket(m, hash), hash);
}

static inline struct map_entry *
map_next(const struct map_entry *e)
{
	return map_same(e->next, e->hash);
}

/* Makes room for n entries. */
void map_reserve(struct map *, size_t n);
/* hash: spread over all bits, as hash_end does. */
void map_add(struct map *, struct map_entry *, uint64_t hash);
/* It is in the map. */
void map_remove(struct map *, struct map_entry *);
/* All entries, in no order: the first one (NULL), for which empty buckets are passed, and the one
 * behind e, which is in the map. No entry is added meanwhile. To remove e, walk on first. */
struct map_entry *map_walk(const struct map *, const struct map_entry *e);
/* Frees the table, not the things. */
void map_done(struct map *);
