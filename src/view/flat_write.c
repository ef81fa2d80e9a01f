/* The flat file of a writable mount: an open one. */
#include "view/flats.h"

#include "base/check.h"
#include "view/change.h"
#include "view/flat.h"
#include "view/kind.h"
#include "view/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A reader of the file as it was at some moment. */
struct flat_reader {
	atomic_uint refs;
	struct view_reader *view;
};

/* An open one. */
struct flat_file {
	struct flat *flat;
	unsigned generation, epoch; /* of the flat, when struct file's own reader was made */
	pthread_mutex_t lock;       /* guards the rest */
	struct flat_reader *reader; /* that of later; NULL: not needed so far */
	unsigned since;             /* its generation */
	bool cut;            /* it was truncated through this handle; under the flat's lock */
	atomic_bool refused; /* a write, for the array is a former one */
	atomic_uint puts;    /* times that it was to change something … */
	atomic_uint stored;  /* … that it was told were stored */
	struct file_known known;
};

static struct flat_file *
own_of(const struct file *f)
{
	return f->own;
}

static void
reader_unref(struct flat_reader *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	view_reader_free(r->view);
	free(r);
}

/* --- opening --- */

static bool
takes(const struct view_ops *v)
{
	return v == &view_flat;
}

/* It shows nothing, and what is written from now on replaces what is there. */
static void
cut(struct flat_file *own)
{
	struct flat *w = own->flat;
	LOCKED(&w->lock) {
		w->cutters += !own->cut;
		own->cut = true;
		w->cut = w->size ? 0 : UINT64_MAX;
		atomic_fetch_add(&w->generation, 1);
	}
}

/* The handle goes. Was it the last by which the file was truncated? */
static bool
uncut(struct flat_file *own)
{
	bool last = false;
	LOCKED(&own->flat->lock) {
		last = own->cut && --own->flat->cutters == 0;
		own->cut = false;
	}
	return last;
}

static int
open_writable(struct file *f, struct flat *w)
{
	int r = flat_is_stuck(w);
	if (r == 0)
		r = array_writable(flat_variable(f->layout)->array);
	if (r == 0)
		r = array_stuck(flat_variable(f->layout)->array);
	if (r < 0)
		return r;
	flat_count_writer(w, 1);
	const uint64_t heard = data_begin_writer(f->mount->data);
	LOCKED(&w->lock)
		own_of(f)->known.told = max_u64(heard, w->given_up);
	if (f->flags & O_TRUNC)
		cut(own_of(f));
	return 0;
}

static int
hold(struct file *f, const struct entry *e)
{
	struct flat_file *own = calloc(1, sizeof *own);
	struct layout *l = f->layout;
	struct variable *v = flat_variable(l);
	if (!own)
		return err_set(-ENOMEM, "no memory for an open file");
	int r = flats_get(f->mount, v->node, l, &own->flat);
	if (r < 0) {
		free(own);
		return r;
	}
	struct flat_state st;
	flat_now(own->flat, &st);
	/* What the node does not say is read by what the flat knows. */
	own->generation = st.layout->size == l->size && st.shown == l->size ? st.generation
									    : st.generation - 1;
	own->epoch = st.epoch;
	f->size = st.shown;
	flat_state_done(&st);
	pthread_mutex_init(&own->lock, NULL);
	f->own = own;
	return 0;
}

static void
flat_close(struct file *f)
{
	struct flat_file *own = own_of(f);
	if (!own)
		return;
	if (file_writes(f)) {
		flat_count_writer(own->flat, -1);
		data_end_writer(f->mount->data);
	}
	if (uncut(own))
		flat_show_all(own->flat);
	reader_unref(own->reader);
	pthread_mutex_destroy(&own->lock);
	flat_put(own->flat);
	free(own);
}

static int
flat_open(struct file *f, const struct entry *e, int flags)
{
	int r = file_view_open(f, e);
	if (r < 0 && file_writes(f) && e->node->error && r != -EACCES)
		return err_add(-EROFS, "what cannot be read is not written");
	if (r == 0)
		r = hold(f, e);
	if (r == 0 && file_writes(f))
		r = open_writable(f, own_of(f)->flat);
	if (r < 0) { /* as if it had been opened to be read: no writer is counted */
		f->flags = (f->flags & ~O_ACCMODE) | O_RDONLY;
		flat_close(f);
		f->own = NULL;
	}
	return r;
}

static int
unlink_array(struct mount *m, const struct entry *e)
{
	return e->by || !e->view || !takes(e->view) ? ZMAP_ABSENT : change_remove_array(m, e->node);
}

/* --- reading --- */

/* The reader of the file as it is now, a reference. */
static int
reader_now(struct flat_file *own, const struct flat_state *st, struct flat_reader **ret)
{
	struct flat_reader *fresh = NULL, *old = NULL;
	LOCKED(&own->lock) {
		if (own->reader && own->since == st->generation) {
			atomic_fetch_add(&own->reader->refs, 1);
			*ret = own->reader;
			return 0;
		}
	}
	fresh = calloc(1, sizeof *fresh);
	if (!fresh || view_reader_new(st->layout, &fresh->view) < 0) {
		free(fresh);
		return err_set(-ENOMEM, "no memory for a reader");
	}
	atomic_store(&fresh->refs, 2);
	LOCKED(&own->lock) {
		old = own->reader;
		own->reader = fresh;
		own->since = st->generation;
	}
	reader_unref(old);
	*ret = fresh;
	return 0;
}

