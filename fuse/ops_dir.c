#include "fuse/server.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One name of a directory. */
struct item {
	uint64_t ino;
	size_t name; /* where in names */
	unsigned char type;
};

/* An open directory: its names at the time of opening or rewinding, so that a position means the same name for as
 * long as somebody may come back to it. The kernel lets one thread at a time read an open directory. */
struct dir {
	struct buf names, items;
	size_t count;
	bool used;  /* was read from: a return to the start looks again */
	bool typed; /* the kinds of entries are known without asking for each */
};

static struct dir *
dir_of(const struct fuse_file_info *fi)
{
	return (struct dir *)(uintptr_t)fi->fh;
}

static struct dir *
dir_free(struct dir *d)
{
	if (d) {
		buf_free(&d->names);
		buf_free(&d->items);
	}
	free(d);
	return NULL;
}

CLEAN_DEFINE(struct dir, dir_free)

static const struct item *
item_at(const struct dir *d, size_t n)
{
	return (const struct item *)(const void *)d->items.data + n;
}

static const char *
name_of(const struct dir *d, const struct item *i)
{
	return (const char *)d->names.data + i->name;
}

static int
add(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	struct dir *d = arg;
	struct item i = {ino, d->names.len, type};
	int r = buf_add(&d->names, name, strlen(name) + 1);
	if (r == 0)
		r = buf_add(&d->items, &i, sizeof i);
	if (r < 0)
		return r;
	d->count++;
	d->typed |= type != DT_UNKNOWN && *name != '.';
	return 0;
}

static uint64_t
parent_ino(struct server *s, const struct inode *i)
{
	const char *slash = strrchr(i->path, '/');
	CLEAN(clean_free) char *parent = strndup(i->path, slash ? (size_t)(slash - i->path) : 0);
	uint64_t ino = parent ? inodes_ino(s->inodes, parent) : 0;
	return ino ? ino : i->ino;
}

static int
snapshot(struct server *s, struct inode *i, struct dir *ret)
{
	struct dir d = {.used = ret->used};
	int r = add(&d, ".", i->ino, DT_DIR);
	if (r == 0)
		r = add(&d, "..", parent_ino(s, i), DT_DIR);
	if (r == 0)
		r = mount_list(s->mount, i->path, add, &d);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "'%s' is gone", i->path);
	if (r < 0) {
		buf_free(&d.names);
		buf_free(&d.items);
		return r;
	}
	buf_free(&ret->names);
	buf_free(&ret->items);
	*ret = d;
	return 0;
}

static void
run_opendir(struct request *r)
{
	CLEAN(dir_freep) struct dir *d = calloc(1, sizeof *d);
	int result = d ? snapshot(r->server, r->inode, d)
		       : err_set(-ENOMEM, "no memory for a directory");
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	r->fi.fh = (uintptr_t)d;
	struct dir *given = MOVE(d);
	if (!request_answer(r, fuse_reply_open(r->req, &r->fi)))
		dir_free(given);
}

void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	request_start(
		req, &(struct asked){.op = OP_OPENDIR, .run = run_opendir, .ino = ino, .fi = fi});
}

/* The positions that names are given are those of the name after them: 0 is the start. */
static int
rewound(struct request *r, struct dir *d)
{
	bool again = r->off == 0 && d->used;
	d->used = true;
	return again ? snapshot(r->server, r->inode, d) : 0;
}

static void
answer_names(struct request *r, const char *names, size_t len)
{
	if (request_claim(r))
		fuse_reply_buf(r->req, names, len);
}

static void
run_readdir(struct request *r)
{
	struct dir *d = dir_of(&r->fi);
	CLEAN(clean_free) char *names = malloc(r->size);
	size_t used = 0;
	int result = names ? rewound(r, d) : err_set(-ENOMEM, "no memory for names");
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	for (uint64_t n = r->off; n < d->count; n++) {
		const struct item *i = item_at(d, n);
		struct stat st = {.st_ino = i->ino, .st_mode = DTTOIF(i->type)};
		size_t room = r->size - used;
		size_t need = fuse_add_direntry(
			r->req, names + used, room, name_of(d, i), &st, (off_t)n + 1);
		if (need > room)
			break;
		used += need;
	}
	answer_names(r, names, used);
}

void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_READDIR,
				   .run = run_readdir,
				   .ino = ino,
				   .fi = fi,
				   .off = (uint64_t)off,
				   .size = size,
			   });
}

/* With the attributes if they cost no question to the store: where kinds are not known, only lookups may ask. */
static void
describe(struct request *r, const struct dir *d, const struct item *i, struct fuse_entry_param *ret)
{
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(clean_free) char *path = NULL;
	const char *name = name_of(d, i);
	*ret = (struct fuse_entry_param){.attr = {.st_ino = i->ino, .st_mode = DTTOIF(i->type)}};
	if (i->type == DT_UNKNOWN || !strcmp(name, ".") || !strcmp(name, ".."))
		return;
	if (asprintf(&path, "%s%s%s", r->inode->path, *r->inode->path ? "/" : "", name) < 0) {
		path = NULL;
		return;
	}
	if (mount_lookup(r->server->mount, path, &e) == 0)
		server_param(r->server, &e, ret);
}

/* Adds entries from r->off on; their node ids go to `given`, one for each that counts as looked up. */
static int
fill_plus(struct request *r, const struct dir *d, struct buf *names, struct buf *given)
{
	for (uint64_t n = r->off; n < d->count && !cancelled(&r->cancel); n++) {
		const struct item *i = item_at(d, n);
		struct fuse_entry_param p;
		size_t room = r->size - names->len;
		if (fuse_add_direntry_plus(r->req, NULL, 0, name_of(d, i), NULL, 0) > room)
			break;
		describe(r, d, i, &p);
		int result = p.ino ? buf_add(given, &p.ino, sizeof p.ino) : 0;
		if (result < 0) {
			inodes_forget(r->server->inodes, p.ino, 1);
			return result;
		}
		names->len += fuse_add_direntry_plus(r->req, (char *)names->data + names->len, room,
			name_of(d, i), &p, (off_t)n + 1);
	}
	return 0;
}

static void
forget_all(struct request *r, const struct buf *given)
{
	const uint64_t *id = (const void *)given->data;
	for (size_t i = 0; i < given->len / sizeof *id; i++)
		inodes_forget(r->server->inodes, id[i], 1);
}

static void
run_readdirplus(struct request *r)
{
	struct dir *d = dir_of(&r->fi);
	CLEAN(buf_free) struct buf names = {0}, given = {0};
	int result = rewound(r, d);
	if (result == 0)
		result = buf_reserve(&names, r->size);
	if (result == 0 && r->off == 0 && d->typed)
		mount_preload(r->server->mount,
			r->inode->path); /* what fails is met again, entry by entry */
	if (result == 0)
		result = fill_plus(r, d, &names, &given);
	if (result < 0) {
		forget_all(r, &given);
		request_fail(r, result);
	} else if (!request_answer(r, fuse_reply_buf(r->req, (char *)names.data, names.len))) {
		forget_all(r, &given);
	}
}

void
op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	request_start(req, &(struct asked){
				   .op = OP_READDIRPLUS,
				   .run = run_readdirplus,
				   .ino = ino,
				   .fi = fi,
				   .off = (uint64_t)off,
				   .size = size,
			   });
}

static void
close_dir(uint64_t fh)
{
	dir_free((struct dir *)(uintptr_t)fh);
}

void
op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_RELEASE], 1, memory_order_relaxed);
	queue_close(s->queue, fi->fh, close_dir);
	fuse_reply_err(req, 0);
}
