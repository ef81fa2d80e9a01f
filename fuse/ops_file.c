#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A read that ran out of time. */
struct missed {
	uint64_t off, end;
	int64_t until; /* how long the same bytes are refused at once; 0: not */
	struct err err;
};

/* When a read ahead fails, the kernel asks once more for the very page that somebody waits for, and that would take
 * all the time again. So what has just run out of time is refused for a moment. */
enum { REFUSED = 1 /* s */, MISSED = 4 };

struct open_file {
	struct handle handle;
	struct file *file;
	pthread_mutex_t lock;  /* guards the rest */
	struct missed *missed; /* MISSED of them, or NULL as long as there was none */
	unsigned next;
};

static struct open_file *
file_of(const struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

static void
free_file(struct handle *h)
{
	struct open_file *f = (struct open_file *)(void *)h;
	file_close(f->file);
	pthread_mutex_destroy(&f->lock);
	free(f->missed);
	free(f);
}

/* Takes over the file. NULL: no memory, and the file is closed. */
static struct open_file *
hold_file(struct file *file)
{
	struct open_file *f = calloc(1, sizeof *f);
	if (!f) {
		file_close(file);
		return NULL;
	}
	f->handle = (struct handle){.refs = 1, .free = free_file};
	f->file = file;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

static void
remember_missed(struct open_file *f, const struct request *r, int code)
{
	struct missed m = {
		.off = r->off, .end = r->off + r->size, .until = when_now() + REFUSED * SECOND};
	err_save(code, &m.err);
	LOCKED(&f->lock) {
		if (!f->missed)
			f->missed = calloc(MISSED, sizeof *f->missed);
		if (f->missed)
			f->missed[f->next++ % MISSED] = m;
	}
}

/* 0, or the failure of a read that just missed these bytes. */
static int
just_missed(struct open_file *f, const struct request *r)
{
	int64_t now = when_now();
	int code = 0;
	LOCKED(&f->lock) {
		for (unsigned i = 0; f->missed && i < MISSED && !code; i++) {
			const struct missed *m = &f->missed[i];
			if (now < m->until && r->off < m->end && m->off < r->off + r->size)
				code = err_restore(&m->err);
		}
	}
	return code;
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
		f = hold_file(file);
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
	r->fi.fh = (uintptr_t)f;
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
run_read(struct request *r)
{
	struct open_file *f = (struct open_file *)(void *)r->handle;
	struct array_want want = {
		.off = r->off,
		.len = r->size,
		.deadline = r->deadline,
		.cancel = &r->cancel,
	};
	struct reply reply = {0};
	int result = just_missed(f, r);
	if (result == 0) {
		result = file_read(f->file, &want, &reply);
		if (result < 0 && when_over(r->deadline))
			remember_missed(f, r, result);
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
				   .ino = ino,
				   .handle = &file_of(fi)->handle,
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
	handle_unref(&file_of(fi)->handle);
	fuse_reply_err(req, 0);
}
