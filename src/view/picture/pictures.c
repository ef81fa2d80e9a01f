#include "view/picture/pictures.h"

#include "base/check.h"
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	AT_ONCE = 2,
	SHARE = 8, /* of the memory, for what is kept */
	KEPT_MOST = 64 << 20,
};
/* A reader that asks for nothing for so long (ns) in the midst of a picture holds up no other
 * ones. */
static const int64_t PAUSE = SECOND / 2;

struct kept_picture {
	struct kept_picture *next; /* the one that was used before it */
	uint64_t version, path;    /* hashes */
	bool ready;                /* else it is being drawn */
	uint64_t number;           /* of drawings */
	unsigned users;            /* they have its bytes, or draw it */
	unsigned midst;            /* readers that have some of it and may want the rest */
	int64_t began;             /* clock_now() */
	int64_t used;              /* clock_now(): a reader had some of it last */
	struct buf file;
	uint64_t cut;  /* bytes of its beginning that are not in `file` any more */
	uint64_t seen; /* bytes of its beginning that a reader has had */
	uint64_t hash; /* of all its bytes; not 0 */
};

void
pictures_init(struct pictures *t)
{
	pthread_mutex_init(&t->lock, NULL);
	clock_cond_init(&t->ended);
}

static void
kept_free(struct kept_picture *k)
{
	buf_free(&k->file);
	free(k);
}

void
pictures_free(struct pictures *t)
{
	for (struct kept_picture *next, *k = t->newest; k; k = next) {
		next = k->next;
		kept_free(k);
	}
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
}

size_t
pictures_bytes(struct mount *m)
{
	size_t n = 0;
	LOCKED(&m->pictures.lock)
		n = m->pictures.bytes;
	return n;
}

void
pictures_expire(struct mount *m)
{
	LOCKED(&m->pictures.lock)
		m->pictures.expired = clock_now();
}

int
pictures_stats(struct mount *m, struct buf *ret)
{
	uint64_t drawn = 0;
	LOCKED(&m->pictures.lock)
		drawn = m->pictures.drawn;
	return buf_addf(ret, "zarrfs_pictures_drawn_total %" PRIu64 "\nzarrfs_pictures_bytes %zu\n",
		drawn, pictures_bytes(m));
}

/* --- under the lock --- */

static struct kept_picture **
find(struct pictures *t, const struct picture_reader *r)
{
	struct kept_picture **at = &t->newest;
	while (*at && ((*at)->version != r->version || (*at)->path != r->path))
		at = &(*at)->next;
	return at;
}

/* Has a reader some of it that may want the rest? It would be drawn again. */
static bool
is_read(const struct kept_picture *k)
{
	return k->ready && (k->users || k->midst);
}

static void
take_out(struct pictures *t, struct kept_picture **at, struct kept_picture **out)
{
	struct kept_picture *k = *at;
	*at = k->next;
	t->bytes -= k->file.cap;
	k->next = *out;
	*out = k;
}

static size_t
kept_most(struct mount *m)
{
	return min_u64(data_memory(m->data) / SHARE, KEPT_MOST);
}

/* Are readers in the midst of so many that another one would make one of them go? */
static bool
crowded(struct mount *m)
{
	const int64_t now = clock_now();
	size_t reading = 0;
	for (const struct kept_picture *k = m->pictures.newest; k; k = k->next)
		if (is_read(k) && now - k->used < PAUSE)
			reading += 2 * (k->file.len + k->cut -
					       k->seen); /* and one as large comes to it */
	return reading > kept_most(m);
}

/* Where memory is short, a picture that a reader is in the midst of has only what is left to read:
 * the kernel asks for that when it has asked for the beginnings of all others. */
static void
cut_seen(struct pictures *t)
{
	for (struct kept_picture *k = t->newest; k; k = k->next) {
		const size_t seen = k->seen - k->cut;
		struct buf rest = {0};
		if (!k->ready || k->users || !k->midst || !seen ||
			buf_add(&rest, k->file.data + seen, k->file.len - seen) < 0)
			continue;
		t->bytes = t->bytes - k->file.cap + rest.cap;
		buf_free(&k->file);
		k->file = rest;
		k->cut = k->seen;
	}
}

