#include "fuse/shown_impl.h"

#include "base/check.h"
#include "base/clean.h"
#include "base/clock.h"

/* Room for one more: of those that have ended the oldest goes first. */
static struct shown_pass *
room(struct shown *s)
{
	struct shown_pass *to = &s->pass[0];
	for (struct shown_pass *p = s->pass; p < s->pass + SHOWN_PASSES; p++) {
		if (p->from == p->to)
			return p;
		if (!p->ended == !to->ended ? p->number < to->number : p->ended != 0)
			to = p;
	}
	return to;
}

uint64_t
shown_pass(struct inode *i, uint64_t off, size_t len)
{
	struct shown *s = shown_of(i);
	uint64_t number = 0;
	if (!s)
		return 0;
	LOCKED(&s->lock) {
		number = ++s->passes;
		*room(s) = (struct shown_pass){off, off + len, number, 0};
	}
	return number;
}

void
shown_passed(struct inode *i, uint64_t number, bool put)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	LOCKED(&s->lock)
		for (struct shown_pass *p = s->pass; p < s->pass + SHOWN_PASSES; p++)
			if (p->number == number) {
				p->ended = clock_now();
				p->to = put ? p->to : p->from;
			}
}

void
shown_filled(struct inode *i, uint64_t off, uint64_t len, int64_t begun)
{
	struct shown *s = shown_of(i);
	const uint64_t end = off + len;
	if (!s)
		return;
	LOCKED(&s->lock)
		for (struct shown_pass *p = s->pass; p < s->pass + SHOWN_PASSES; p++) {
			const struct shown_pass was = *p;
			if (!was.ended || was.ended > begun || was.from >= end || was.to <= off)
				continue;
			p->to = max_u64(was.from, off); /* what is before … */
			if (was.from >= off)
				p->from = p->to = 0;
			if (was.to <= end)
				continue;
			struct shown_pass *to = room(s); /* … and behind */
			*to = to == p && p->from != p->to
				      ? was
				      : (struct shown_pass){end, was.to, was.number, was.ended};
		}
}

bool
shown_is_past(
	const struct inode *i, uint64_t off, uint64_t len, uint64_t *ret_from, uint64_t *ret_to)
{
	struct shown *s = shown_of(i);
	*ret_from = *ret_to = off + len;
	if (!s)
		return false;
	LOCKED(&s->lock)
		for (const struct shown_pass *p = s->pass; p < s->pass + SHOWN_PASSES; p++) {
			const uint64_t from = max_u64(p->from, off), to = min_u64(p->to, off + len);
			if (from < to && from < *ret_from) {
				*ret_from = from;
				*ret_to = to;
			}
		}
	return *ret_from < off + len;
}
