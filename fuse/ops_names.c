/* What changes names and attributes in a writable mount. */
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static bool
too_long(fuse_req_t req, const char *name)
{
	bool is = strlen(name) > NAME_MAX;
	if (is)
		fuse_reply_err(req, ENAMETOOLONG);
	return is;
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a path");
}

/* A name in the directory that the request is about. */
static void
run_by_name(struct request *r, int (*fn)(struct mount *, const char *path))
{
	CLEAN(clean_free) char *path = server_child(r->inode, r->name);
	request_done(r, path ? fn(r->server->mount, path) : no_memory());
}

static void
run_unlink(struct request *r)
{
	run_by_name(r, mount_unlink);
}

static void
run_rmdir(struct request *r)
{
	run_by_name(r, mount_rmdir);
}

static void
run_mkdir(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(clean_free) char *path = server_child(r->inode, r->name);
	int result = path ? mount_mkdir(r->server->mount, path, &e) : no_memory();
	server_answer_entry(r, result, &e);
}

static void
op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	request_start(req,
		&(struct asked){.op = OP_UNLINK, .run = run_unlink, .ino = parent, .name = name});
}

static void
op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	request_start(req,
		&(struct asked){.op = OP_RMDIR, .run = run_rmdir, .ino = parent, .name = name});
}

static void
op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	if (!too_long(req, name))
		request_start(req,
			&(struct asked){
				.op = OP_MKDIR, .run = run_mkdir, .ino = parent, .name = name});
}

static void
op_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)mode;
	if (!too_long(req, name))
		request_start(req, &(struct asked){.op = OP_CREATE,
					   .run = server_run_create,
					   .ino = parent,
					   .name = name,
					   .fi = fi});
}

static void
run_rename(struct request *r)
{
	CLEAN(clean_free) char *from = server_child(r->inode, r->name);
	CLEAN(clean_free) char *to = server_child(r->other, r->new_name);
	request_done(
		r, from && to ? mount_rename(r->server->mount, from, to, r->flags) : no_memory());
}

static void
op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new,
	unsigned flags)
{
	if (!too_long(req, new))
		request_start(req, &(struct asked){
					   .op = OP_RENAME,
					   .run = run_rename,
					   .ino = parent,
					   .name = name,
					   .other = to,
					   .new_name = new,
					   .flags = flags,
				   });
}

/* --- what a store has no place for --- */

static void
refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	fuse_reply_err(req, EPERM);
}

static void
refuse_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void
refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

/* --- attributes --- */

static const char prefix[] = "user.";

static void
run_setxattr(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	int result = server_entry(r->server, r->inode, &e);
	if (result == 0)
		result = mount_setxattr(
			r->server->mount, &e, r->name + sizeof prefix - 1, r->data, (int)r->flags);
	request_done(r, result);
}

static void
run_removexattr(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	int result = server_entry(r->server, r->inode, &e);
	if (result == 0)
		result = mount_removexattr(r->server->mount, &e, r->name + sizeof prefix - 1);
	request_done(r, result);
}

/* Permissions are what they are; programs that copy a file take them along, and go on. */
static bool
is_permission(const char *name)
{
	return !strncmp(name, "system.posix_acl_", strlen("system.posix_acl_"));
}

static bool
is_ours(fuse_req_t req, const char *name)
{
	bool ours = !strncmp(name, prefix, sizeof prefix - 1);
	if (!ours)
		fuse_reply_err(req, is_permission(name) ? 0 : EOPNOTSUPP);
	return ours;
}

static void
op_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	if (is_ours(req, name))
		request_start(req, &(struct asked){
					   .op = OP_SETXATTR,
					   .run = run_setxattr,
					   .ino = ino,
					   .name = name,
					   .data = {(const uint8_t *)value, size},
					   .flags = (unsigned)flags,
				   });
}

static void
op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (is_ours(req, name))
		request_start(req, &(struct asked){
					   .op = OP_REMOVEXATTR,
					   .run = run_removexattr,
					   .ino = ino,
					   .name = name,
				   });
}

void
server_take_names(struct fuse_lowlevel_ops *ops)
{
	ops->unlink = op_unlink;
	ops->rmdir = op_rmdir;
	ops->mkdir = op_mkdir;
	ops->create = op_create;
	ops->rename = op_rename;
	ops->mknod = refuse_mknod;
	ops->symlink = refuse_symlink;
	ops->link = refuse_link;
	ops->setxattr = op_setxattr;
	ops->removexattr = op_removexattr;
}
