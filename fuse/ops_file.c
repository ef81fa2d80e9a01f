#include "fuse/missed.h"
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>

struct open_file {
	struct handle handle;
	struct file *file;
	struct missed missed;
};

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
	free(f);
}

/* Takes over the file. NULL: no memory, and the file is closed. */
static struct open_file *
hold_file(struct handles *t, struct file *file)
{
	struct open_file *f = calloc(1, sizeof *f);
	if (!f) {
		file_close(file);
		return NULL;
	}
	f->file = file;
	missed_init(&f->missed);
	handle_open(t, &f->handle, free_file);
	return f;
}

static struct missed_what
bytes_of(const struct request *r)
{
	return (struct missed_what){.off = r->off, .end = r->off + r->size};
}

/* May the kernel keep the pages it has? If not, it drops them now, and whoever opens the file would wait for reads of
 * others that are under way, unkillable. Then the path gets an inode without pages instead: -ESTALE has the kernel look
 * it up again. */
static int
decide_pages(struct request *r, struct file *file, bool *ret_keep)
{
	struct server *s = r->server;
	*ret_keep = !inodes_opened(s->inodes, r->inode) || file_keep_cache(file);
	if (!*ret_keep && queue_reads(s->queue, r->inode, 0) && inodes_retire(s->inodes, r->inode))
		return err_set(-ESTALE, "others are reading old pages");
	return 0;
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
	if (result == 0) {
		f = hold_file(&s->handles, file);
		result =
			f ? decide_pages(r, file, &keep) : err_set(-ENOMEM, "no memory for a file");
	}
	if (result < 0) {
		if (f)
			handle_unref(&f->handle);
		request_fail(r,
			result); /* ESTALE: the kernel looks the name up again and opens what it finds */
		return;
	}
	r->fi.fh = handle_number(&f->handle);
	r->fi.direct_io = e.unknown_length; /* elsewhere it would forbid shared mappings */
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

static void
run_read(struct request *r)
{
	struct open_file *f = file_of(r->handle);
	struct array_want want = {
		.off = r->off,
		.len = r->size,
		.deadline = r->deadline,
		.cancel = &r->cancel,
	};
	struct reply reply = {0};
	struct missed_what bytes = bytes_of(r);
	int result = missed_lately(&f->missed, &bytes);
	if (result == 0) {
		result = file_read(f->file, &want, &reply);
		if (result < 0 && when_over(r->deadline))
			missed_add(&f->missed, &bytes, result);
	}
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
				   .late = late_read,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .size = size,
			   });
}

void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_RELEASE], 1, memory_order_relaxed);
	handle_unref(handle_of(fi->fh));
	fuse_reply_err(req, 0);
}
