/* Loading pieces: whose turn it is, which way a piece is loaded, the outcome. Runs on workers. */
#include "data/load_impl.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum {
	HOLD_FROM = 128 << 10,   /* chunks that come to the kernel in several requests */
	SCRATCH_SMALL = 1 << 20, /* loads that need less are not worth counting */
	PATIENCE =
		4, /* times longer than a task may take, until those that need much memory are given up */
};

/* --- are the metadata still those that say how to read this? --- */

static int
check_metadata(const struct load *l)
{
	const struct array_hooks *h = &l->array->hooks;
	return h->check ? h->check(h->arg) : 0;
}

/* The same, unless somebody has done it since that moment, or is doing it. */
static int
check_since(const struct load *l, int64_t since)
{
	const struct array_hooks *h = &l->array->hooks;
	if (h->seen(h->arg, 0) >= since)
		return 0;
	bool remote = l->array->remote;
	if (remote)
		pool_blocking();
	int r = h->seen(h->arg, since) >= since ? 0 : check_metadata(l);
	if (remote)
		pool_unblocking();
	return r;
}

/* A chunk newer than what we know of its array, or absent, makes us look at the metadata again: the array
 * may have been rewritten or the store emptied. */
int
load_check_found(struct load *l)
{
	int64_t placed = l->stat.placed ? l->stat.placed : l->stat.mtime + SECOND;
	return l->array->hooks.seen && l->stat.mtime ? check_since(l, placed + 1) : 0;
}

/* The fill value must be what elements can be. */
static int
check_fill(const struct array *a)
{
	if (a->fill_error)
		return err_set(-EIO, "absent, and %s", a->fill_error);
	if (a->fill_long)
		return err_set(-EIO,
			"absent, and the fill value of %zu bytes is longer than the width %u",
			a->fill_long, a->dtype.size);
	if (a->fill_nul)
		return err_set(
			-EIO, "absent, and the fill value ends in NUL, which padding would hide");
	return 0;
}

static int
check_absent(struct load *l)
{
	int64_t ttl = l->array->data->options.ttl;
	if (!l->array->remote || !l->array->hooks.seen)
		return check_metadata(l);
	return ttl == INT64_MAX ? 0 : check_since(l, when_wall() - ttl + 1);
}

/* --- fetching --- */

static void
learn_time(struct array *a, int64_t took)
{
	int64_t mean = atomic_load_explicit(&a->fetch_time, memory_order_relaxed);
	atomic_store_explicit(&a->fetch_time, max_u64(1, mean ? mean - mean / 8 + took / 8 : took),
		memory_order_relaxed);
}

/* Local disks answer sooner than threads change places. */
static int
ask_store(struct load *l, struct zmap_get *g)
{
	struct array *a = l->array;
	if (!a->remote)
		return zmap_get(a->zmap, g, &l->stat);
	int64_t began = when_now();
	g->near = a->zmap->caps & ZMAP_NEAR;
	int r = g->near ? zmap_get(a->zmap, g, &l->stat) : ZMAP_FAR;
	bool far = r == ZMAP_FAR;
	g->near = false;
	if (far) {
		pool_blocking();
		r = zmap_get(a->zmap, g, &l->stat);
	}
	if (r == 0)
		learn_time(a, when_now() - began);
	if (far)
		pool_unblocking();
	return r;
}

int
load_get(struct load *l, struct zmap_get *g)
{
	g->key = l->key;
	g->deadline = l->deadline;
	g->cancel = &l->array->data->ending;
	g->ahead = &l->piece->ahead;
	g->anew = l->anew;
	g->hold = l->array->grid.chunk_bytes > HOLD_FROM;
	size_t before = g->into->len;
	int r = ask_store(l, g);
	load_count(&l->array->data->counts.fetches, 1);
	load_count(&l->array->data->counts.fetched_bytes, r == 0 ? g->into->len - before : 0);
	if (r == -EACCES && l->array->data->options.missing_403)
		return ZMAP_ABSENT;
	return r;
}

int
load_decoded(struct load *l, int r)
{
	l->bad = r == -EIO;
	return r;
}

void
load_conditions(const struct piece *p, struct zmap_get *g)
{
	if (p->superseded)
		g->if_match = p->version;
	else if (p->prev && *p->prev->version)
		g->if_none_match = p->prev->version;
}

/* --- what all ways of loading share --- */

int
load_room(struct load *l, struct buf *out)
{
	return buf_reserve(out, l->piece->id.len);
}

/* Some writers store other bytes than 1 for true. */
static void
make_booleans(uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = data[i] != 0;
}