/* As long as there are too many bytes, those go that were used longest ago, of all that no reader
 * is in the midst of if there are such. */
static void
make_room(struct mount *m, struct kept_picture **out)
{
	struct pictures *t = &m->pictures;
	const size_t most = kept_most(m);
	bool cut = false;
	for (;;) {
		struct kept_picture **last = NULL;
		size_t kept = 0;
		for (struct kept_picture **at = &t->newest; *at; at = &(*at)->next) {
			kept += (*at)->file.cap;
			if (!(*at)->users && at != &t->newest &&
				(!last || !is_read(*at) || is_read(*last)))
				last = at;
		}
		if (!last || kept <= most)
			return;
		if (is_read(*last) && !cut) {
			cut_seen(t);
			cut = true;
		} else {
			take_out(t, last, out);
		}
	}
}

static void
to_front(struct pictures *t, struct kept_picture **at)
{
	struct kept_picture *k = *at;
	*at = k->next;
	k->next = t->newest;
	t->newest = k;
}

/* Nothing is known to have changed since it was drawn, and that is not too long ago to be sure. */
static bool
holds(const struct mount *m, const struct kept_picture *k, int64_t changed)
{
	return changed < k->began && m->pictures.expired < k->began &&
	       (m->pages_ttl == INT64_MAX || clock_now() - k->began < m->pages_ttl);
}

static void
free_all(struct kept_picture *out)
{
	for (struct kept_picture *next; out; out = next) {
		next = out->next;
		kept_free(out);
	}
}

enum picture_turn { TURN_READY, TURN_DRAW, TURN_WAIT };

/* One that has to wait until fewer are drawn: first come, first served. */
struct picture_waiter {
	struct picture_waiter *next;
	const struct picture_wish *wish;
	bool queued;
};

static void
join_queue(struct pictures *t, struct picture_waiter *w)
{
	struct picture_waiter **last = &t->waiting;
	if (w->queued)
		return;
	while (*last)
		last = &(*last)->next;
	*last = w;
	w->queued = true;
}

static void
leave_queue(struct pictures *t, struct picture_waiter *w)
{
	struct picture_waiter **at = &t->waiting;
	if (!w->queued)
		return;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->next = NULL;
	w->queued = false;
}

/* A kept one; or the blank one, which is to be drawn now, and for which memory is counted; or
 * neither yet. Under the lock. */
static enum picture_turn
look(struct mount *m, struct picture_waiter *w, int64_t changed, uint64_t off,
	struct kept_picture *blank, struct kept_picture **out)
{
	struct pictures *t = &m->pictures;
	struct kept_picture **at = find(t, w->wish->of), *k = *at;
	if (k && k->ready && off >= k->cut && holds(m, k, changed)) {
		k->users++;
		k->used = clock_now();
		to_front(t, at);
		return TURN_READY;
	}
	if (k && !k->ready) {
		leave_queue(t, w);
		return TURN_WAIT;
	}
	join_queue(t, w);
	if (t->waiting != w || t->drawing == AT_ONCE || crowded(m))
		return TURN_WAIT;
	if (k && !k->users)
		take_out(t, at, out);
	*blank = (struct kept_picture){.next = t->newest,
		.version = w->wish->of->version,
		.path = w->wish->of->path,
		.number = ++t->begun,
		.users = 1,
		.began = clock_now()};
	t->newest = blank;
	t->drawing++;
	t->bytes += w->wish->cost;
	return TURN_DRAW;
}

static void
wait_for_turn(struct pictures *t)
{
	int64_t until = clock_now() + SECOND / 10; /* how often cancellation is looked at */
	struct timespec at = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	pthread_cond_timedwait(&t->ended, &t->lock, &at);
}

