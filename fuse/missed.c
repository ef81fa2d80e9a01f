#include "fuse/missed.h"

#include "base/err.h"
#include "base/when.h"

enum { REFUSED = 1 /* s */ };

struct missed_one {
	struct missed_what what;
	int64_t until;
	struct err err;
};

void
missed_init(struct missed *m)
{
	*m = (struct missed){0};
	pthread_mutex_init(&m->lock, NULL);
}

void
missed_done(struct missed *m)
{
	pthread_mutex_destroy(&m->lock);
	free(m->last);
}

void
missed_add(struct missed *m, const struct missed_what *what, int code)
{
	struct missed_one new = {.what = *what, .until = when_now() + REFUSED * SECOND};
	err_save(code, &new.err);
	LOCKED(&m->lock) {
		if (!m->last)
			m->last = calloc(MISSED, sizeof *m->last);
		if (m->last)
			m->last[m->next++ % MISSED] = new;
	}
}

int
missed_lately(struct missed *m, const struct missed_what *what)
{
	int64_t now = when_now();
	int code = 0;
	LOCKED(&m->lock) {
		for (unsigned i = 0; m->last && i < MISSED && !code; i++) {
			const struct missed_one *o = &m->last[i];
			if (now < o->until && what->key == o->what.key && what->off < o->what.end &&
				o->what.off < what->end)
				code = err_restore(&o->err);
		}
	}
	return code;
}
