/* The disk cache before a directory whose requests are counted. */
#pragma once

#include "check.h"
#include "store.h"

#include "backends/diskcache/blob_cache.h"

static struct place store, shelf;
static struct zmap *put; /* another handle of the store */

static inline void
set(const char *key, const char *text)
{
	CHECK_INT(
		zmap_put(put, &(struct zmap_put){key, {(const uint8_t *)text, strlen(text)}}, NULL),
		0);
}

static unsigned warnings;

static inline void
warned(const char *what)
{
	if (strncmp(what, "the disk cache cannot", 21))
		CHECK_STR(what, "the disk cache cannot …");
	warnings++;
}

/* The cache before what counts: "fault", mostly without a fault. */
static inline struct zmap *
open_cache_for(
	const char *path, const char *ttl, const char *size, const char *delay, bool writable)
{
	struct url_pair pairs[] = {{(char *)"diskcache.dir", shelf.path},
		{(char *)"diskcache.ttl", (char *)ttl}, {(char *)"diskcache.size", (char *)size},
		{(char *)"fault.kind", (char *)(delay ? "delay" : "none")},
		{(char *)"fault.ms", (char *)(delay ? delay : "0")}, {0}};
	const struct zmap_options o = {
		.writable = writable, .timeout = 10 * SECOND, .warn = warned};
	return store_open_with("diskcache+fault", "dir", path, &o, pairs);
}

static inline struct zmap *
open_cache_of(const char *path, const char *ttl, const char *size, const char *delay)
{
	return open_cache_for(path, ttl, size, delay, true);
}

static inline struct zmap *
open_cache(const char *ttl, const char *size)
{
	return open_cache_of(store.path, ttl, size, NULL);
}

struct diskcache_head { /* as diskcache.c begins */
	struct zmap z;
	struct zmap *next;
	struct blob_cache *blob_cache;
};

static inline struct zmap_counts *
asked(struct zmap *z)
{
	return &((struct diskcache_head *)z)->next->counts;
}

static inline struct blob_cache *
blob_cache_of(struct zmap *z)
{
	return ((struct diskcache_head *)z)->blob_cache;
}

static inline void
begin(void)
{
	store = place_new();
	shelf = place_new();
	put = store_open("", "dir", store.path, true);
}

static inline void
end(struct zmap *z)
{
	zmap_close(z);
	zmap_close(put);
	place_remove(&store);
	place_remove(&shelf);
}
