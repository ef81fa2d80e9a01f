#include "data/pause.h"

#include "base/check.h"

enum {
	REQUEST = 1 << 20, /* the longest one of the kernel */
	LATE = 2 << 20,    /* requests of one read() overtake each other by so much */
	AHEAD = 8 << 20, /* the kernel may have asked for so much more than the reader has taken */
	GAP = 16 << 20,  /* that others may have asked for */
};

/* For so long a reader that was refused something may ask for it again, as the kernel does at once;
 * not more often than a read() makes the kernel ask, so that a program which tries again and again
 * is given what is new. */
static const int64_t REFUSED = SECOND;
enum { REFUSALS = 8 };

/* A read() asks again for its first bytes each time that they are dropped before it has them: after
 * so many times it is a program that reads them again and again. */
enum { REPEATS = 4 };

/* So long after the kernel has an answer, its reader has it too. */
static const int64_t TAKEN = SECOND / 2;

static bool
reads_on(const struct pause *p, int64_t now)
{
	return p->active || now - p->ended < READS_ON;
}

/* The run begins at the request. One that begins again where the last one began is as steady as the
 * first. */
static void
restart(struct pause *p, const struct array_want *w, int64_t now)
{
	bool repeated = w->off > p->start && w->off <= p->high;
	p->steady = !p->began || w->off == p->start || (p->steady && !p->gap_to && repeated);
	p->dropped = w->dropped;
	p->gap_to = 0;
	p->start = p->floor = p->floor_before = p->high = w->off;
	p->next = w->off + w->len;
	p->late = false;
	p->again = p->began;
	p->repeats = 0;
	p->began = now;
	p->since = w->since;
}

/* Where it is left out, or asked for again, the reader has taken what is before. What lies behind
 * the last such place was dropped before the reader came to it; that place itself may be read
 * twice. */
static void
skip(struct pause *p, const struct array_want *w)
{
	const uint64_t to = w->off;
	bool gap = to > p->high;
	p->steady = p->steady && !p->gap_to && (gap || to > p->floor || w->dropped > p->dropped);
	if (gap) {
		p->gap_from = p->high;
		p->gap_to = to;
	}
	p->floor_before = p->floor;
	p->next_before = p->next;
	p->dropped = w->dropped;
	p->floor = to;
}

/* The first request was overtaken by the one behind it. */
static bool
begins_before(const struct pause *p, const struct array_want *w, int64_t now)
{
	bool unanswered = p->ended < p->began, joins = w->off + w->len == p->start &&
						       p->high - p->start <= REQUEST &&
						       now - p->began < READS_ON;
	return w->off < p->start && p->start - w->off <= LATE && (unanswered || joins);
}

/* The kernel dropped what the first request brought before the reader had it, and asks again:
 * within the same read(), before which it would have asked for attributes. What was dropped later
 * is asked for again by a reader that did not get to run, once, or by a mapping, which is to see
 * what is new. */
static bool
begins_again(struct pause *p, const struct array_want *w)
{
	bool taken = !p->active && w->dropped - p->ended >= TAKEN,
	     again = w->off == p->start && p->high - p->start <= LATE && w->dropped > p->dropped &&
		     w->looked < w->dropped && !(taken && p->late) && p->repeats < REPEATS;
	p->late |= again && taken;
	p->repeats += again;
	return again;
}

/* It was overtaken in the midst of the run by the request behind it, for which a place was
 * skipped. */
static bool
comes_late(struct pause *p, uint64_t off, uint64_t end)
{
	if (off >= p->floor || off < p->floor_before || end != p->floor)
		return false;
	if (off <= p->gap_from)
		p->gap_to = 0;
	else if (p->gap_to)
		p->gap_to = off;
	p->floor = off == p->next_before ? p->floor_before : off;
	return true;
}

/* Some of what was left out, in order. */
static bool
fills_gap(struct pause *p, uint64_t off, uint64_t end)
{
	if (!p->gap_to || off != p->gap_from || end > p->gap_to)
		return false;
	p->gap_from = end;
	if (end == p->gap_to) {
		p->gap_to = 0;
		p->floor = p->floor_before;
	}
	return true;
}

/* The request goes on with the run, if it does. */
static bool
goes_on(struct pause *p, const struct array_want *w, int64_t now)
{
	const uint64_t off = w->off, end = w->off + w->len;
	if (!p->high)
		return false;
	if (fills_gap(p, off, end) || comes_late(p, off, end))
		return true;
	if (begins_before(p, w, now)) {
		p->start = p->floor = p->floor_before = off;
		return true;
	}
	if (begins_again(p, w))
		p->dropped = w->dropped;
	else if (off <= p->start || off < p->floor || off >= p->high + GAP)
		return false;
	else if (off != p->next)
		skip(p, w);
	p->next = end;
	return true;
}

/* From now on what was asked for until now counts as left. */
static void
leave(struct pause *p)
{
	p->left_to = p->high;
	p->left_from = max_u64(p->start, p->high - min_u64(p->high, AHEAD));
	p->left_since = p->since;
	p->left_until = 0;
	p->left_asked = 0;
}

static int64_t
left_since(struct pause *p, uint64_t off, int64_t now)
{
	/* the answer to a request there has come since */
	if (p->left_until && p->left_asked < REFUSALS && p->ended + REFUSED > p->left_until)
		p->left_until = p->ended + REFUSED;
	/* The first request of a read() elsewhere. Behind it others may be on their way that
	 * overtake the first. */
	bool elsewhere = off <= p->left_from || off > p->left_to + LATE;
	if (elsewhere || (p->left_until && now > p->left_until))
		p->left_to = 0;
	if (off > p->left_to)
		return 0;
	if (p->left_asked++ < REFUSALS)
		p->left_until = now + REFUSED;
	return p->left_since;
}

bool
pause_stopped(const struct pause *p, int64_t now)
{
	return p->high && p->steady && !p->gap_to && !reads_on(p, now);
}

int64_t
pause_begin(struct pause *p, const struct array_want *w, int64_t now)
{
	bool anew = p->high && w->since > p->since;
	if (anew && pause_stopped(p, now))
		leave(p);
	if (anew || !goes_on(p, w, now))
		restart(p, w, now);
	p->high = max_u64(p->high, w->off + w->len);
	p->active++;
	return left_since(p, w->off, now);
}

void
pause_end(struct pause *p, int64_t now)
{
	long long before = atomic_load(&p->ended);
	while (before < now && !atomic_compare_exchange_weak(&p->ended, &before, now))
		;
	atomic_fetch_sub(&p->active, 1);
}

bool
pause_goes_on(const struct pause *p, const struct array_move *m)
{
	bool looks = m->looked && m->to - m->looked < READS_ON;
	return p->high && (looks || reads_on(p, m->to)) &&
	       (!p->again || !m->noticed || p->began < m->noticed);
}
