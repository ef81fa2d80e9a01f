#include "fuse/failures.h"
#include "fuse/notify.h"
#include "fuse/open_file.h"
#include "fuse/server.h"
#include "fuse/shown.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* ns. How often it is looked whether the reads that hang have ended; for how long files that were
 * closed are waited for, and how often. */
static const int64_t LOOK_EVERY = SECOND / 50, RELEASED_WITHIN = 2 * SECOND,
		     RELEASED_EVERY = SECOND / 500;

/* ns. What is told of a file that has become shorter may wait for the page that is being read. */
static const int64_t TOLD_WITHIN = SECOND / 20;

/* How often what fills pages is read, at most, to be as new as what is written meanwhile. */
enum { FILLS = 5 };

static void
free_file(struct handle *h)
{
	struct open_file *f = open_file_of(h);
	file_close(f->file);
	open_file_end_pause(f);
	if (f->paged)
		page_coherence_close(f->server, f->inode, f->written);
	open_file_heard(f);
	if (f->noted)
		shown_end(f->inode);
	inodes_put(f->server->inodes, f->inode);
	free(f);
}

/* Takes over the file, also when it fails. */
static int
hold_file(struct server *s, struct inode *i, struct file *file, struct open_file **ret)
{
	struct open_file *f = calloc(1, sizeof *f);
	if (!f) {
		file_close(file);
		return err_set(-ENOMEM, "no memory for an open file");
	}
	f->file = file;
	f->server = s;
	f->opened = clock_now();
	f->inode = inodes_get(s->inodes, inodes_id(s->inodes, i));
	f->handle.inode = f->inode;
	handle_open(&s->handles, &f->handle, free_file);
	*ret = f;
	return 0;
}

/* Pages cannot be dropped while a read of the file hangs: the kernel would wait for it. False: that
 * did not end in time. */
static bool
wait_for_hanging(struct request *r)
{
	while (queue_reads(r->server->queue, r->inode, HANGING)) {
		if (clock_over(r->deadline) || cancelled(&r->cancel))
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY}, NULL);
	}
	return true;
}

/* What a program was told when it closed a file is known when that is released, a moment later:
 * .zarrfs/refresh is to name and forget it. Another thread may be about to begin with that. */
static void
wait_for_releases(struct request *r)
{
	const int64_t closed = clock_now() + RELEASED_EVERY, until = closed + RELEASED_WITHIN;
	do
		nanosleep(&(struct timespec){.tv_nsec = RELEASED_EVERY}, NULL);
	while (queue_releases(r->server->queue, closed) && !clock_over(until) &&
		!cancelled(&r->cancel));
}

int
open_file_resume(struct request *r)
{
	struct server *s = r->server;
	struct open_file *f = open_file_of(r->handle);
	if (!atomic_load(&f->paused))
		return 0;
	if (!wait_for_hanging(r))
		return err_set(
			-EIO, "a reader paused in the midst of a chunk, and other reads hang");
	if (open_file_end_pause(f))
		notifier_drop(s->notifier, r->inode);
	return 0;
}

/* Past the kernel's pages a read() gives what was asked or an error; from pages it gives those
 * before the first that cannot be read. Where the kernel maps no files that are read past its
 * pages, programs that map netCDF files come first. */
static bool
goes_whole(const struct server *s, const struct entry *e, const struct file *f)
{
	switch (s->direct_io) {
	case DIRECT_NO: return false;
	case DIRECT_AUTO: return s->direct_mappings && file_goes_whole(f);
	case DIRECT_YES: return entry_is_netcdf(e);
	case DIRECT_ALL: return s->direct_mappings || entry_is_netcdf(e);
	}
	return false;
}

/* What a write() puts into pages is copied twice, and few programs read what they wrote. What a
 * page would cost a far store is not asked for for a few bytes. */
static bool
goes_direct(const struct server *s, const struct entry *e, const struct file *f)
{
	if (e->unknown_length || file_is_direct(f))
		return true;
	if (file_is_writable(f))
		return s->direct_writes && s->direct_io != DIRECT_NO;
	return goes_whole(s, e, f) || (s->direct_mappings && file_is_spread(f));
}

