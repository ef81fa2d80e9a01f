/* The kernel's side of a mount, played by the test: what it asks, and when, is exact. */
#pragma once

#include "mounted.h"

#include "fuse/opts.h"
#include "fuse/serve.h"
#include "fuse/session.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNEL_MOST = 1 << 16 };

struct kernel {
	int device; /* its end of it */
	uint64_t unique;
	pthread_t thread;
	void (*run)(struct kernel *);
	uint64_t dropped_from, dropped_to; /* bytes of files that it was told to drop, in one run;
					      not all of a file */
	uint64_t drops;                    /* how many were told of */
	uint64_t told;                     /* of those, and of drops of all of a file */
	uint8_t bytes[KERNEL_MOST];        /* of the last answer */
};

/* What a program has opened. */
struct kernel_file {
	uint64_t inode, handle;
	uint32_t opened, flags; /* as the program asked, and as it was answered */
};

/* Linux writes no page back while it waits for the answer about a size: then it may not be told to
 * drop them. */
static inline void
kernel_is_told(struct kernel *k, int what, uint32_t meanwhile, uint64_t inode)
{
	const struct fuse_notify_inval_inode_out *o = (const void *)k->bytes;
	k->told += what == FUSE_NOTIFY_INVAL_INODE && o->off >= 0;
	if (what == FUSE_NOTIFY_INVAL_INODE && o->off >= 0 && o->len > 0) {
		const uint64_t off = (uint64_t)o->off, end = off + (uint64_t)o->len;
		k->dropped_from = !k->drops || off < k->dropped_from ? off : k->dropped_from;
		k->dropped_to = end > k->dropped_to ? end : k->dropped_to;
		k->drops++;
	}
	CHECK(what != FUSE_NOTIFY_INVAL_INODE || meanwhile != FUSE_SETATTR || o->ino != inode ||
		o->off < 0);
}

/* Asks, and waits for the answer: bytes it has, or -errno. */
static inline int64_t
kernel_ask(struct kernel *k, uint32_t what, uint64_t inode, const void *in, size_t n,
	const void *more, size_t m)
{
	struct fuse_in_header head = {.len = (uint32_t)(sizeof head + n + m),
		.opcode = what,
		.unique = ++k->unique,
		.nodeid = inode,
		.pid = 1};
	struct iovec iov[] = {
		{&head, sizeof head}, {(void *)(uintptr_t)in, n}, {(void *)(uintptr_t)more, m}};
	struct fuse_out_header out;
	struct iovec to[] = {{&out, sizeof out}, {k->bytes, sizeof k->bytes}};
	if (writev(k->device, iov, 3) < 0)
		return -errno;
	for (;;) {
		ssize_t got = readv(k->device, to, 2);
		if (got < (ssize_t)sizeof out)
			return -EPIPE;
		if (out.unique == head.unique)
			return out.error ? out.error : got - (ssize_t)sizeof out;
		if (!out.unique)
			kernel_is_told(k, out.error, what, inode);
	}
}

/* minor: of the protocol, by which it is known what the kernel does with its pages. */
static inline void
kernel_begin(struct kernel *k, uint32_t minor)
{
	enum { DIRECT_MAPPINGS = 1 << 4 };
	struct fuse_init_in in = {.major = 7,
		.minor = minor,
		.max_readahead = 1 << 17,
		.flags = FUSE_INIT_EXT | FUSE_BIG_WRITES,
		.flags2 = DIRECT_MAPPINGS};
	CHECK(kernel_ask(k, FUSE_INIT, 0, &in, sizeof in, NULL, 0) > 0);
}

/* The inode of a name at the top; 0: none. */
static inline uint64_t
kernel_look_up(struct kernel *k, const char *name)
{
	if (kernel_ask(k, FUSE_LOOKUP, FUSE_ROOT_ID, name, strlen(name) + 1, NULL, 0) <= 0)
		return 0;
	return ((const struct fuse_entry_out *)k->bytes)->nodeid;
}

/* Opens f->inode as f->opened says. More than 0, or -errno. */
static inline int64_t
kernel_open_inode(struct kernel *k, struct kernel_file *f)
{
	struct fuse_open_in in = {.flags = f->opened};
	int64_t r = kernel_ask(k, FUSE_OPEN, f->inode, &in, sizeof in, NULL, 0);
	const struct fuse_open_out *out = (const void *)k->bytes;
	if (r > 0) {
		f->handle = out->fh;
		f->flags = out->open_flags;
	}
	return r;
}