/* 1: *ret is kept, and has its bytes; 0: it is to be drawn; -errno. */
static int
acquire(struct mount *m, const struct picture_wish *wish, const struct array_want *want,
	struct kept_picture **ret)
{
	struct pictures *t = &m->pictures;
	struct kept_picture *blank = calloc(1, sizeof *blank);
	struct picture_waiter w = {.wish = wish};
	enum picture_turn turn = TURN_WAIT;
	if (!blank)
		return err_set(-ENOMEM, "no memory for a picture");
	while (turn == TURN_WAIT && !cancelled(want->cancel) && !clock_over(want->deadline)) {
		struct kept_picture *out = NULL;
		int64_t changed = wish->changed(wish->arg);
		LOCKED(&t->lock) {
			turn = look(m, &w, changed, want->off, blank, &out);
			*ret = t->newest; /* unless it has to wait */
			if (turn == TURN_WAIT)
				wait_for_turn(t);
		}
		free_all(out);
	}
	LOCKED(&t->lock)
		leave_queue(t, &w);
	if (turn != TURN_DRAW)
		free(blank);
	if (turn == TURN_WAIT)
		return cancelled(want->cancel)
			       ? err_set(-EINTR, "interrupted")
			       : err_set(-EIO, "timed out: other pictures are being drawn");
	return turn == TURN_READY;
}

/* What came of drawing it. After a failure it is gone: a request that has waited for it tries for
 * itself. */
static void
finish(struct mount *m, const struct picture_wish *wish, struct kept_picture *k, int r,
	struct buf *file)
{
	struct pictures *t = &m->pictures;
	struct kept_picture *out = NULL;
	LOCKED(&t->lock) {
		t->drawing--;
		t->bytes -= wish->cost;
		k->file = *file;
		t->bytes += k->file.cap;
		k->ready = r == 0;
		k->used = clock_now();
		t->drawn += r == 0;
		struct kept_picture **at = &t->newest;
		while (*at != k)
			at = &(*at)->next;
		if (r < 0)
			take_out(t, at, &out);
		make_room(m, &out);
		pthread_cond_broadcast(&t->ended);
	}
	*file = (struct buf){0};
	free_all(out);
	mount_count_memory(m);
}

static int
draw(struct mount *m, const struct picture_wish *wish, const struct array_want *want,
	struct kept_picture *k)
{
	CLEAN(buf_free) struct buf file = {0};
	const struct array_want w = {.deadline = want->deadline, .cancel = want->cancel};
	mount_count_memory(m);
	int r = wish->draw(wish->arg, &w, &file);
	if (r == 0)
		k->hash = hash_end(hash_bytes(HASH_START, file.data, file.len)) | 1;
	finish(m, wish, k, r, &file);
	return r;
}

int
pictures_get(struct mount *m, const struct picture_wish *wish, const struct array_want *want,
	struct kept_picture **ret)
{
	struct kept_picture *k = NULL;
	int r = acquire(m, wish, want, &k);
	if (r == 0)
		r = draw(m, wish, want, k);
	if (r < 0)
		return r;
	*ret = k;
	return 0;
}

uint64_t
pictures_hash(const struct kept_picture *k)
{
	return k->hash;
}

int
pictures_add(const struct kept_picture *k, const struct array_want *want, struct buf *to)
{
	return buf_add(to, k->file.data + (want->off - k->cut), want->len);
}

/* Lock held. */
static void
leave(struct pictures *t, struct picture_reader *r)
{
	struct kept_picture *k = t->newest;
	while (k && k->number != r->midst)
		k = k->next;
	if (k && r->midst)
		k->midst--;
	r->midst = 0;
	pthread_cond_broadcast(&t->ended);
}

void
pictures_put(struct mount *m, struct kept_picture *k, struct picture_reader *r,
	const struct array_want *want)
{
	struct pictures *t = &m->pictures;
	const uint64_t end = want->off + want->len;
	LOCKED(&t->lock) {
		k->users--;
		k->used = clock_now();
		if (want->off <= k->seen && end > k->seen)
			k->seen = end;
		if (end == k->cut + k->file.len) {
			leave(t, r);
		} else if (r->midst != k->number) {
			leave(t, r);
			k->midst++;
			r->midst = k->number;
		}
	}
}

void
pictures_leave(struct mount *m, struct picture_reader *r)
{
	LOCKED(&m->pictures.lock)
		if (r->midst)
			leave(&m->pictures, r);
}
