#include "fuse/server.h"

#include "base/err.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

/* One name of a directory. */
struct dir_item {
	uint64_t ino;
	uint32_t name; /* where in names */
	unsigned char type;
	bool asks;    /* a lookup would ask the store */
	bool lacking; /* no node of the store has the name */
};

/* The names of a directory at one moment. Constant once it is made. */
struct dir_listing {
	atomic_uint refs;
	struct buf names, items;
	size_t count;
	int64_t begun; /* clock_now() */
	bool typed;    /* the attributes of entries are known without asking for each */
};

/* An open directory: its names at the time of the first reading, or of the last return to the
 * start, so that a position means the same name for as long as a program may come back to it.
 * Opening alone does not ask the store. */
struct open_dir {
	struct handle handle;
	pthread_mutex_t lock;    /* guards the rest */
	struct dir_listing *now; /* NULL: not read yet */
};

static struct open_dir *
dir_of(struct handle *h)
{
	return (struct open_dir *)(void *)h;
}

static struct dir_listing *
listing_unref(struct dir_listing *l)
{
	if (l && atomic_fetch_sub(&l->refs, 1) == 1) {
		buf_free(&l->names);
		buf_free(&l->items);
		free(l);
	}
	return NULL;
}

CLEAN_DEFINE(struct dir_listing, listing_unref)

static void
free_dir(struct handle *h)
{
	struct open_dir *d = dir_of(h);
	listing_unref(d->now);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static const struct dir_item *
item_at(const struct dir_listing *l, size_t n)
{
	return (const struct dir_item *)(const void *)l->items.data + n;
}

static const char *
name_of(const struct dir_listing *l, const struct dir_item *i)
{
	return (const char *)l->names.data + i->name;
}

static int
add(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	struct dir_listing *l = arg;
	bool asks = type == DT_UNKNOWN || type & MOUNT_ASK_TO_SEE;
	bool lacking = type & MOUNT_NO_NODE;
	type &= (unsigned char)~(MOUNT_ASK_TO_SEE | MOUNT_NO_NODE);
	if (l->names.len > UINT32_MAX)
		return err_set(-EFBIG, "a directory with more than 4 GiB of names");
	struct dir_item i = {ino, (uint32_t)l->names.len, type, asks, lacking};
	int r = buf_add(&l->names, name, strlen(name) + 1);
	if (r == 0)
		r = buf_add(&l->items, &i, sizeof i);
	if (r < 0)
		return r;
	l->count++;
	l->typed |= !asks && *name != '.';
	return 0;
}

static uint64_t
parent_ino(struct server *s, const struct inode *i)
{
	CLEAN(clean_free) char *parent = path_above(i->path);
	uint64_t ino = parent ? inodes_ino(s->inodes, parent) : 0;
	return ino ? ino : i->ino;
}

static int
list(struct server *s, struct inode *i, struct dir_listing **ret)
{
	CLEAN(listing_unrefp) struct dir_listing *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(-ENOMEM, "no memory for a directory");
	l->refs = 1;
	l->begun = clock_now();
	int r = add(l, ".", i->ino, DT_DIR);
	if (r == 0)
		r = add(l, "..", parent_ino(s, i), DT_DIR);
	if (r == 0)
		r = mount_list(s->mount, i->path, add, l);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "'%s' is gone", i->path);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *s = fuse_req_userdata(req);
	struct open_dir *d = calloc(1, sizeof *d);
	(void)ino;
	atomic_fetch_add_explicit(&s->asked[OP_OPENDIR], 1, memory_order_relaxed);
	if (!d) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&d->lock, NULL);
	handle_open(&s->handles, &d->handle, free_dir);
	fi->fh = handle_number(&d->handle);
	if (fuse_reply_open(req, fi) < 0)
		handle_unref(&d->handle);
}

/* The names to read from, at position r->off: that of a name is the place of the one before it, and
 * 0 the start. */
