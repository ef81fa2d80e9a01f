/* Loading extents: whose turn it is, which way an extent is loaded, the outcome. Runs on workers,
 * and on the threads of readers (load_here). */
#include "data/load_impl.h"

#include <errno.h>
#include <string.h>

enum {
	SCRATCH_SMALL = 1 << 20, /* loads that need less are not worth counting */
	LARGE = 1 << 20,         /* stored bytes whose transfer is worth ending */
	PATIENCE = 4, /* as many times as a task may take, until loads that need much memory are
			 given up */
};

/* --- does a reader want it? --- */

/* A program that closed a file may open it again, or another of its kind: for so long (ns) what is
 * under way goes on. */
static const int64_t REOPENED = SECOND;

/* The reader has gone elsewhere. */
static bool
is_left(const struct extent *p)
{
	return atomic_load(&p->left) && atomic_load(&p->ahead);
}

/* Has no reader the array open, since so long? */
static bool
is_closed(const struct array *a, int64_t since)
{
	int64_t left = atomic_load(&a->left);
	return left && clock_now() - left >= since;
}

/* To have the rest of a small chunk sent costs less than another connection. */
static bool
is_large(const struct array *a)
{
	size_t mean = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	return (mean ? mean : a->grid.chunk_bytes) >= LARGE;
}

static bool
is_unwanted(const struct load *l, bool begun)
{
	const struct array *a = l->array;
	const struct extent *p = l->extent;
	return cancelled(&a->data->ending) ||
	       (!atomic_load(&p->waiting) && (is_closed(a, begun ? REOPENED : 0) ||
						     (is_left(p) && (!begun || is_large(a)))));
}

/* Once it was said, it holds: a reader that has come meanwhile asks again. */
static bool
look(struct cancel *c)
{
	const struct load *l = (const struct load *)(const void *)((const char *)c -
								   offsetof(struct load, cancel));
	bool unwanted = is_unwanted(l, true);
	if (unwanted)
		atomic_store(&c->wanted_no_more, true);
	return unwanted;
}

/* --- the outcome --- */

/* The store says that what was cached is still right: its bytes move over. */
static int
take_over(struct load *l)
{
	struct extent *p = l->extent, *prev = p->prev;
	CLEAN(buf_free) struct buf out = {0};
	int r = prev->data ? load_room(l, &out) : 0;
	if (r < 0)
		return r;
	memcpy(p->version, prev->version, sizeof p->version);
	if (prev->data) { /* else it is one that its shard lacks */
		memcpy(out.data, prev->data, p->id.len);
		load_hand_over(l, &out);
	}
	load_count(&l->array->data->counts.revalidated, 1);
	return 0;
}

static int
fetch_and_decode(struct load *l)
{
	struct array *a = l->array;
	if (l->extent->superseded && !*l->extent->version)
		return ZMAP_ABSENT; /* that was what it was */
	if (l->extent->id.len == a->grid.chunk_bytes)
		return load_whole(l);
	if (a->raw)
		return load_raw_range(l);
	if (!a->ranged)
		return load_slice(l);
	return l->keep ? load_kept_range(l) : load_range(l);
}

/* Bytes that came over a network, or lay in a cache, and make no sense may be good when they are
 * sent again. */
static int
fetch_good(struct load *l)
{
	int r = fetch_and_decode(l);
	l->bypass_cache = l->bad && l->array->remote;
	if (!l->bypass_cache)
		return r;
	l->bad = false;
	return fetch_and_decode(l);
}

/* Bytes that do not fit what the metadata say may be those of an array that was rewritten: then
 * that is why. Whatever the number of bad chunks, the metadata of a remote store are asked for once
 * a second. */
static int
look_for_cause(struct load *l, int r)
{
	const struct array *a = l->array;
	struct err why;
	if (!a->hooks.seen || !(r == -EFBIG || (r < 0 && l->bad)))
		return r;
	err_save(r, &why);
	int checked = load_check_since(a, clock_wall() - (a->remote ? SECOND : 0));
	return checked < 0 ? checked : err_restore(&why);
}

static size_t
scratch_of(struct load *l)
{
	const struct array *a = l->array;
	size_t encoded = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed),
	       n = a->scratch;
	bool part = l->extent->id.len < a->grid.chunk_bytes;
	n += load_index_scratch(l);
	if (a->raw || (part && a->ranged && !l->keep))
		return n;
	n += encoded ? encoded + encoded / 4 : a->encoded_max;
	return part && !a->ranged ? n + a->grid.chunk_bytes : n;
}

/* Whatever is wrong with a chunk is EIO to the reader, but for what the reader can do something
 * about. */