static inline struct kernel_file
kernel_open(struct kernel *k, const char *name, uint32_t flags)
{
	struct kernel_file f = {.opened = flags, .inode = kernel_look_up(k, name)};
	CHECK(f.inode);
	CHECK(kernel_open_inode(k, &f) > 0);
	return f;
}

enum kernel_way {
	KERNEL_PAGES, /* fills pages, and writes those of mappings back */
	KERNEL_PAST,  /* for a program, past them */
};

/* Bytes that there are, in k->bytes; or -errno. */
static inline int64_t
kernel_read(struct kernel *k, const struct kernel_file *f, enum kernel_way way, uint64_t off,
	uint32_t n)
{
	struct fuse_read_in in = {.fh = f->handle,
		.offset = off,
		.size = n,
		.read_flags = way == KERNEL_PAST ? FUSE_READ_LOCKOWNER : 0,
		.lock_owner = way == KERNEL_PAST ? 1 : 0,
		.flags = f->opened};
	return kernel_ask(k, FUSE_READ, f->inode, &in, sizeof in, NULL, 0);
}

static inline void
kernel_write(struct kernel *k, const struct kernel_file *f, enum kernel_way way, uint64_t off,
	const void *bytes, uint32_t n)
{
	struct fuse_write_in in = {.fh = f->handle,
		.offset = off,
		.size = n,
		.write_flags = way == KERNEL_PAGES ? FUSE_WRITE_CACHE : FUSE_WRITE_LOCKOWNER,
		.lock_owner = way == KERNEL_PAST ? 1 : 0,
		.flags = f->opened};
	CHECK_INT(kernel_ask(k, FUSE_WRITE, f->inode, &in, sizeof in, bytes, n),
		sizeof(struct fuse_write_out));
}

static inline void
kernel_resize(struct kernel *k, const struct kernel_file *f, uint64_t size)
{
	struct fuse_setattr_in in = {.valid = FATTR_SIZE | FATTR_FH, .fh = f->handle, .size = size};
	CHECK(kernel_ask(k, FUSE_SETATTR, f->inode, &in, sizeof in, NULL, 0) > 0);
	CHECK_INT(((const struct fuse_attr_out *)k->bytes)->attr.size, size);
}

static inline void
kernel_close(struct kernel *k, const struct kernel_file *f)
{
	struct fuse_flush_in flush = {.fh = f->handle};
	struct fuse_release_in release = {.fh = f->handle, .flags = f->opened};
	if (f->opened & (O_WRONLY | O_RDWR))
		CHECK_INT(kernel_ask(k, FUSE_FLUSH, f->inode, &flush, sizeof flush, NULL, 0), 0);
	CHECK_INT(kernel_ask(k, FUSE_RELEASE, f->inode, &release, sizeof release, NULL, 0), 0);
}

static inline void *
kernel_run(void *arg)
{
	struct kernel *k = arg;
	k->run(k);
	kill(getpid(), SIGTERM);
	return NULL;
}

static inline void
kernel_ready(void *arg)
{
	struct kernel *k = arg;
	CHECK_INT(pthread_create(&k->thread, NULL, kernel_run, k), 0);
}

/* Mounts the store, a mem: one, with these options, in a process of its own; run is the kernel.
 * Before there are threads. */
static inline void
kernel_mount(char *store, char *options, void (*run)(struct kernel *))
{
	static struct kernel k;
	int pair[2], status = 0;
	char at[32], program[] = "zarrfs", o[] = "-o";
	sigset_t signals;
	struct opts opts;
	struct mount_options how;
	struct mount *m = NULL;
	const pid_t pid = fork();
	if (pid) {
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		return;
	}
	session_signals(&signals);
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	k = (struct kernel){.device = pair[0], .run = run};
	snprintf(at, sizeof at, "/dev/fd/%d", pair[1]);
	CHECK_INT(opts_parse(5, (char *[]){program, o, options, store, at, NULL}, &opts), 0);
	serve_options(&opts, &how);
	CHECK_INT(mount_open(store, &how, &m), 0);
	CHECK_INT(session_run(&(struct session_start){m, &opts, at, kernel_ready, &k}), 0);
	pthread_join(k.thread, NULL);
	mount_close(m);
	close(k.device);
	exit(check_end());
}