static int
names_for(struct request *r, struct dir_listing **ret)
{
	struct open_dir *d = dir_of(r->handle);
	struct dir_listing *fresh = NULL, *old = NULL;
	bool look = r->off == 0;
	LOCKED(&d->lock)
		look |= !d->now;
	int result = look ? list(r->server, r->inode, &fresh) : 0;
	if (result < 0)
		return result;
	LOCKED(&d->lock) {
		if (fresh) {
			old = d->now;
			d->now = fresh;
		}
		*ret = d->now;
		atomic_fetch_add(&d->now->refs, 1);
	}
	listing_unref(old);
	return 0;
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
	CLEAN(listing_unrefp) struct dir_listing *l = NULL;
	CLEAN(clean_free) char *names = malloc(r->size);
	size_t used = 0;
	int result = names ? names_for(r, &l) : err_set(-ENOMEM, "no memory for names");
	if (result < 0) {
		request_fail(r, result);
		return;
	}
	for (uint64_t n = r->off; n < l->count; n++) {
		const struct dir_item *i = item_at(l, n);
		struct stat st = {.st_ino = i->ino, .st_mode = DTTOIF(i->type)};
		size_t room = r->size - used;
		size_t need = fuse_add_direntry(
			r->req, names + used, room, name_of(l, i), &st, (off_t)n + 1);
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
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .size = size,
			   });
}

/* Adds the attributes to *ret, if they cost no question to the store: where kinds are not known,
 * only lookups may ask. -errno: it was asked in vain. */
static int
describe(struct request *r, const struct dir_listing *l, const struct dir_item *i,
	struct fuse_entry_param *ret)
{
	CLEAN(entry_free) struct entry e = {0};
	const char *name = name_of(l, i);
	if (i->asks || !strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	CLEAN(clean_free) char *path = server_child(r->inode, name);
	if (!path)
		return -ENOMEM;
	int result = mount_lookup_listed(r->server->mount, path, i->lacking ? l->begun : 0, &e);
	if (result == -EAGAIN) /* the program asks again if it wants it */
		return 0;
	return result == 0 ? server_param(r->server, &e, ret) : result;
}

/* Adds entries from r->off on; their node ids go to `given`, one for each that counts as looked up.
 * Where a question fails, the rest goes without attributes: it would take as long again for
 * each. */
static int
fill_plus(struct request *r, const struct dir_listing *l, struct buf *names, struct buf *given)
{
	bool ask = true;
	for (uint64_t n = r->off; n < l->count; n++) {
		const struct dir_item *i = item_at(l, n);
		struct fuse_entry_param p = {
			.attr = {.st_ino = i->ino, .st_mode = DTTOIF(i->type)}};
		size_t room = r->size - names->len;
		if (fuse_add_direntry_plus(r->req, NULL, 0, name_of(l, i), NULL, 0) > room)
			break;
		ask = ask && !cancelled(&r->cancel) && describe(r, l, i, &p) >= 0;
		int result = p.ino ? buf_add(given, &p.ino, sizeof p.ino) : 0;
		if (result < 0) {
			inodes_forget(r->server->inodes, p.ino, 1);
			return result;
		}
		names->len += fuse_add_direntry_plus(r->req, (char *)names->data + names->len, room,
			name_of(l, i), &p, (off_t)n + 1);
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
	CLEAN(listing_unrefp) struct dir_listing *l = NULL;
	CLEAN(buf_free) struct buf names = {0}, given = {0};
	int result = names_for(r, &l);
	if (result == 0)
		result = buf_reserve(&names, r->size);
	if (result == 0 && r->off == 0 && l->typed)
		mount_preload(r->server->mount,
			r->inode->path); /* what fails is met again, entry by entry */
	if (result == 0)
		result = fill_plus(r, l, &names, &given);
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
				   .handle = handle_of(fi->fh),
				   .off = (uint64_t)off,
				   .size = size,
			   });
}