static int
failed(struct load *l, int r)
{
	if (r == -ECANCELED)
		return r;
	load_count(&l->array->data->counts.failed, 1);
	bool telling = r == -EACCES || r == -ENOMEM || r == -ESTALE;
	return err_add(telling ? r : -EIO, "chunk '%s'", l->key);
}

static int
conclude(struct load *l, int r)
{
	bool former = l->extent->superseded && *l->extent->version,
	     missing = r == ZMAP_ABSENT && l->array->shard; /* in a shard of some version */
	if (former && r > 0 && !missing)
		r = err_set(-ESTALE, "replaced while it was read");
	else if (r == ZMAP_SAME)
		r = take_over(l);
	else if (r == 0)
		memcpy(l->extent->version, l->stat.version, sizeof l->extent->version);
	else if (r == ZMAP_ABSENT) {
		load_count(&l->array->data->counts.absent, 1);
		if (missing)
			memcpy(l->extent->version, l->stat.version, sizeof l->extent->version);
		r = load_check_fill(l->array);
		if (r == 0)
			r = load_check_absent(l);
	} else if (r > 0)
		r = err_set(-EIO, "object changed while it was read");
	if (r == 0)
		load_found(l, l->extent);
	return r < 0 ? failed(l, r) : 0;
}

static struct extent *
extent_of(struct task *t)
{
	return (struct extent *)(void *)((char *)t - offsetof(struct extent, task));
}

/* Those that have entered a semaphore go on. at: where in an extent their waiters are. */
static void
go_on(struct data *d, struct semaphore_waiter *t, size_t at)
{
	while (t) {
		struct semaphore_waiter *next = t->next;
		struct extent *p = (struct extent *)(void *)((char *)t - at);
		pool_push_first(d->pool, &p->task);
		t = next;
	}
}

/* This load needs no more than `still` now. */
static void
leave(const struct load *l, size_t still)
{
	struct data *d = l->array->data;
	struct semaphore_waiter *t = &l->extent->scratch;
	const struct semaphore_waiter rest = {.cost = t->cost - still};
	if (still >= t->cost)
		return;
	t->cost = still;
	go_on(d, semaphore_leave(d->semaphore, &rest), offsetof(struct extent, scratch));
}

static void
let_go(struct load *l)
{
	leave(l, 0);
	load_index_let_go(l);
}

/* Is there memory for this load besides its extent? If not, it goes on as a task of its own when
 * there is, and is no longer the caller's. */
static bool
enter(struct load *l)
{
	struct semaphore_waiter *t = &l->extent->scratch;
	size_t scratch = scratch_of(l);
	if (t->cost) { /* it waited; what it waited for memory for may be there by now */
		leave(l, scratch);
		return true;
	}
	if (scratch < SCRATCH_SMALL)
		return true;
	t->cost = scratch;
	bool in = semaphore_enter(l->array->data->semaphore, t);
	if (!in)
		load_index_let_go(l);
	return in;
}

/* Loads of one array that hang do not keep all workers. False: as with enter. */
static bool
take_turn(struct array *a, struct extent *p)
{
	bool waited = p->turn.cost;
	p->turn.cost = 1;
	p->turn.ahead = &p->ahead;
	if (!waited && !semaphore_enter(a->turns, &p->turn))
		return false;
	p->turn.cost = 0; /* it may have to leave before it is loaded */
	return true;
}

static void
widen_turns(struct array *a)
{
	if (array_slow(a) && !atomic_exchange(&a->widened, true))
		go_on(a->data, semaphore_widen(a->turns, TURNS_SLOW),
			offsetof(struct extent, turn));
}

static void
end_turn(struct array *a)
{
	const struct semaphore_waiter t = {.cost = 1};
	go_on(a->data, semaphore_leave(a->turns, &t), offsetof(struct extent, turn));
}

void
load_rescue(struct data *d, int64_t age)
{
	pool_rescue(d->pool, age);
	go_on(d, semaphore_rescue(d->semaphore, PATIENCE * age), offsetof(struct extent, scratch));
}

/* What a load leaves of its time to the readers that wait for it, so that they hear why it failed:
 * not more than this part of it. */
enum { SPARED = 16, SPARED_NS = 300 * 1000 * 1000 };

static int64_t
deadline_of(const struct array *a)
{
	int64_t timeout = a->data->options.timeout, spared = timeout / SPARED;
	return timeout ? clock_now() + timeout - (spared < SPARED_NS ? spared : SPARED_NS) : 0;
}

/* --- what did not come in time --- */

static struct negative_cache_what
chunk_of(const struct array *a, uint64_t chunk)
{
	return (struct negative_cache_what){.key = a->space, .off = chunk, .end = chunk + 1};
}

