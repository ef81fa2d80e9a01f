/* What a write() into the kernel's pages has put there: it comes later, and perhaps into no page
 * that there is now. */
#include "fuse/shown_impl.h"

#include "base/check.h"
#include "base/clean.h"

#include <string.h>

/* ns. See shown_settle. */
static const int64_t SETTLES = SECOND / 50;

/* The lock is held. */
static void
widen(struct shown *s, uint64_t from, uint64_t to)
{
	struct shown_drops *d = &s->drops;
	const bool none = d->from == d->to;
	d->since = none ? s->all->stamp : d->since;
	d->from = none ? from : min_u64(d->from, from);
	d->to = none ? to : max_u64(d->to, to);
}

bool
shown_drop_begin(struct inode *i, uint64_t off, uint64_t len)
{
	struct shown *s = shown_of(i);
	if (!s)
		return false;
	LOCKED(&s->all->lock) {
		widen(s, off, off > UINT64_MAX - len ? UINT64_MAX : off + len);
		s->drops.under_way++;
	}
	return true;
}

void
shown_drop_end(struct inode *i)
{
	struct shown *s = shown_of(i);
	LOCKED(&s->all->lock)
		s->drops.under_way--;
}

bool
shown_open_begin(struct inode *i)
{
	struct shown *s = shown_of(i);
	if (!s)
		return false;
	LOCKED(&s->all->lock) {
		widen(s, 0, UINT64_MAX);
		s->drops.opening++;
		s->drops.opened = clock_now();
	}
	return true;
}

void
shown_open_end(struct inode *i)
{
	struct shown *s = shown_of(i);
	LOCKED(&s->all->lock) {
		widen(s, 0, UINT64_MAX);
		s->drops.opening--;
	}
}

void
shown_write_came(struct inode *i, struct shown_write *ret)
{
	struct shown *s = shown_of(i);
	*ret = (struct shown_write){.begun = clock_now()};
	if (!s)
		return;
	LOCKED(&s->all->lock) {
		struct shown_drops *d = &s->drops;
		const int64_t changed = atomic_load(&i->changed);
		const bool all = (changed > d->begun && changed + SHOWN_LATE > d->wrote) ||
				 (d->opening && d->opened + SHOWN_LATE > d->wrote);
		ret->from = all ? 0 : d->from;
		ret->to = all ? UINT64_MAX : d->to;
		ret->after = all ? d->wrote_stamp : max_u64(d->wrote_stamp, d->since);
		ret->came = d->wrote_stamp = s->all->stamp;
		d->wrote = ret->begun;
		if (!d->under_way)
			d->from = d->to = 0;
	}
}

/* The lock is held, as in the next one. */
static void
remember(struct shown *s, uint64_t from, uint64_t to)
{
	struct shown_laid *last = &s->laid[SHOWN_LAID - 1], *one = last - 1;
	if (last->ended) {
		one->from = min_u64(one->from, last->from);
		one->to = max_u64(one->to, last->to);
	}
	memmove(s->laid + 1, s->laid, (SHOWN_LAID - 1) * sizeof *s->laid);
	s->laid[0] = (struct shown_laid){from, to, clock_now()};
}

/* Some bytes of a page, at `in`. True: it is in doubt, or old. */
static bool
lay(struct shown *s, uint64_t number, size_t in, struct span b, const struct shown_write *w)
{
	struct page *p = shown_page(s, number);
	const uint64_t off = number * SHOWN_PAGE;
	const bool whole = b.len == SHOWN_PAGE,
		   later = p && p->asked > w->came, /* what had these bytes was dropped before */
		doubt = p && !later && p->asked > w->after && off < w->to &&
			w->from < off + SHOWN_PAGE;
	if (later)
		return memcmp(p->bytes + in, b.data, b.len) != 0 && shown_doubt(p);
	if (whole && !doubt) {
		if (atomic_load(&s->writers)) /* perhaps once more */
			shown_set(s, number, b, SHOWN_MADE);
		return false;
	}
	/* Without memory, what comes back as it was written is written once more. */
	if (!p || (doubt && !shown_doubt(p)))
		return false;
	memcpy(p->bytes + in, b.data, b.len);
	if (p->doubt && !doubt)
		memcpy(p->doubt->bytes + in, b.data, b.len);
	if (whole) /* perhaps dropped, and made again */
		p->filled = ++s->all->stamp;
	return doubt;
}

bool
shown_lay(struct inode *i, uint64_t off, struct span b, const struct shown_write *w)
{
	struct shown *s = shown_of(i);
	bool doubt = false;
	if (!s)
		return false;
	shown_filled(i, off, b.len, w->begun);
	LOCKED(&s->all->lock) {
		remember(s, off, off + b.len);
		for (size_t at = 0, n; at < b.len; at += n) {
			const size_t in = (off + at) % SHOWN_PAGE;
			const struct span some = {
				b.data + at, n = min_u64(SHOWN_PAGE - in, b.len - at)};
			doubt |= lay(s, (off + at) / SHOWN_PAGE, in, some, w);
		}
	}
	shown_say_held(s->all);
	return doubt;
}

/* The lock is held. */
static bool
doubtful(struct shown *s, uint64_t off, uint64_t len)
{
	for (uint64_t n = off / SHOWN_PAGE; n * SHOWN_PAGE < off + len; n++) {
		const struct page *p = shown_page(s, n);
		if (p && p->doubt)
			return true;
	}
	return false;
}

void
shown_settle(struct inode *i, uint64_t off, uint64_t len)
{
	struct shown *s = shown_of(i);
	const int64_t until = clock_now() + SETTLES;
	const struct timespec t = {until / SECOND, until % SECOND};
	LOCKED(&s->all->lock) {
		int e = 0;
		while (!e && doubtful(s, off, len))
			e = pthread_cond_timedwait(&s->all->settled, &s->all->lock, &t);
	}
}
