/* Which writers know of an error of storing: what is lost by one that a handle does not know of it
 * hears when it asks next, also where another program was told before, or the error does not stick
 * any more. */
#include "data/staging_impl.h"

#include "base/check.h"

uint64_t
data_errors(const struct data *d)
{
	return 2 * atomic_load(&d->staging->retries) + 1;
}

void
staged_fail(struct staging *s, struct staged_space *p, const struct err *why)
{
	p->error = *why;
	p->error_at = data_errors(s->data);
}

void
staged_note_lost(struct staged_space *p, const struct err *why)
{
	if (p->lost.code && p->lost_at == p->error_at)
		return;
	p->lost = *why;
	p->lost_at = p->error_at;
}

void
staged_gone(struct staging *s, struct staged_space *p, const struct err *why)
{
	if (!p->error.code) {
		staged_fail(s, p, why);
		p->outdated = false;
	}
	staged_note_lost(p, why);
}

uint64_t
data_begin_writer(struct data *d)
{
	struct staging *s = d->staging;
	uint64_t heard = 0;
	LOCKED(&s->lock) {
		s->writers++;
		heard = 2 * atomic_load(&s->retries);
	}
	return heard;
}

/* The lock is held. Those that have an array are about to be let go of, or stay. */
static void
tidy_all(struct staging *s)
{
	for (struct map_entry *e = map_walk(&s->spaces, NULL), *next; e; e = next) {
		struct staged_space *p = MAP_OF(e, struct staged_space, by_number);
		next = map_walk(&s->spaces, e);
		if (p->lost.code && !p->array)
			staging_tidy_space(s, p);
	}
}

void
data_end_writer(struct data *d)
{
	struct staging *s = d->staging;
	LOCKED(&s->lock)
		if (!--s->writers)
			tidy_all(s);
}

static void
know(uint64_t upto, uint64_t *told, _Atomic(uint64_t) *heard)
{
	*told = max_u64(*told, upto);
	if (heard)
		*heard = max_u64(*heard, upto);
}

/* The lock is held. */
static void
know_error(struct staging *s, struct staged_space *p, int code, uint64_t upto,
	_Atomic(uint64_t) *heard)
{
	const bool of_all = s->error.code && (!code || s->error.code == code),
		   own = p && p->error.code && (!code || p->error.code == code);
	uint64_t none = 0;
	if (of_all)
		know(upto, &s->gone_told, heard);
	if (own)
		know(upto, &p->told, heard);
	if (!code)
		know(upto, &none, heard);
}

/* Of what is gone by the error with that number. was: the handle's number. */
static bool
is_new(uint64_t error, uint64_t told, uint64_t was)
{
	const bool later = was % 2 == 0; /* perhaps: it was opened since, and not told */
	return error > was || (later && error > told);
}

/* The lock is held. */
static int
hear(struct staging *s, struct staged_space *p, bool wrote, _Atomic(uint64_t) *heard)
{
	const uint64_t was = heard ? *heard : UINT64_MAX - 1;
	int code = 0;
	/* one that sticks the next call is told */
	if (p && !p->error.code && p->lost.code && is_new(p->lost_at, p->told, was)) {
		code = err_restore(&p->lost);
		know(p->lost_at, &p->told, heard);
	}
	if (wrote && s->gone.code && s->gone_at > (heard ? was : s->gone_told)) {
		code = code ? code : err_restore(&s->gone);
		know(s->gone_at, &s->gone_told, heard);
	}
	return code;
}

void
array_know(struct array *a, int code, uint64_t upto, _Atomic(uint64_t) *heard)
{
	struct staging *s = a->data->staging;
	struct array *gone = NULL;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_known(s, a);
		know_error(s, p, code, upto, heard);
		gone = staging_release_space(s, p);
	}
	array_unref(gone);
}

int
array_hear(struct array *a, bool wrote, _Atomic(uint64_t) *heard)
{
	struct staging *s = a->data->staging;
	struct array *gone = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_known(s, a);
		r = hear(s, p, wrote, heard);
		gone = staging_release_space(s, p);
	}
	array_unref(gone);
	return r;
}