/* 0, or that in that epoch it is another array than the one that was opened. */
static int
check_epoch(const struct flat_file *own, unsigned epoch)
{
	return epoch == own->epoch ? 0 : variable_say_rewritten(own->flat->path);
}

/* The same of now. */
static int
look_same(const struct flat_file *own)
{
	unsigned epoch = 0;
	LOCKED(&own->flat->lock)
		epoch = own->flat->epoch;
	return check_epoch(own, epoch);
}

/* Of a file that has changed its size since it was opened. */
static int
read_now(struct file *f, const struct array_want *want, struct reply *ret)
{
	struct flat_file *own = own_of(f);
	struct flat_reader *reader = NULL;
	struct flat_state st;
	struct array_want w = *want;
	flat_now(own->flat, &st);
	int r = check_epoch(own, st.epoch);
	if (r == 0 && w.off < st.shown && w.len) {
		w.len = min_u64(w.len, st.shown - w.off);
		r = reader_now(own, &st, &reader);
		if (r == 0)
			r = view_read(reader->view, &w, ret);
		reader_unref(reader);
	}
	flat_state_done(&st);
	return r;
}

static int
flat_read(struct file *f, const struct array_want *want, struct reply *ret)
{
	const struct flat_file *own = own_of(f);
	if (atomic_load_explicit(&own->flat->generation, memory_order_relaxed) == own->generation)
		return file_view_read(f, want, ret);
	return read_now(f, want, ret);
}

/* --- writing --- */

/* Of a page that a program has mapped, what it has changed: the rest may be older than what others
 * have written. */
static int
put_differing(struct file *f, uint64_t off, struct span b, const struct array_want *how)
{
	struct flat *w = own_of(f)->flat;
	CLEAN(clean_free) uint8_t *was = malloc(b.len);
	struct reply reply = {0};
	struct array_want want = *how;
	want.off = off;
	want.len = b.len;
	want.deadline = clock_now() + f->mount->options.data.timeout;
	if (!was)
		return err_set(-ENOMEM, "no memory for %zu bytes", b.len);
	const unsigned epoch = own_of(f)->epoch;
	int r = how->shown ? 0 : flat_read(f, &want, &reply);
	size_t known = how->shown ? b.len : reply.len;
	if (how->shown)
		memcpy(was, how->shown, b.len);
	else if (r == 0)
		reply_copy(&reply, was);
	reply_done(&reply);
	for (size_t i = known; i < b.len; i++) /* what is not known differs */
		was[i] = (uint8_t)~b.data[i];
	for (size_t at = 0, to; r == 0 && span_differs(b, was, &at, &to); at = to)
		r = flat_put_bytes(w, epoch, off + at, (struct span){b.data + at, to - at}, how);
	return r;
}

/* What a call that changes the file came to is told, if a program made it. Returns that. */
static int
tell(struct flat_file *own, int code, uint64_t upto, unsigned flags)
{
	struct flat *w = own->flat;
	bool failed = false;
	if (code == 0 || code == -EINTR || flags & FILE_MAPPED)
		return code;
	LOCKED(&w->lock)
		failed = w->failed && w->stuck.code == code;
	flat_know(w, failed ? 0 : code, upto, &own->known.told);
	return code;
}

/* A program that does not look at this failure finds it again when it writes on, and when it closes
 * the file. A page of a mapping is gone whatever it was. */
static bool
sticks(int code, unsigned flags)
{
	return code < 0 && (flags & FILE_MAPPED || (code != -EINTR && code != -ENOMEM));
}

/* The kernel's page has what is refused. */
static void
drop_refused(struct flat *w)
{
	struct stale *s = atomic_load(&w->mount->stale);
	if (s)
		stale_push(s, w->path, STALE_PAGES);
}

static int
write_now(struct file *f, uint64_t off, struct span b, const struct array_want *how, unsigned flags)
{
	struct flat_file *own = own_of(f);
	struct flat *w = own->flat;
	if (!file_writes(f))
		return err_set(-EBADF, "'%s' was opened to be read", f->path);
	int r = flat_is_stuck(w);
	if (!b.len)
		return r;
	if (r == 0)
		r = look_same(own);
	if (r == 0 && flags & FILE_APPEND)
		r = flat_find_end(w, &off);
	if (r == 0)
		r = flags & FILE_MAPPED ? put_differing(f, off, b, how)
					: flat_put_bytes(w, own->epoch, off, b, how);
	if (r < 0 && flags & FILE_MAPPED)
		drop_refused(w);
	if (r < 0 && look_same(own) < 0) {
		atomic_store(&own->refused, true);
		return -EIO; /* of this handle alone */
	}
	return sticks(r, flags) ? flat_stick(w, r) : r;
}

