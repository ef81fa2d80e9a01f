#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>

static struct file *
file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static void
run_open(struct request *r)
{
	struct server *s = r->server;
	CLEAN(entry_free) struct entry e = {0};
	struct file *f = NULL;
	int result = server_entry(s, r->inode, &e);
	if (result == 0)
		result = file_open(s->mount, &e, &f);
	if (result < 0) {
		request_fail(r,
			result); /* ESTALE: the kernel looks the name up again and opens what it finds */
		return;
	}
	r->fi.fh = (uintptr_t)f;
	r->fi.direct_io = e.unknown_length; /* elsewhere it would forbid shared mappings */
	r->fi.keep_cache = !e.unknown_length && file_keep_cache(f);
	r->fi.noflush = 1;
	if (!request_answer(r, fuse_reply_open(r->req, &r->fi)))
		file_close(f);
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
run_read(struct request *r)
{
	struct array_want want = {
		.off = r->off,
		.len = r->size,
		.deadline = r->deadline,
		.cancel = &r->cancel,
	};
	struct reply reply = {0};
	int result = file_read(file_of(&r->fi), &want, &reply);
	if (result < 0) {
		request_fail(r, result);
	} else if (request_claim(r)) {
		/* Counted first: who has read a file and then looks at the counters must find it there. */
		atomic_fetch_add_explicit(&r->server->bytes_read, reply.len, memory_order_relaxed);
		fuse_reply_iov(r->req, reply.part, (int)reply.parts);
	}
	reply_done(&reply);
}

void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_READ,
				   .run = run_read,
				   .ino = ino,
				   .fi = fi,
				   .off = (uint64_t)off,
				   .size = size,
			   });
}

static void
close_file(uint64_t fh)
{
	file_close((struct file *)(uintptr_t)fh);
}

void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_RELEASE], 1, memory_order_relaxed);
	queue_close(s->queue, fi->fh, close_file);
	fuse_reply_err(req, 0);
}