/* How the kernel is to treat what was opened. */
static void
describe_open(struct request *r, const struct entry *e, struct open_file *f, bool keep)
{
	f->written = f->paged && file_is_writable(f->file);
	f->direct = f->since || goes_direct(r->server, e, f->file);
	f->guarded = entry_is_netcdf(e) && !f->direct;
	if (f->guarded)
		file_guard(f->file);
	r->fi.fh = handle_number(&f->handle);
	r->fi.direct_io = f->direct;
	r->fi.keep_cache = !e->unknown_length && keep;
	atomic_store(&f->drops, !r->fi.keep_cache && shown_open_begin(f->inode));
	r->fi.noflush = (r->fi.flags & O_ACCMODE) == O_RDONLY;
}

/* ESTALE: the kernel looks the name up again and opens what it finds. */
static int
open_entry(struct request *r, struct inode *i, const struct entry *e, struct open_file **ret)
{
	struct server *s = r->server;
	struct file *file = NULL;
	struct open_file *f = NULL;
	struct page_coherence_opened how = {0};
	bool first = false;
	int result = file_open_for(s->mount, e, r->fi.flags, &file);
	if (result == 0)
		result = hold_file(s, i, file, &f);
	/* A netCDF file that is being written is never in pages: they cannot be too old for it. */
	const bool paged = result == 0 && !e->unknown_length && !file_is_direct(file);
	if (paged)
		result = page_coherence_open(s, i, file,
			file_keep_cache(file) && !atomic_exchange(&i->islands, false), r->pid,
			&how);
	if (result == 0) {
		f->paged = paged;
		f->since = how.since;
	}
	if (result == 0 && file_is_writable(file)) {
		result = shown_begin(s->shown, i, &first);
		f->noted = result == 0;
	}
	if (result == 0) {
		describe_open(r, e, f, how.keep && !first);
		*ret = f;
	} else if (f) {
		handle_unref(&f->handle);
	}
	return result;
}

static void
run_open(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	struct open_file *f = NULL;
	if (r->server->rw && !strcmp(r->inode->path, ".zarrfs/refresh"))
		wait_for_releases(r);
	int result = server_entry(r->server, r->inode, &e);
	if (result == 0)
		result = open_entry(r, r->inode, &e, &f);
	else if (result == -ESTALE &&
		 e.path) /* the kernel tries once more: it must not find yet another */
		file_look(r->server->mount, &e);
	if (result < 0)
		request_fail(r, result);
	else if (!request_answer(r, fuse_reply_open(r->req, &r->fi)))
		handle_unref(&f->handle);
}

void
server_run_create(struct request *r)
{
	struct server *s = r->server;
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(clean_free) char *path = server_child(r->inode, r->name);
	struct fuse_entry_param p = {0};
	struct open_file *f = NULL;
	int result = path ? mount_create(s->mount, path, &e) : err_set(-ENOMEM, "no memory");
	if (result == 0)
		result = server_param(s, &e, &p);
	if (result == 0) {
		struct inode *i = inodes_get(s->inodes, p.ino);
		result = open_entry(r, i, &e, &f);
		inodes_put(s->inodes, i);
	}
	if (result < 0)
		request_fail(r, result);
	else if (request_answer(r, fuse_reply_create(r->req, &p, &r->fi)))
		return;
	if (f)
		handle_unref(&f->handle);
	if (p.ino)
		inodes_forget(s->inodes, p.ino, 1);
}

void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	if (!s->rw && ((fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC)) {
		fuse_reply_err(req, EROFS);
		return;
	}
	request_start(req, &(struct asked){.op = OP_OPEN, .run = run_open, .ino = ino, .fi = fi});
}

static void
late_read(const struct request *r)
{
	file_late(open_file_of(r->handle)->file, r->off, r->size);
}

/* Past the pages the kernel cuts only what is longer than so much, at the least: 32 pages, of which
 * the first and the last may be parts. (A readv() of as many pieces counts as several.) */
enum { UNCUT = 30 * 4096 };

static void
end_read(const struct request *r)
{
	page_coherence_read(r->inode, r->pid, !r->paged && r->size < UNCUT);
}

static void
pay_for_read(const struct request *r)
{
	notifier_pay(r->server->notifier, r->inode);
}

/* What the kernel has in its pages when it has the answer; NULL: nothing. False: some of it was
 * written since then, and it is to be asked for again. */
