/* What changes open files of a writable mount, and stores it. */
#include "fuse/notify.h"
#include "fuse/open_file.h"
#include "fuse/server.h"
#include "fuse/shown.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What is not known of them: but for bytes that may be from before a write() past them. */
static int
write_unknown(struct request *r, uint64_t off, struct span b, const struct array_want *how)
{
	int result = 0;
	for (size_t at = 0; at < b.len && result == 0;) {
		uint64_t from, to;
		shown_is_past(r->inode, off + at, b.len - at, &from, &to);
		const struct span some = {b.data + at, (size_t)(from - off - at)};
		result = some.len ? file_write(open_file_of(r->handle)->file, off + at, some, how,
					    r->flags)
				  : 0;
		at = (size_t)(to - off);
	}
	return result;
}

/* Pages of a mapping: what is known of them, and what is not, each by itself. */
static int
write_mapped(struct request *r, const struct array_want *how)
{
	struct array_want w = *how;
	const struct span b = r->data;
	CLEAN(clean_free) uint8_t *was = malloc(b.len);
	int result = was ? 0 : err_set(-ENOMEM, "no memory for %zu bytes", b.len);
	for (size_t at = 0, n; at < b.len && result == 0; at += n) {
		bool known = false, next;
		for (n = 0; at + n < b.len; n += min_u64(SHOWN_PAGE, b.len - at - n)) {
			const struct span now = {
				b.data + at + n, min_u64(SHOWN_PAGE, b.len - at - n)};
			next = shown_find(r->inode, r->off + at + n, now, was + at + n);
			if (n && next != known)
				break;
			known = next;
		}
		w.shown = known ? was + at : NULL;
		const struct span some = {b.data + at, n};
		result = known ? file_write(open_file_of(r->handle)->file, r->off + at, some, &w,
					 r->flags)
			       : write_unknown(r, r->off + at, some, &w);
	}
	if (result == 0)
		shown_note(r->inode, r->off, b);
	return result;
}

static void
run_write(struct request *r)
{
	struct open_file *f = open_file_of(r->handle);
	const bool mapped = r->flags & FILE_MAPPED;
	const struct array_want how = {.cancel = &r->cancel,
		.since = page_coherence_since(r->inode, mapped ? 0 : f->since)};
	bool past = !mapped && (f->direct || r->fi.flags & O_DIRECT);
	const uint64_t pass = past ? shown_pass(r->inode, r->off, r->data.len) : 0;
	struct shown_write laid;
	if (!mapped && !past)
		shown_write_came(r->inode, &laid);
	open_file_heard(f);
	int result = mapped ? write_mapped(r, &how)
			    : file_write(f->file, r->off, r->data, &how, r->flags);
	/* Past the pages: one that was filled meanwhile still shows what was noted of it. */
	if (past)
		shown_passed(r->inode, pass, result == 0);
	else if (result < 0)
		shown_forget(r->inode, r->off, r->data.len);
	else if (!mapped && shown_lay(r->inode, r->off, r->data, &laid))
		shown_settle(r->inode, r->off, r->data.len);
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	atomic_fetch_add_explicit(&r->server->bytes_written, r->data.len, memory_order_relaxed);
	if (!request_claim(r))
		return;
	if (!mapped)
		inode_reach(r->inode, r->off + r->data.len);
	fuse_reply_write(r->req, r->data.len);
}

static void
op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	unsigned flags = (fi->writepage ? FILE_MAPPED : 0) |
			 (fi->flags & O_APPEND && !fi->writepage ? FILE_APPEND : 0);
	request_start(req, &(struct asked){
				   .op = OP_WRITE,
				   .run = run_write,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .data = {(const uint8_t *)data, size},
				   .flags = flags,
				   .fi = fi,
			   });
}

/* The process may be ending, and what it wrote is stored all the same. */
static void
run_flush(struct request *r)
{
	request_done(r, file_settle(open_file_of(r->handle)->file, SETTLE_FLUSH, 0, NULL));
}

static void
op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_FLUSH,
				   .run = run_flush,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
			   });
}

static void
run_fsync(struct request *r)
{
	request_done(r, file_settle(open_file_of(r->handle)->file, SETTLE_FSYNC, 0, &r->cancel));
}

static void
op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
	(void)data_only;
	request_start(req, &(struct asked){
				   .op = OP_FSYNC,
				   .run = run_fsync,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
			   });
}

static void
run_fsyncdir(struct request *r)
{
	request_done(r, mount_settle(r->server->mount, r->inode->path, SETTLE_FSYNC, &r->cancel));
}

