#include "fuse/negative_cache.h"

#include "base/err.h"
#include "base/clock.h"

enum { REFUSED = 1 /* s */ };

struct negative_cache_one {
	struct negative_cache_what what;
	int64_t until;
	struct err err;
};

void
negative_cache_init(struct negative_cache *m)
{
	*m = (struct negative_cache){0};
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
	struct negative_cache_one new = {.what = *what, .until = clock_now() + REFUSED * SECOND};
	err_save(code, &new.err);
	atomic_store(&m->any, true);
	LOCKED(&m->lock) {
		if (!m->last)
			m->last = calloc(NEGATIVE_CACHE, sizeof *m->last);
		if (m->last)
			m->last[m->next++ % NEGATIVE_CACHE] = new;
	}
}

int
negative_cache_lately(struct negative_cache *m, const struct negative_cache_what *what)
{
	if (!atomic_load(&m->any))
		return 0;
	int64_t now = clock_now();
	int code = 0;
	LOCKED(&m->lock) {
		for (unsigned i = 0; m->last && i < NEGATIVE_CACHE && !code; i++) {
			const struct negative_cache_one *o = &m->last[i];
			if (now < o->until && what->key == o->what.key && what->off < o->what.end &&
				o->what.off < what->end)
				code = err_restore(&o->err);
		}
	}
	return code;
}
