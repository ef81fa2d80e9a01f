#include "fuse/failures.h"
#include "fuse/missed.h"
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>

struct open_file {
	struct handle handle;
	struct server *server;
	struct inode *inode;
	struct file *file;
	bool paged;  /* the kernel may have pages of it */
	bool direct; /* but read() goes past them */
	bool guarded; /* read() takes from pages what it finds of a file that is to be read whole, or not at all */
	int64_t opened;
	struct missed missed;
};

/* Most who open a file read it once, in order, and perhaps from pages that the kernel has: for so long (ns) nobody knows how far
 * they are. */
static const int64_t YOUNG = 2 * SECOND;

static struct open_file *
file_of(struct handle *h)
{
	return (struct open_file *)(void *)h;
}

static void
free_file(struct handle *h)
{
	struct open_file *f = file_of(h);
	file_close(f->file);
	missed_done(&f->missed);
	if (f->paged)
		pages_close(f->server, f->inode);
	inodes_put(f->server->inodes, f->inode);
	free(f);
}

/* Takes over the file, also when it fails. */
static int
hold_file(struct request *r, struct file *file, struct open_file **ret)
{
	struct server *s = r->server;
	struct open_file *f = calloc(1, sizeof *f);
	if (!f) {
		file_close(file);
		return err_set(-ENOMEM, "no memory for an open file");
	}
	f->file = file;
	f->server = s;
	f->opened = when_now();
	f->inode = inodes_get(s->inodes, inodes_id(s->inodes, r->inode));
	f->handle.inode = f->inode;
	missed_init(&f->missed);
	handle_open(&s->handles, &f->handle, free_file);
	*ret = f;
	return 0;
}

bool
handle_move(struct handle *h, const struct array_move *m)
{
	const struct open_file *f = file_of(h);
	return m->to - f->opened > YOUNG && file_move(f->file, m);
}

static struct missed_what
bytes_of(const struct request *r)
{
	return (struct missed_what){.off = r->off, .end = r->off + r->size};
}

/* libnetcdf takes what a read() lacks for zeros. Past the kernel's pages a read() gives what was asked or an error; from pages it gives
 * those before the first that cannot be read. */
static bool
goes_direct(const struct server *s, const struct entry *e)
{
	return e->unknown_length || (s->direct_io && entry_is_netcdf(e));
}

static void
run_open(struct request *r)
{
	struct server *s = r->server;
	CLEAN(entry_free) struct entry e = {0};
	struct file *file = NULL;
	struct open_file *f = NULL;
	bool keep = false;
	int result = server_entry(s, r->inode, &e);
	if (result == 0)
		result = file_open(s->mount, &e, &file);
	if (result == 0)
		result = hold_file(r, file, &f);
	if (result == 0 && !e.unknown_length)
		result = pages_open(s, r->inode,
			file_keep_cache(file) && !atomic_exchange(&r->inode->islands, false),
			&keep);
	if (result < 0) { /* ESTALE: the kernel looks the name up again and opens what it finds */
		if (f)
			handle_unref(&f->handle);
		request_fail(r, result);
		return;
	}
	f->paged = !e.unknown_length;
	f->direct = goes_direct(s, &e);
	f->guarded = entry_is_netcdf(&e) && !f->direct;
	if (f->guarded)
		file_guard(file);
	r->fi.fh = handle_number(&f->handle);
	r->fi.direct_io = f->direct;
	r->fi.keep_cache = !e.unknown_length && keep;
	r->fi.noflush = 1;
	if (!request_answer(r, fuse_reply_open(r->req, &r->fi)))
		handle_unref(&f->handle);
}

void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if ((fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC) {
		fuse_reply_err(req, EROFS);
		return;
	}
	request_start(req, &(struct asked){.op = OP_OPEN, .run = run_open, .ino = ino, .fi = fi});
}

static void
late_read(struct request *r)
{
	struct open_file *f = file_of(r->handle);
	struct missed_what bytes = bytes_of(r);
	missed_add(&f->missed, &bytes, err_set(-EIO, "no answer in time"));
}

/* A load ends a little before those who wait for it, so that they hear why: that, too, has run out of time. */
static bool
took_long(const struct request *r)
{
	return when_over(r->started + (r->deadline - r->started) / 2);
}

static void
run_read(struct request *r)
{
	struct open_file *f = file_of(r->handle);
	struct array_want want = {
		.off = r->off,
		.len = r->size,
		.deadline = r->deadline,
		.cancel = &r->cancel,
		.since = pages_since(r->inode),
	};
	struct reply reply = {0};
	struct missed_what bytes = bytes_of(r);
	int result = missed_lately(&f->missed, &bytes);
	if (result == 0) {
		result = file_read(f->file, &want, &reply);
		if (result < 0 && took_long(r) && !cancelled(&r->cancel))
			missed_add(&f->missed, &bytes, result);
	}
	if (f->guarded && file_islands(f->file))
		atomic_store(&r->inode->islands, true);
	if (result < 0) {
		if (f->guarded && !cancelled(&r->cancel))
			atomic_store(
				&r->inode->owed, true); /* other pages of what cannot be read */
		request_fail(r, result);
	} else if (request_claim(r)) {
		/* Counted first: who has read a file and then looks at the counters must find it there. */
		atomic_fetch_add_explicit(&r->server->bytes_read, reply.len, memory_order_relaxed);
		failures_mend(r->inode->path, r->off, r->off + r->size);
		fuse_reply_iov(r->req, reply.part, (int)reply.parts);
	}
	reply_done(&reply);
}

/* Past the pages a program has asked for just these bytes. */
static bool
by_pages(const struct fuse_file_info *fi)
{
	return !file_of(handle_of(fi->fh))->direct && !(fi->flags & O_DIRECT);
}

void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_READ,
				   .run = run_read,
				   .late = late_read,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .size = size,
				   .paged = by_pages(fi),
			   });
}
