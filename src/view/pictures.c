#include "view/pictures.h"

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
/* A reader that asks for nothing for so long (ns) in the midst of a picture may not go on. */
static const int64_t READING = SECOND / 2;

struct kept_picture {
	struct kept_picture *next; /* the one that was used before it */
	uint64_t version, path;    /* hashes */
	bool ready;                /* else it is being drawn */
	bool read;                 /* a reader has come to its end */
	unsigned users;            /* they have its bytes, or draw it */
	int64_t began;             /* clock_now() */
	int64_t used;              /* clock_now(): a reader had some of it last */
	struct buf file;
	uint64_t hash; /* of its bytes; not 0 */
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
find(struct pictures *t, const struct picture_wish *w)
{
	struct kept_picture **at = &t->newest;
	while (*at && ((*at)->version != w->version || (*at)->path != w->path))
		at = &(*at)->next;
	return at;
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

/* Are readers in the midst of so many that another one would make one of them go? It would be drawn again. */
static bool
crowded(struct mount *m)
{
	const int64_t now = clock_now();
	size_t reading = 0;
	for (const struct kept_picture *k = m->pictures.newest; k; k = k->next)
		if (k->ready && !k->read && now - k->used < READING)
			reading += 2 * k->file.cap; /* and one as large comes to it */
	return reading > kept_most(m);
}

/* As long as there are too many bytes, those go that were used longest ago; a reader in the midst of one would have it drawn again. */
static void
make_room(struct mount *m, struct kept_picture **out)
{
	struct pictures *t = &m->pictures;
	const size_t most = kept_most(m);
	for (;;) {
		struct kept_picture **last = NULL;
		size_t kept = 0;
		for (struct kept_picture **at = &t->newest; *at; at = &(*at)->next) {
			kept += (*at)->file.cap;
			if (!(*at)->users && at != &t->newest &&
				(!last || (*at)->read || !(*last)->read))
				last = at;
		}
		if (!last || kept <= most)
			return;
		take_out(t, last, out);
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

enum turn { TURN_READY, TURN_DRAW, TURN_WAIT };

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

/* A kept one; or the blank one, which is to be drawn now, and for which memory is counted; or neither yet. Under the lock. */
static enum turn
look(struct mount *m, struct picture_waiter *w, int64_t changed, struct kept_picture *blank,
	struct kept_picture **out)
{
	struct pictures *t = &m->pictures;
	struct kept_picture **at = find(t, w->wish), *k = *at;
	if (k && k->ready && holds(m, k, changed)) {
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
		.version = w->wish->version,
		.path = w->wish->path,
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
	enum turn turn = TURN_WAIT;
	if (!blank)
		return err_set(-ENOMEM, "no memory for a picture");
	while (turn == TURN_WAIT && !cancelled(want->cancel) && !clock_over(want->deadline)) {
		struct kept_picture *out = NULL;
		int64_t changed = wish->changed(wish->arg);
		LOCKED(&t->lock) {
			turn = look(m, &w, changed, blank, &out);
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

/* What came of drawing it. After a failure it is gone: a request that has waited for it tries for itself. */
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

struct span
pictures_file(const struct kept_picture *k, uint64_t *ret_hash)
{
	*ret_hash = k->hash;
	return buf_span(&k->file);
}

void
pictures_put(struct mount *m, struct kept_picture *k, bool read)
{
	LOCKED(&m->pictures.lock) {
		k->users--;
		k->used = clock_now();
		k->read |= read;
		if (read)
			pthread_cond_broadcast(&m->pictures.ended);
	}
}