static bool
note_shown(const struct request *r, const struct reply *reply, int64_t begun, bool again)
{
	CLEAN(clean_free) uint8_t *own = NULL;
	shown_forget(r->inode, r->off, r->size);
	if (!reply)
		return true;
	if (reply->parts > 1) {
		if (!(own = malloc(reply->len)))
			return true;
		reply_copy(reply, own);
	}
	const struct span b = {own ? own : reply->part[0].iov_base, reply->len};
	if (!shown_fill(r->inode, r->off, b, r->size, again ? begun : INT64_MAX))
		return false;
	shown_filled(r->inode, r->off, r->size, begun);
	return true;
}

static int
read_file(struct request *r, struct array_want *want, struct reply *ret)
{
	struct file *f = open_file_of(r->handle)->file;
	int result = file_read(f, want, ret);
	if (result == -EIO && page_coherence_are_written(r->server, r->inode)) {
		want->since = 0; /* what writers see need not be of one moment */
		result = file_read(f, want, ret);
	}
	return result;
}

static int
fill_pages(struct request *r, struct array_want *want, struct reply *ret)
{
	int result = 0;
	for (unsigned n = 1; n <= FILLS; n++) {
		const int64_t begun = clock_now();
		if (shown_begun(r->inode)) /* the kernel has none of them */
			shown_forget(r->inode, r->off, r->size);
		result = read_file(r, want, ret);
		if (!shown_begun(r->inode) ||
			note_shown(r, result < 0 ? NULL : ret, begun, n < FILLS))
			break;
		reply_done(ret);
	}
	return result;
}

/* What fills pages ends before the size that the kernel knows, or knew when it asked. */
static bool
ends_early(const struct request *r, uint64_t len)
{
	const uint64_t known = max_u64(r->known, atomic_load(&r->inode->known));
	return r->paged && len < r->size && r->off + len < known;
}

/* The array became shorter, by another writer. What is being told of that is told first; from then
 * on until the answer is on its way nothing is. */
static int
check_end(struct request *r, struct reply *reply)
{
	mount_flush_stale(r->server->mount, clock_now() + TOLD_WITHIN);
	atomic_fetch_add(&r->inode->answering, 1);
	if (inodes_takes_end(r->server->inodes, r->inode, r->off, r->size))
		return 0;
	atomic_fetch_sub(&r->inode->answering, 1); /* the kernel asks again at once */
	reply_done(reply);
	shown_forget(r->inode, r->off, r->size);
	return err_set(-ESTALE, "'%s' has become shorter", r->inode->path);
}

static void
run_read(struct request *r)
{
	struct open_file *f = open_file_of(r->handle);
	open_file_heard(f);
	struct array_want want = {
		.off = r->off,
		.len = r->size,
		.deadline = r->deadline,
		.cancel = &r->cancel,
		.since = page_coherence_since(r->inode, r->paged ? 0 : f->since),
		.dropped = page_coherence_dropped_at(r->inode),
		.looked = f->direct ? clock_now() : atomic_load(&f->looked),
	};
	struct reply reply = {0};
	int result = r->paged ? fill_pages(r, &want, &reply) : read_file(r, &want, &reply);
	const bool early = result == 0 && ends_early(r, reply.len);
	if (early)
		result = check_end(r, &reply);
	if (f->guarded && file_islands(f->file))
		atomic_store(&r->inode->islands, true);
	if (result < 0) {
		if (f->guarded && !cancelled(&r->cancel))
			atomic_store(
				&r->inode->owed, true); /* other pages of what cannot be read */
		request_fail(r, result);
	} else if (request_claim(r)) {
		/* Counted first: a program that has read a file and then looks at the counters must
		 * find it there. */
		atomic_fetch_add_explicit(&r->server->bytes_read, reply.len, memory_order_relaxed);
		failures_mend(r->inode->path, r->off, r->off + r->size);
		fuse_reply_iov(r->req, reply.part, (int)reply.parts);
	}
	if (early && result == 0)
		atomic_fetch_sub(&r->inode->answering, 1);
	reply_done(&reply);
}

/* Past the pages a program has asked for just these bytes, and the kernel says which: what fills
 * pages, also those of a mapping, is for no owner of locks. */
static bool
by_pages(const struct fuse_file_info *fi)
{
	return !fi->lock_owner;
}

void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_READ,
				   .run = run_read,
				   .late = late_read,
				   .ending = end_read,
				   .ended = pay_for_read,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .size = size,
				   .paged = by_pages(fi),
			   });
}
