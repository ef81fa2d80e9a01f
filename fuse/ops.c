#include "fuse/open_file.h"
#include "fuse/page_coherence.h"
#include "fuse/server.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* More requests under way than this wait in the kernel; so many readers may be stuck on a dead
 * server before that is felt by others. From the second number on the kernel reads ahead only what
 * is asked for at once. */
enum { BACKGROUND_MAX = 256, CONGESTED = 192 };
/* Bytes that the kernel gives at once. */
enum { WRITE_MAX = 1 << 20 };
/* From this minor version of the protocol on (Linux 6.18) the kernel drops its pages of what a
 * write() past them has changed also after it: a page may have been filled meanwhile. */
enum { DROPS_AFTER_WRITES = 45 };

static void
op_init(void *arg, struct fuse_conn_info *conn)
{
	struct server *s = arg;
	conn->max_background = BACKGROUND_MAX;
	conn->max_write = WRITE_MAX;
	conn->congestion_threshold = CONGESTED;
	conn->want &= ~(unsigned)FUSE_CAP_ASYNC_DIO; /* a program that reads past the page cache
							could not be killed */
	s->init_answer_next = true;
	s->parallel_lookups = conn->capable & FUSE_CAP_PARALLEL_DIROPS;
	s->direct_writes = s->direct_mappings && conn->proto_minor >= DROPS_AFTER_WRITES;
}

static void
answer_absent(struct request *r)
{
	struct fuse_entry_param none = {.entry_timeout = r->server->absent_for};
	if (request_claim(r))
		fuse_reply_entry(r->req, &none);
}

static void
run_lookup(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(clean_free) char *path = server_child(r->inode, r->name);
	int result = path ? mount_lookup(r->server->mount, path, &e)
			  : err_set(-ENOMEM, "no memory for a path");
	if (result == ZMAP_ABSENT) {
		answer_absent(r);
		return;
	}
	server_answer_entry(r, result, &e);
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (strlen(name) > NAME_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	request_start(req, &(struct asked){
				   .op = OP_LOOKUP,
				   .run = run_lookup,
				   .ino = parent,
				   .name = name,
				   .aside = parent == INODE_ROOT && !strcmp(name, ".zarrfs"),
			   });
}

/* Caps the size at what the kernel has, if it was told meanwhile to ask again: then it takes no
 * attributes from this answer, and a program that believed in a larger size would lose what it
 * writes behind the kernel's through a mapping. */
static bool
keeps_size(struct request *r, struct entry *e)
{
	if (atomic_load(&r->inode->told) == r->heard ||
		!page_coherence_are_written(r->server, r->inode))
		return false;
	uint64_t known = inodes_seen(r->server->inodes, r->inode).size;
	e->size = min_u64(e->size, max_u64(known, atomic_load(&r->inode->reached)));
	return true;
}

static void
run_getattr(struct request *r)
{
	struct server *s = r->server;
	CLEAN(entry_free) struct entry e = {0};
	struct stat st;
	int result = 0;
	if (r->handle) {
		open_file_look(r->handle);
		page_coherence_wait(r);
		result = open_file_resume(r);
	}
	if (result == 0)
		result = mount_lookup(s->mount, r->inode->path, &e);
	if (r->handle)
		open_file_looked(r->handle);
	bool gone = result == ZMAP_ABSENT; /* the read of an open file says itself why it fails */
	if ((gone || inodes_ended(s->inodes, r->inode)) && !server_is_open(r))
		result = err_set(-ESTALE, "'%s' is gone", r->inode->path);
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	double known_for = server_known_for(s, r->inode);
	atomic_fetch_add(
		&r->inode->answering, 1); /* before it is seen whether the kernel is told */
	if (!gone && keeps_size(r, &e))
		known_for = 0;
	if (!gone && inodes_see(s->inodes, r->inode, &e))
		server_stat(s, &e, &st);
	else
		st = server_remembered(s, r->inode);
	if (request_claim(r))
		fuse_reply_attr(r->req, &st, known_for);
	atomic_fetch_sub(&r->inode->answering, 1);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	struct handle *h = fi ? handle_of(fi->fh) : NULL;
	if (!queue_full(s->queue) || open_file_paused(h)) {
		request_start(req, &(struct asked){
					   .op = OP_GETATTR,
					   .run = run_getattr,
					   .ino = ino,
					   .handle = h,
				   });
		return;
	}
	struct inode *i = inodes_get(s->inodes, ino);
	struct stat st = server_remembered(s, i);
	inodes_put(s->inodes, i);
	fuse_reply_attr(req, &st, 0);
}

static void
op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	struct server *s = fuse_req_userdata(req);
	atomic_fetch_add_explicit(&s->asked[OP_FORGET], 1, memory_order_relaxed);
	inodes_forget(s->inodes, ino, lookups);
	fuse_reply_none(req);
}

static void
op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *what)
{
	struct server *s = fuse_req_userdata(req);
	atomic_fetch_add_explicit(&s->asked[OP_FORGET], n, memory_order_relaxed);
	for (size_t i = 0; i < n; i++)
		inodes_forget(s->inodes, what[i].ino, what[i].nlookup);
	fuse_reply_none(req);
}

/* Of a file or a directory. */
static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_RELEASE], 1, memory_order_relaxed);
	handle_unref(handle_of(fi->fh));
	fuse_reply_err(req, 0);
}

/* A large size and all of it free, so that no tool hesitates and no monitor warns. The store is not
 * asked. */
static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	static const struct statvfs st = {
		.f_bsize = 65536,
		.f_frsize = 65536,
		.f_blocks = UINT64_C(1) << 34,
		.f_bfree = UINT64_C(1) << 34,
		.f_bavail = UINT64_C(1) << 34,
		.f_files = 1 << 30,
		.f_ffree = 1 << 30,
		.f_favail = 1 << 30,
		.f_namemax = NAME_MAX,
	};
	struct server *s = fuse_req_userdata(req);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_STATFS], 1, memory_order_relaxed);
	fuse_reply_statfs(req, &st);
}

/* The kernel keeps these away from a mount that is `ro`, but root can take that off with
 * remount. */
static void
refuse_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *fi)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new,
	unsigned flags)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	fuse_reply_err(req, EROFS);
}

static void
refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	fuse_reply_err(req, EROFS);
}

/* No lock, flock and lseek: the kernel does them better, or tools do without. */
const struct fuse_lowlevel_ops server_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.statfs = op_statfs,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_release,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.setattr = refuse_setattr,
	.mknod = refuse_mknod,
	.mkdir = refuse_mkdir,
	.unlink = refuse_unlink,
	.rmdir = refuse_unlink,
	.symlink = refuse_symlink,
	.rename = refuse_rename,
	.link = refuse_link,
	.create = refuse_create,
	.setxattr = refuse_setxattr,
	.removexattr = refuse_removexattr,
};
