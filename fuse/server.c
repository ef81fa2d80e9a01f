#include "fuse/server.h"

#include "fuse/open_file.h"
#include "fuse/shown.h"

#include "base/err.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* s. Never 0: then every access would ask twice. */
enum { KNOWN_MIN = 1, KNOWN_MAX = 5, IMMUTABLE = 3600 };
/* Threads that requests waiting for the store leave free. */
enum { SPARE_THREADS = 8 };

enum { NAMES_MISSED = 8 };
/* Larger blocks make random reads by stdio and Python fetch what they do not need. */
enum { BLOCK = 65536 };

static const char *const op_name[OPS] = {
	[OP_LOOKUP] = "lookup",
	[OP_GETATTR] = "getattr",
	[OP_OPEN] = "open",
	[OP_READ] = "read",
	[OP_RELEASE] = "release",
	[OP_OPENDIR] = "opendir",
	[OP_READDIR] = "readdir",
	[OP_READDIRPLUS] = "readdirplus",
	[OP_GETXATTR] = "getxattr",
	[OP_LISTXATTR] = "listxattr",
	[OP_STATFS] = "statfs",
	[OP_FORGET] = "forget",
	[OP_WRITE] = "write",
	[OP_SETATTR] = "setattr",
	[OP_FALLOCATE] = "fallocate",
	[OP_FLUSH] = "flush",
	[OP_FSYNC] = "fsync",
	[OP_FSYNCDIR] = "fsyncdir",
	[OP_CREATE] = "create",
	[OP_UNLINK] = "unlink",
	[OP_MKDIR] = "mkdir",
	[OP_RMDIR] = "rmdir",
	[OP_RENAME] = "rename",
	[OP_SETXATTR] = "setxattr",
	[OP_REMOVEXATTR] = "removexattr",
};

static int
stats_by_op(struct buf *ret, const char *name, atomic_ullong *count)
{
	int r = 0;
	for (int i = 0; i < OPS && r == 0; i++)
		r = buf_addf(ret, "zarrfs_%s{op=\"%s\"} %llu\n", name, op_name[i],
			atomic_load_explicit(&count[i], memory_order_relaxed));
	return r;
}

static int
stats(void *arg, struct buf *ret)
{
	struct server *s = arg;
	unsigned running, waiting;
	queue_count(s->queue, &running, &waiting);
	int r = stats_by_op(ret, "fuse_requests_total", s->asked);
	if (r == 0)
		r = stats_by_op(ret, "fuse_errors_total", s->failed);
	if (r == 0)
		r = buf_addf(ret,
			"zarrfs_fuse_read_bytes_total %llu\nzarrfs_fuse_written_bytes_total %llu\n",
			atomic_load(&s->bytes_read), atomic_load(&s->bytes_written));
	if (r == 0)
		r = buf_addf(ret,
			"zarrfs_fuse_running %u\nzarrfs_fuse_waiting %u\nzarrfs_fuse_inodes %zu\n",
			running, waiting, inodes_count(s->inodes));
	return r;
}

static double
known_seconds(int64_t ttl)
{
	double s = (double)ttl / (double)SECOND;
	return ttl == INT64_MAX ? IMMUTABLE
	       : s < KNOWN_MIN  ? KNOWN_MIN
	       : s > KNOWN_MAX  ? KNOWN_MAX
				: s;
}

/* Of the memory that caches may take, pages that are remembered may take this part. */
enum { SHOWN_PART = 4 };

static void
count_shown(void *arg, size_t bytes)
{
	data_set_shown(mount_data(arg), bytes);
}

int
server_new(struct mount *m, const struct opts *o, struct server **ret)
{
	struct entry root = {0};
	unsigned threads = (unsigned)o->max_threads - SPARE_THREADS;
	struct server *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for a mount");
	s->mount = m;
	negative_cache_init(&s->negative, NAMES_MISSED, SECOND);
	pthread_mutex_init(&s->hearing, NULL);
	turns_init(&s->turns);
	handles_init(&s->handles);
	s->uid = (uid_t)o->uid;
	s->gid = (gid_t)o->gid;
	s->owner = getuid();
	s->timeout = o->timeout;
	s->direct_io = (enum direct_io)o->direct_io;
	s->rw = o->rw;
	s->known_for = known_seconds(o->metadata_ttl);
	s->absent_for = s->known_for < KNOWN_MAX ? s->known_for : KNOWN_MAX;
	int r = mount_lookup(m, "", &root);
	if (r == ZMAP_ABSENT)
		r = err_set(-EIO, "the store has no root any more");
	if (r == 0)
		r = inodes_new(&root, &s->inodes);
	if (r == 0)
		r = shown_pages_new(
			data_memory(mount_data(m)) / SHOWN_PART, count_shown, m, &s->shown);
	if (r == 0)
		r = queue_new(threads, o->rw, &s->queue);
	entry_free(&root);
	if (r < 0) {
		server_free(s);
		return r;
	}
	mount_on_stats(m, stats, s);
	*ret = s;
	return 0;
}

