#include "data/array_impl.h"

#include "base/check.h"
#include "base/mem.h"
#include "data/limits.h"
#include "data/staging.h"

#include <errno.h>

enum {
	BLOCKED_MAX = 256, /* workers that may wait for a slow store beside those that decode */
	MEMORY_MIN = 16 << 20,
	UNCOUNTED = 64 << 20,
	SMALL = 128 << 20,     /* chunks need all of this */
	MISSED_MOST = 2 * FAR, /* chunks that did not come in time, with those ahead of a reader */
	MISSED_PART = 12,      /* of the time of an operation such a chunk is not asked for again */
};

/* Answers on their way, small loads and what threads keep take memory that is not counted one by
 * one. */
static size_t
for_cache(size_t memory)
{
	return max_u64(min_u64(memory, SMALL), memory - min_u64(memory / 6, UNCOUNTED));
}

int
data_new(const struct data_options *o, struct data **ret)
{
	struct data *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory");
	d->options = *o;
	if (!d->options.memory)
		d->options.memory = limits_memory();
	if (d->options.memory < MEMORY_MIN)
		d->options.memory = MEMORY_MIN;
	negative_cache_init(&d->negative, MISSED_MOST,
		(int64_t)max_u64((uint64_t)o->timeout / MISSED_PART, SECOND));
	d->workers = o->workers ? o->workers : limits_processors();
	int r = cache_new(for_cache(d->options.memory), o->remote, &d->cache);
	if (r == 0)
		r = spaces_new(&d->spaces);
	if (r == 0)
		r = semaphore_new(d->options.memory / CACHE_LEND, &d->semaphore);
	if (r == 0)
		r = staging_new(d, &d->staging);
	if (r == 0)
		r = pool_new(d->workers, BLOCKED_MAX, &d->pool);
	if (r < 0) {
		data_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct data *
data_free(struct data *d)
{
	if (!d)
		return NULL;
	atomic_store(&d->ending.wanted_no_more, true);
	pool_free(d->pool);
	staging_free(d->staging);
	cache_free(d->cache);
	semaphore_free(d->semaphore);
	spaces_free(d->spaces);
	negative_cache_done(&d->negative);
	mem_trim();
	free(d);
	return NULL;
}

void
data_expire(struct data *d)
{
	cache_expire(d->cache);
	negative_cache_mend(&d->negative, NULL);
}

int64_t
data_fresh(const struct data *d, int64_t now)
{
	return d->options.ttl == INT64_MAX ? 0 : now - d->options.ttl;
}

/* What the tables of a store take, as far as it counts. Was that known? */
static bool
note_tables(struct data *d, struct zmap *z)
{
	const size_t tables = min_u64(zmap_held(z), d->options.memory / 2);
	return atomic_exchange(&d->tables, tables) == tables;
}

static void
set_other(struct data *d)
{
	cache_set_other(d->cache,
		atomic_load(&d->other) + atomic_load(&d->tables) + atomic_load(&d->shown));
}

void
data_set_other(struct data *d, struct zmap *z, size_t bytes)
{
	atomic_store(&d->other, bytes);
	note_tables(d, z);
	set_other(d);
}

void
data_count_tables(struct data *d, struct zmap *z)
{
	if (!note_tables(d, z))
		set_other(d);
}

void
data_set_shown(struct data *d, size_t bytes)
{
	atomic_store(&d->shown, bytes);
	set_other(d);
}

size_t
data_memory(struct data *d)
{
	return d->options.memory;
}

int
data_stats(struct data *d, struct buf *ret)
{
	struct cache_counts c;
	cache_count(d->cache, &c);
	const struct {
		const char *name;
		unsigned long long value;
	} row[] = {
		{"memory_budget_bytes", c.budget},
		{"cache_bytes", c.used},
		{"cache_cold_bytes", c.cold},
		{"cache_idle_bytes", mem_idle()},
		{"cache_pieces", c.extents},
		{"cache_hits_total", c.hits},
		{"cache_waits_total", c.waits},
		{"cache_evicted_total", c.evicted},
		{"chunk_fetches_total", d->counts.fetches},
		{"chunk_fetched_bytes_total", d->counts.fetched_bytes},
		{"chunk_decodes_total", d->counts.decodes},
		{"chunk_decoded_bytes_total", d->counts.decoded_bytes},
		{"chunk_absent_total", d->counts.absent},
		{"chunk_failed_total", d->counts.failed},
		{"chunk_prefetched_total", d->counts.prefetched},
		{"chunk_revalidated_total", d->counts.revalidated},
	};
	int r = 0;
	for (size_t i = 0; i < sizeof row / sizeof *row && r == 0; i++)
		r = buf_addf(ret, "zarrfs_%s %llu\n", row[i].name, row[i].value);
	return r < 0 ? r : staging_stats(d->staging, ret);
}