void
load_missed(struct array *a, uint64_t chunk, int code)
{
	struct negative_cache_what what = chunk_of(a, chunk);
	negative_cache_add(&a->data->negative, &what, code);
}

/* A request that came before the failure has waited for the chunk itself, and may ask once more. */
static int
missed_lately(const struct load *l)
{
	struct negative_cache_what what = chunk_of(l->array, l->extent->id.chunk);
	return negative_cache_lately(&l->array->data->negative, &what, l->extent->asked);
}

/* A load that failed after half of its time has waited for the store. */
static void
note_outcome(const struct load *l, int r)
{
	struct array *a = l->array;
	struct negative_cache_what what = chunk_of(a, l->extent->id.chunk);
	int64_t timeout = a->data->options.timeout;
	if (r == 0)
		negative_cache_mend(&a->data->negative, &what);
	else if (r == -EIO && timeout && clock_over(l->extent->begun + timeout / 2))
		load_missed(a, l->extent->id.chunk, r);
}

/* --- one after the other --- */

static int
load_now(struct load *l)
{
	struct array *a = l->array;
	l->deadline = deadline_of(a);
	l->cancel.look = look;
	size_t scratch = l->extent->scratch.cost;
	int r = array_chunk_key(a, l->extent->id.chunk, l->key);
	cache_borrow(a->data->cache, scratch);
	bool wanted = !is_unwanted(l, false);
	if (r == 0 && wanted) {
		if (!(a->zmap->caps & ZMAP_LOCAL_COPIES))
			load_check_begin(l);
		r = fetch_good(l);
	}
	if (!wanted || (r < 0 && cancelled(&l->cancel)))
		r = err_set(-ECANCELED, "no reader waits for it any more");
	r = look_for_cause(l, r);
	codec_scratch_rest();
	cache_give_back(a->data->cache, scratch);
	let_go(l);
	r = conclude(l, r);
	note_outcome(l, r);
	return r;
}

static void
load_one(struct load *l)
{
	l->extent->begun = clock_now();
	int r = missed_lately(l);
	if (r == 0)
		r = load_now(l);
	else
		let_go(l);
	if (r < 0)
		extent_fail(l->extent, r);
}

static void run(struct task *t);

/* A task that loads this extent and those behind it. */
static struct task *
task_of(struct array *a, struct extent *first)
{
	first->owner = a;
	first->task.run = run;
	return &first->task;
}

/* Extents that were to be loaded one after the other, by a store that turns out to be slow: each
 * for itself. */
static void
scatter(struct array *a, struct extent *first)
{
	for (struct extent *p = first, *next; p; p = next) {
		next = p->batch;
		p->batch = NULL;
		load_start(a, p, !atomic_load(&p->ahead));
	}
}

/* Extents of one batch become ready together: small ones come by the thousand. */
static void
run(struct task *t)
{
	struct extent *p = extent_of(t), *done[LOAD_BATCH];
	struct array *a = p->owner;
	struct data *d = a->data;
	size_t n = 0;
	bool in = true;
	struct joined joined = {0};
	widen_turns(a);
	if (!take_turn(a, p))
		return;
	array_ref(a); /* beside that of the task, which may go on without us */
	load_tell(p, NULL);
	for (struct extent *next; p && in; p = next) {
		struct load l = {
			.array = a, .extent = p, .rest = &next, .joined = &joined, .keep = p->keep};
		task_of(a, p);
		next = p->batch;
		in = enter(&l);
		if (in) {
			p->batch = NULL;
			load_one(&l);
			done[n++] = p;
		}
		if (in && !a->shard && array_slow(a))
			scatter(a, MOVE(next));
		if (n < LOAD_BATCH && in && next)
			continue;
		if (n)
			cache_finish(d->cache, done, n);
		n = 0;
	}
	load_joined_free(d, &joined);
	end_turn(a);
	if (in)
		array_unref(a);
	array_unref(a);
}

void
load_start(struct array *a, struct extent *first, bool urgent)
{
	struct task *t = task_of(array_ref(a), first);
	load_tell(first, t);
	pool_push(a->data->pool, t, urgent);
}

void
load_queue(struct array *a, struct extent *first)
{
	struct task *t = task_of(array_ref(a), first);
	load_tell(first, t);
	pool_push_only(a->data->pool, t);
}

void
load_here(struct array *a, struct extent *first)
{
	struct task *t = task_of(array_ref(a), first);
	load_tell(first, t);
	if (!pool_run_here(a->data->pool, t))
		pool_push(a->data->pool, t, true);
}

void
load_hurry(struct array *a, struct extent *p)
{
	struct task *t = atomic_load_explicit(&p->told, memory_order_relaxed);
	atomic_store(&p->ahead, false);
	if (t)
		pool_hurry(a->data->pool, t);
}