struct server *
server_free(struct server *s)
{
	if (!s)
		return NULL;
	handles_done(&s->handles);
	invalidator_free(s->invalidator);
	inodes_free(s->inodes);
	shown_pages_free(s->shown);
	queue_free(s->queue);
	turns_done(&s->turns);
	pthread_mutex_destroy(&s->hearing);
	negative_cache_done(&s->negative);
	free(s);
	return NULL;
}

void
server_stat(const struct server *s, const struct entry *e, struct stat *ret)
{
	struct timespec t = {.tv_sec = e->mtime / SECOND, .tv_nsec = e->mtime % SECOND};
	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += SECOND;
	}
	*ret = (struct stat){
		.st_ino = e->ino,
		.st_mode = e->mode,
		.st_nlink = e->kind == ENTRY_DIR ? 2 : 1,
		.st_uid = e->special ? s->owner : s->uid,
		.st_gid = s->gid,
		.st_size = (off_t)e->size,
		.st_blocks = (blkcnt_t)(e->size / 512 + (e->size % 512 != 0)),
		.st_blksize = BLOCK,
		.st_atim = t,
		.st_mtim = t,
		.st_ctim = t,
	};
}

void
server_reply_attr(struct request *r, const struct entry *e)
{
	struct stat st;
	server_stat(r->server, e, &st);
	if (request_claim(r))
		fuse_reply_attr(r->req, &st, server_known_for(r->server, r->inode));
}

double
server_known_for(const struct server *s, const struct inode *i)
{
	return atomic_load(&i->paused) ? 0 : s->known_for;
}

struct stat
server_remembered(struct server *s, struct inode *i)
{
	struct inode_seen seen = inodes_seen(s->inodes, i);
	struct handle *h = NULL;
	if (handles_of(&s->handles, i, &h, 1)) {
		file_own_size(open_file_of(h)->file, &seen.size);
		handle_unref(h);
	}
	struct stat st;
	server_stat(s,
		&(struct entry){
			.kind = S_ISDIR(seen.mode) ? ENTRY_DIR : ENTRY_FILE,
			.ino = i->ino,
			.size = seen.size,
			.mtime = seen.mtime,
			.mode = seen.mode,
			.special = i->special,
		},
		&st);
	return st;
}

bool
server_is_open(struct request *r)
{
	struct handle *h = NULL;
	bool open = r->handle || handles_of(&r->server->handles, r->inode, &h, 1);
	if (h)
		handle_unref(h);
	return open;
}

char *
server_child(const struct inode *dir, const char *name)
{
	return path_in(dir->path, name);
}

int
server_entry(struct server *s, struct inode *i, struct entry *ret)
{
	int r = mount_lookup(s->mount, i->path, ret);
	if (r < 0)
		return r;
	if (r == ZMAP_ABSENT)
		return err_set(-ESTALE, "'%s' is gone", i->path);
	return inodes_see(s->inodes, i, ret) ? 0 : err_set(-ESTALE, "'%s' has changed", i->path);
}

int
server_param(struct server *s, const struct entry *e, struct fuse_entry_param *ret)
{
	struct fuse_entry_param p = {.entry_timeout = s->known_for};
	int r = inodes_look_up(s->inodes, e, &p.ino);
	if (r < 0)
		return r;
	struct inode *i = inodes_get(s->inodes, p.ino);
	p.attr_timeout = server_known_for(s, i);
	inodes_put(s->inodes, i);
	server_stat(s, e, &p.attr);
	*ret = p;
	return 0;
}

void
server_answer_entry(struct request *r, int result, const struct entry *e)
{
	struct fuse_entry_param p;
	if (result == 0)
		result = server_param(r->server, e, &p);
	if (result < 0)
		request_fail(r, result);
	else if (!request_answer(r, fuse_reply_entry(r->req, &p)))
		inodes_forget(r->server->inodes, p.ino, 1);
}