static int
flat_write(
	struct file *f, uint64_t off, struct span b, const struct array_want *how, unsigned flags)
{
	const uint64_t upto = data_errors(f->mount->data);
	atomic_fetch_add(&own_of(f)->puts, 1);
	return tell(own_of(f), write_now(f, off, b, how, flags), upto, flags);
}

static int
resize(struct file *f, uint64_t size, enum file_resize by, struct cancel *cancel)
{
	struct flat *w = own_of(f)->flat;
	unsigned epoch = own_of(f)->epoch;
	if (!file_writes(f))
		return err_set(-EBADF, "'%s' was opened to be read", f->path);
	int r = flat_is_stuck(w);
	if (r == 0 && by != RESIZE_NAMED)
		r = look_same(own_of(f));
	if (r < 0)
		return r;
	if (by == RESIZE_LONGER)
		return flat_lengthen(w, epoch, size, cancel);
	if (by == RESIZE_NAMED)
		LOCKED(&w->lock)
			epoch = w->epoch;
	if (size || by == RESIZE_NAMED)
		return flat_set_size(w, epoch, size, cancel);
	cut(own_of(f));
	return 0;
}

static int
flat_truncate(struct file *f, uint64_t size, enum file_resize by, struct cancel *cancel)
{
	const uint64_t upto = data_errors(f->mount->data);
	atomic_fetch_add(&own_of(f)->puts, 1);
	return tell(own_of(f), resize(f, size, by, cancel), upto, 0);
}

/* --- storing --- */

/* What was given up, or lost, that the handle does not know of. */
static int
hear(struct flat *w, bool wrote, _Atomic(uint64_t) *heard)
{
	struct err why = {0};
	uint64_t given_up = 0;
	LOCKED(&w->lock) {
		given_up = w->given_up;
		if (given_up > *heard)
			why = w->why;
	}
	const int r = flat_hear(w, wrote, heard);
	*heard = max_u64(*heard, given_up);
	return why.code ? err_restore(&why) : r;
}

/* Stores what there is. The handle hears what other programs, or a refresh, were told of it. */
static int
store(struct flat_file *own, enum settle_why why, struct cancel *cancel)
{
	struct flat *w = own->flat;
	const uint64_t upto = data_errors(w->mount->data);
	const unsigned puts = atomic_load(&own->puts);
	_Atomic(uint64_t) heard = file_known_before(&own->known, why);
	int r = flat_store(w, why, cancel);
	if (r < 0 && r != -EINTR)
		flat_know(w, 0, upto, &heard);
	if (r == 0)
		r = hear(w, puts != atomic_load(&own->stored), &heard);
	file_known_now(&own->known, why, heard);
	if (r == 0)
		atomic_store(&own->stored, puts);
	return r;
}

/* What was written through handles of a former array may not be in the store. */
static int
look_lost(const struct flat_file *own)
{
	bool lost = atomic_load(&own->refused);
	LOCKED(&own->flat->lock)
		lost |= own->epoch < own->flat->lost;
	return lost ? variable_say_rewritten(own->flat->path) : 0;
}

/* What replaced a file that was truncated is shorter than what was there. */
static int
look_whole(struct flat *w)
{
	struct flat_state st;
	flat_now(w, &st);
	uint64_t shown = st.shown, size = st.size;
	flat_state_done(&st);
	if (shown == size || !shown)
		return 0;
	return err_set(-EINVAL,
		"%llu of %llu bytes were written: the others stay, and no dimension becomes "
		"shorter",
		(unsigned long long)shown, (unsigned long long)size);
}

static int
flat_settle(struct file *f, enum settle_why why, int64_t deadline, struct cancel *cancel)
{
	struct flat_file *own = own_of(f);
	struct flat *w = own->flat;
	const bool release = why == SETTLE_RELEASE, last = release || why == SETTLE_RENAME;
	if (!file_writes(f) && release)
		return 0;
	int r = last && flat_count_writer(w, 0) == 1 ? flat_complete(w) : 0;
	bool fresh = r < 0;
	if (r == 0)
		r = store(own, why, cancel);
	/* A file is released after close() has returned: by then a retry may have forgotten this
	 * error. */
	if (r == 0)
		r = flat_is_stuck(w);
	if (r == 0)
		r = look_lost(own);
	bool look = !release || uncut(own);
	if (r == 0 && look) {
		r = look_whole(w);
		fresh = r < 0;
	}
	if (release && look)
		flat_show_all(w);
	return fresh && release && sticks(r, 0) ? flat_stick(w, r) : r;
}

const struct file_kind kind_flat = {
	.name = "flat",
	.begin = flat_begin,
	.end = flat_end,
	.takes = takes,
	.unlink = unlink_array,
	.open = flat_open,
	.read = flat_read,
	.write = flat_write,
	.truncate = flat_truncate,
	.settle = flat_settle,
	.close = flat_close,
	.settle_all = flat_settle_all,
	.retry = flat_retry,
	.error = flat_error,
	.unstored = flat_unstored,
};