void
load_hand_over(struct load *l, struct buf *out)
{
	if (l->array->dtype.kind == DTYPE_BOOL)
		make_booleans(out->data, l->piece->id.len);
	l->piece->cap = out->cap;
	l->piece->data = MOVE(out->data);
	*out = (struct buf){0};
}

void
load_learn_size(struct array *a, size_t encoded)
{
	size_t mean = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	size_t now = mean ? mean - mean / 8 + encoded / 8 : encoded;
	atomic_store_explicit(&a->encoded_mean, now ? now : 1, memory_order_relaxed);
}

void
load_probe_size(struct array *a, uint64_t chunk)
{
	char key[ARRAY_KEY_MAX];
	struct zmap_stat st;
	if (array_chunk_key(a, chunk, key) == 0 && zmap_stat(a->zmap, key, &st) == 0)
		load_learn_size(a, st.size);
}

/* --- the outcome --- */

/* The store says that what was cached is still right: its bytes move over. */
static int
take_over(struct load *l)
{
	struct piece *p = l->piece, *prev = p->prev;
	CLEAN(buf_free) struct buf out = {0};
	int r = load_room(l, &out);
	if (r < 0)
		return r;
	memcpy(out.data, prev->data, p->id.len);
	memcpy(p->version, prev->version, sizeof p->version);
	load_hand_over(l, &out);
	load_count(&l->array->data->counts.revalidated, 1);
	return 0;
}

static void
tell_change(const struct load *l)
{
	const struct array_hooks *h = &l->array->hooks;
	if (l->changed && h->changed)
		h->changed(h->arg, l->stat.mtime);
}

static int
fetch_and_decode(struct load *l)
{
	struct array *a = l->array;
	if (l->piece->superseded && !*l->piece->version)
		return ZMAP_ABSENT; /* that was what it was */
	if (l->piece->id.len == a->grid.chunk_bytes)
		return load_whole(l);
	if (a->raw)
		return load_raw_range(l);
	if (!a->ranged)
		return load_slice(l);
	return l->keep ? load_kept_range(l) : load_range(l);
}

/* Bytes that came over a network, or lay in a cache, and make no sense may be good when they are sent again. */
static int
fetch_good(struct load *l)
{
	int r = fetch_and_decode(l);
	l->anew = l->bad && l->array->remote;
	return l->anew ? fetch_and_decode(l) : r;
}

/* Bytes that do not fit what the metadata say may be those of an array that was rewritten: then that is why. Whatever the number of bad
 * chunks, the metadata of a remote store are asked for once a second. */
static int
look_for_cause(struct load *l, int r)
{
	const struct array *a = l->array;
	struct err why;
	if (!a->hooks.seen || !(r == -EFBIG || (r < 0 && l->bad)))
		return r;
	err_save(r, &why);
	int checked = check_since(l, when_wall() - (a->remote ? SECOND : 0));
	return checked < 0 ? checked : err_restore(&why);
}

static size_t
scratch_of(const struct load *l)
{
	const struct array *a = l->array;
	size_t encoded = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed),
	       n = a->scratch;
	bool part = l->piece->id.len < a->grid.chunk_bytes;
	if (a->raw || (part && a->ranged && !l->keep))
		return n;
	n += encoded ? encoded + encoded / 4 : a->encoded_max;
	return part && !a->ranged ? n + a->grid.chunk_bytes : n;
}

/* Whatever is wrong with a chunk is EIO to the reader, but for what the reader can do something about. */
static int
failed(struct load *l, int r)
{
	load_count(&l->array->data->counts.failed, 1);
	bool telling = r == -EACCES || r == -ENOMEM || r == -ESTALE;
	return err_add(telling ? r : -EIO, "chunk '%s'", l->key);
}

static int
conclude(struct load *l, int r)
{
	bool former = l->piece->superseded && *l->piece->version;
	if (former && r > 0)
		r = err_set(-ESTALE, "replaced while it was read");
	else if (r == ZMAP_SAME)
		r = take_over(l);
	else if (r == 0)
		memcpy(l->piece->version, l->stat.version, sizeof l->piece->version);
	else if (r == ZMAP_ABSENT) {
		load_count(&l->array->data->counts.absent, 1);
		r = check_fill(l->array);
		if (r == 0)
			r = check_absent(l);
	} else if (r > 0)
		r = err_set(-EIO, "object changed while it was read");
	if (r == 0)
		l->changed |= cache_found(l->array->data->cache, l->piece);
	tell_change(l); /* the version may have been noted, though nothing could be made of it */
	return r < 0 ? failed(l, r) : 0;
}

static struct piece *
piece_of(struct task *t)
{
	return (struct piece *)(void *)((char *)t - offsetof(struct piece, task));
}