static void
op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
	(void)data_only;
	(void)fi;
	request_start(req, &(struct asked){.op = OP_FSYNCDIR, .run = run_fsyncdir, .ino = ino});
}

/* No program hears of it: they have ended, mappings are gone. */
static void
run_release(struct request *r)
{
	int result = file_settle(open_file_of(r->handle)->file, SETTLE_RELEASE, 0, NULL);
	if (result < 0)
		request_log(r, result);
	handle_unref(r->handle); /* the kernel's; the request has one, too */
	if (request_claim(r))
		fuse_reply_err(r->req, 0);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	struct handle *h = handle_of(fi->fh);
	if (file_is_writable(open_file_of(h)->file)) {
		request_start(req, &(struct asked){
					   .op = OP_RELEASE,
					   .run = run_release,
					   .ino = ino,
					   .handle = h,
				   });
		return;
	}
	atomic_fetch_add_explicit(&s->asked[OP_RELEASE], 1, memory_order_relaxed);
	handle_unref(h);
	fuse_reply_err(req, 0);
}

/* By the file's name. */
static int
truncate_entry(struct request *r, const struct entry *e)
{
	struct file *f = NULL;
	int result = file_open_for(r->server->mount, e, O_WRONLY, &f);
	if (result == 0)
		result = file_truncate(f, r->off, RESIZE_NAMED, &r->cancel);
	if (result == 0)
		result = file_settle(f, SETTLE_FLUSH, 0, &r->cancel);
	if (f) {
		int last = file_settle(f, SETTLE_RELEASE, 0, &r->cancel);
		result = result < 0 ? result : last;
	}
	file_close(f);
	return result;
}

static int
resize(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	if (r->handle)
		return file_truncate(
			open_file_of(r->handle)->file, r->off, RESIZE_HANDLE, &r->cancel);
	int result = server_entry(r->server, r->inode, &e);
	return result < 0 ? result : truncate_entry(r, &e);
}

/* Modes, owners and times are what they are; a program that sets them goes on. */
static void
set_attributes(struct request *r)
{
	struct server *s = r->server;
	CLEAN(entry_free) struct entry e = {0};
	int result = r->flags & FUSE_SET_ATTR_SIZE ? resize(r) : 0;
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	if (r->flags & FUSE_SET_ATTR_SIZE)
		atomic_store(&r->inode->reached, 0);
	result = server_entry(s, r->inode, &e);
	if (result == 0) {
		server_reply_attr(r, &e);
	} else if (result == -ESTALE && server_is_open(r)) {
		const struct stat st = server_remembered(s, r->inode);
		if (request_claim(r))
			fuse_reply_attr(r->req, &st, server_known_for(s, r->inode));
	} else {
		request_fail(r, result);
	}
}

static void
run_setattr(struct request *r)
{
	const bool size = r->flags & FUSE_SET_ATTR_SIZE;
	if (size)
		atomic_fetch_add(&r->inode->resizing, 1);
	set_attributes(r);
	if (size)
		atomic_fetch_sub(&r->inode->resizing, 1);
}

static void
pay_for_size(const struct request *r)
{
	notifier_pay(r->server->notifier, r->inode);
}

static void
op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_SETATTR,
				   .run = run_setattr,
				   .ended = pay_for_size,
				   .ino = ino,
				   .handle = fi ? handle_of(fi->fh) : NULL,
				   .off = (uint64_t)st->st_size,
				   .flags = (unsigned)what,
			   });
}

/* Up to its end the file has room. What makes it longer is fill; without an answer the C library
 * would write a byte of 0 into each block. */
static void
run_fallocate(struct request *r)
{
	int result =
		file_truncate(open_file_of(r->handle)->file, r->off, RESIZE_LONGER, &r->cancel);
	if (result < 0) {
		request_fail(r, result);
	} else if (request_claim(r)) {
		inode_reach(r->inode, r->off);
		fuse_reply_err(r->req, 0);
	}
}

static void
op_fallocate(
	fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
	if (mode) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	request_start(req, &(struct asked){
				   .op = OP_FALLOCATE,
				   .run = run_fallocate,
				   .ino = ino,
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off + (uint64_t)len,
			   });
}

void
server_take_writing(struct fuse_lowlevel_ops *ops)
{
	ops->fallocate = op_fallocate;
	ops->write = op_write;
	ops->flush = op_flush;
	ops->fsync = op_fsync;
	ops->fsyncdir = op_fsyncdir;
	ops->release = op_release;
	ops->setattr = op_setattr;
}
