#include "base/negative_cache.h"

#include "base/err.h"
#include "base/clock.h"

struct negative_cache_one {
	struct negative_cache_what what;
	int64_t at, until; /* clock_now() */
	struct err err;
};

void
negative_cache_init(struct negative_cache *m, unsigned most, int64_t refused)
{
	*m = (struct negative_cache){.most = most, .refused = refused};
	pthread_mutex_init(&m->lock, NULL);
}

void
negative_cache_done(struct negative_cache *m)
{
	pthread_mutex_destroy(&m->lock);
	free(m->last);
}

void
negative_cache_add(struct negative_cache *m, const struct negative_cache_what *what, int code)
{
	int64_t now = clock_now();
	struct negative_cache_one new = {.what = *what, .at = now, .until = now + m->refused};
	err_save(code, &new.err);
	LOCKED(&m->lock) {
		if (!m->last)
			m->last = calloc(m->most, sizeof *m->last);
		if (m->last)
			m->last[m->next++ % m->most] = new;
		atomic_store(&m->until, new.until);
	}
}

static bool
is_over(struct negative_cache *m, int64_t now)
{
	return now >= atomic_load_explicit(&m->until, memory_order_relaxed);
}

static bool
meet(const struct negative_cache_what *a, const struct negative_cache_what *b)
{
	return a->key == b->key && a->off < b->end && b->off < a->end;
}

int
negative_cache_lately(
	struct negative_cache *m, const struct negative_cache_what *what, int64_t asked)
{
	int code = 0;
	if (is_over(m, asked))
		return 0;
	LOCKED(&m->lock) {
		for (unsigned i = 0; m->last && i < m->most && !code; i++) {
			const struct negative_cache_one *o = &m->last[i];
			if (o->at <= asked && asked < o->until && meet(what, &o->what))
				code = err_restore(&o->err);
		}
	}
	return code;
}

void
negative_cache_mend(struct negative_cache *m, const struct negative_cache_what *what)
{
	if (!atomic_load_explicit(&m->until, memory_order_relaxed))
		return;
	LOCKED(&m->lock) {
		for (unsigned i = 0; m->last && i < m->most; i++)
			if (!what || meet(what, &m->last[i].what))
				m->last[i].until = 0;
		if (!what || is_over(m, clock_now()))
			atomic_store(&m->until, 0);
	}
}