/* Is there memory for this load besides its piece? If not, it goes on as a task of its own when there is, and is no longer the caller's. */
static bool
enter(const struct load *l)
{
	struct piece *p = l->piece;
	size_t scratch = p->scratch.cost ? 0 : scratch_of(l);
	if (scratch < SCRATCH_SMALL)
		return true;
	p->scratch.cost = scratch;
	return gate_enter(l->array->data->gate, &p->scratch);
}

/* Those that have entered a gate go on. at: where in a piece their tickets are. */
static void
go_on(struct data *d, struct ticket *t, size_t at)
{
	while (t) {
		struct ticket *next = t->next;
		struct piece *p = (struct piece *)(void *)((char *)t - at);
		pool_push_first(d->pool, &p->task);
		t = next;
	}
}

static void
leave(const struct load *l)
{
	struct data *d = l->array->data;
	struct ticket *t = &l->piece->scratch;
	if (t->cost)
		go_on(d, gate_leave(d->gate, t), offsetof(struct piece, scratch));
	t->cost = 0;
}

/* Loads of one array that hang do not keep all workers. False: as with enter. */
static bool
take_turn(struct array *a, struct piece *p)
{
	bool waited = p->turn.cost;
	p->turn.cost = 1;
	p->turn.ahead = &p->ahead;
	if (!waited && !gate_enter(a->turns, &p->turn))
		return false;
	p->turn.cost = 0; /* it may have to leave before it is loaded */
	return true;
}

static void
end_turn(struct array *a)
{
	const struct ticket t = {.cost = 1};
	go_on(a->data, gate_leave(a->turns, &t), offsetof(struct piece, turn));
}

void
load_patrol(struct data *d, int64_t age)
{
	pool_patrol(d->pool, age);
	go_on(d, gate_patrol(d->gate, PATIENCE * age), offsetof(struct piece, scratch));
}

/* What a load leaves of its time to those who wait for it, so that they hear why it failed: not more than this part of it. */
enum { SPARED = 16, SPARED_NS = 300 * 1000 * 1000 };

static int64_t
deadline_of(const struct array *a)
{
	int64_t timeout = a->data->options.timeout, spared = timeout / SPARED;
	return timeout ? when_now() + timeout - (spared < SPARED_NS ? spared : SPARED_NS) : 0;
}

static void
load_one(struct load *l)
{
	struct array *a = l->array;
	l->piece->begun = when_now();
	l->deadline = deadline_of(a);
	size_t scratch = l->piece->scratch.cost;
	int r = array_chunk_key(a, l->piece->id.chunk, l->key);
	cache_borrow(a->data->cache, scratch);
	if (r == 0)
		r = fetch_good(l);
	r = look_for_cause(l, r);
	codec_scratch_rest();
	cache_give_back(a->data->cache, scratch);
	leave(l);
	r = conclude(l, r);
	if (r < 0)
		piece_fail(l->piece, r);
}

static void run(struct task *t);

/* A task that loads this piece and those behind it. */
static struct task *
task_of(struct array *a, struct piece *first)
{
	first->owner = a;
	first->task.run = run;
	return &first->task;
}

static void
tell(struct piece *p, struct task *t)
{
	for (; p; p = p->batch)
		atomic_store_explicit(&p->told, t, memory_order_relaxed);
}

/* Pieces of one batch become ready together: small ones come by the thousand. */
static void
run(struct task *t)
{
	struct piece *p = piece_of(t), *done[LOAD_BATCH];
	struct array *a = p->owner;
	struct data *d = a->data;
	size_t n = 0;
	bool in = true;
	if (!take_turn(a, p))
		return;
	array_ref(a); /* beside that of the task, which may go on without us */
	tell(p, NULL);
	for (struct piece *next; p && in; p = next) {
		struct load l = {.array = a, .piece = p, .keep = p->keep};
		task_of(a, p);
		next = p->batch;
		in = enter(&l);
		if (in) {
			p->batch = NULL;
			load_one(&l);
			done[n++] = p;
		}
		if (n < LOAD_BATCH && in && next)
			continue;
		if (n)
			cache_finish(d->cache, done, n);
		n = 0;
	}
	end_turn(a);
	if (in)
		array_unref(a);
	array_unref(a);
}

void
load_start(struct array *a, struct piece *first, bool urgent)
{
	struct task *t = task_of(array_ref(a), first);
	tell(first, t);
	pool_push(a->data->pool, t, urgent);
}

void
load_hurry(struct array *a, struct piece *p)
{
	struct task *t = atomic_load_explicit(&p->told, memory_order_relaxed);
	atomic_store(&p->ahead, false);
	if (t)
		pool_hurry(a->data->pool, t);
}
