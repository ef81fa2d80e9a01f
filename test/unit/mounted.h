/* Stores written by hand, and mounts of them without a kernel. */
#pragma once

#include "check.h"

#include "base/clock.h"
#include "view/mount.h"

#include <errno.h>
#include <stdarg.h>

/* A handle for writing to the store `mem:NAME`, which lives as long as one is open. */
static inline struct zmap *
store_new(const char *url)
{
	struct url u = {0};
	struct zmap *z = NULL;
	CHECK_INT(url_parse(url, &u), 0);
	CHECK_INT(
		zmap_open(&u, &(struct zmap_options){.writable = true, .timeout = 10 * SECOND}, &z),
		0);
	url_free(&u);
	return z;
}

static inline void
put_bytes(struct zmap *z, const char *key, const void *data, size_t len)
{
	CHECK_INT(zmap_put(z, &(struct zmap_put){key, {data, len}}, NULL), 0);
}

static inline void __attribute__((format(printf, 3, 4)))
put_text(struct zmap *z, const char *key, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	put_bytes(z, key, text, strlen(text));
}

/* Metadata of an array without compressor. dtype, fill: JSON; more: members behind a comma, or
 * "". */
static inline void
put_meta(struct zmap *z, const char *path, const char *dtype, const char *shape, const char *chunks,
	const char *more)
{
	char key[300];
	snprintf(key, sizeof key, "%s%s.zarray", path, *path ? "/" : "");
	put_text(z, key,
		"{\"zarr_format\": 2, \"shape\": %s, \"chunks\": %s, \"dtype\": %s, "
		"\"compressor\": null, "
		"\"order\": \"C\"%s%s}",
		shape, chunks, dtype, *more ? ", " : "", more);
}

static inline struct mount_options
options_new(void)
{
	return (struct mount_options){
		.model = {.ttl = 60 * SECOND, .timeout = 10 * SECOND, .meta_max = 16 << 20},
		.data = {.memory = 64 << 20,
			.workers = 2,
			.ttl = 60 * SECOND,
			.timeout = 10 * SECOND},
		.zmap = {.timeout = 10 * SECOND},
		.endian = ENDIAN_LITTLE,
		.strlen = 128,
		.umask = 022,
	};
}

static inline struct mount *
mount_new(const char *url, const struct mount_options *o)
{
	struct mount *m = NULL;
	CHECK_INT(mount_open(url, o, &m), 0);
	return m;
}

/* Reads [off, off + len) of a file to `to`; bytes read, or -errno. */
static inline int64_t
read_at(struct file *f, uint64_t off, size_t len, void *to)
{
	struct reply r = {0};
	struct array_want w = {.off = off, .len = len, .deadline = clock_now() + 10 * SECOND};
	int e = file_read(f, &w, &r);
	if (e < 0)
		return e;
	size_t n = r.len;
	CHECK(n <= len);
	reply_copy(&r, to);
	reply_done(&r);
	return (int64_t)n;
}

/* Opens path with these flags. want: what comes of it, 0 or -errno. */
static inline struct file *
open_for(struct mount *m, const char *path, int flags, int want)
{
	struct entry e = {0};
	struct file *f = NULL;
	CHECK_INT(mount_lookup(m, path, &e), 0);
	CHECK_INT(file_open_for(m, &e, flags, &f), want);
	entry_free(&e);
	return f;
}

/* Opens path as the kernel would. 0 or -errno; ZMAP_ABSENT. */
static inline int
open_path(struct mount *m, const char *path, struct file **ret)
{
	struct entry e = {0};
	int r = mount_lookup(m, path, &e);
	if (r == 0)
		r = file_open(m, &e, ret);
	if (r == -ESTALE) {
		entry_free(&e);
		r = mount_lookup(m, path, &e);
		if (r == 0)
			r = file_open(m, &e, ret);
	}
	entry_free(&e);
	return r;
}

/* All of a file as text; "(ERRNO)" where it cannot be had. Valid until the next call. */
static inline const char *
text_of(struct mount *m, const char *path)
{
	static _Thread_local char text[1 << 16];
	struct file *f = NULL;
	int64_t n = open_path(m, path, &f);
	if (n == 0)
		n = read_at(f, 0, sizeof text - 1, text);
	bool opened = f;
	file_close(f);
	if (n < 0 || !opened)
		snprintf(text, sizeof text, "(%lld)", (long long)n);
	else
		text[n] = 0;
	return text;
}
