#include "fuse/failures.h"
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

static const char prefix[] = "user.", error[] = "user.zarrfs.error";

/* size 0 asks for the length only. */
static void
answer_value(struct request *r, const struct buf *value)
{
	if (r->size && value->len > r->size) {
		request_fail(
			r, err_set(-ERANGE, "%zu bytes do not fit in %zu", value->len, r->size));
	} else if (request_claim(r)) {
		if (r->size)
			fuse_reply_buf(r->req, (const char *)value->data, value->len);
		else
			fuse_reply_xattr(r->req, value->len);
	}
}

static void
run_getxattr(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(buf_free) struct buf value = {0};
	int result = server_entry(r->server, r->inode, &e);
	if (result == 0 && strcmp(r->name, error) == 0)
		result = failures_find(r->inode->path, &value);
	if (result == 0 && !value.len)
		result = mount_getxattr(r->server->mount, &e, r->name + strlen(prefix), &value);
	if (result == ZMAP_ABSENT)
		result = err_set(-ENODATA, "no such attribute");
	if (result < 0)
		request_fail(r, result);
	else
		answer_value(r, &value);
}

void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	if (strncmp(name, prefix, strlen(prefix)) != 0) {
		/* security.* and system.*: ls -l asks every file for both, but not again where a
		 * device has none */
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	request_start(req, &(struct asked){.op = OP_GETXATTR,
				   .run = run_getxattr,
				   .ino = ino,
				   .name = name,
				   .size = size});
}

/* The name of what says why a read failed, if one did and the name is not there already. */
static int
add_error(const struct inode *i, struct buf *names)
{
	CLEAN(buf_free) struct buf value = {0};
	int r = failures_find(i->path, &value);
	if (r < 0 || !value.len ||
		(names->len && memmem(names->data, names->len, error, sizeof error)))
		return r;
	return buf_add(names, error, sizeof error);
}

static void
run_listxattr(struct request *r)
{
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(buf_free) struct buf names = {0};
	int result = server_entry(r->server, r->inode, &e);
	if (result == 0)
		result = mount_listxattr(r->server->mount, &e, &names);
	if (result == 0)
		result = add_error(r->inode, &names);
	if (result < 0)
		request_fail(r, result);
	else
		answer_value(r, &names);
}

void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	request_start(
		req, &(struct asked){
			     .op = OP_LISTXATTR, .run = run_listxattr, .ino = ino, .size = size});
}
