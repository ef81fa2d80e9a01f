/* The zip store over a store in memory, whose requests are counted. */
#pragma once

#include "check.h"
#include "store.h"
#include "zip_make.h"

#include "backends/zip/zip.h"

#include <errno.h>

static struct zmap *below; /* another handle of the store that the archive lies in */
static struct zmap *lower; /* the archive's own */
static struct zmap *z;

static inline void
put_archive(struct span bytes)
{
	CHECK_INT(zmap_put(below, &(struct zmap_put){"x.zip", bytes}, NULL), 0);
}

/* keep > 0: it is far away, and need not be asked again for so many ns. */
static inline int
open_archive_kept(struct span bytes, int64_t keep)
{
	put_archive(bytes);
	lower = store_open("", "mem", "zip-test", false);
	if (keep)
		lower->caps |= ZMAP_REMOTE;
	int r = zip_open_over(lower, "x.zip", keep, NULL, &z);
	if (r < 0)
		z = NULL;
	return r;
}

static inline int
open_archive(struct span bytes)
{
	return open_archive_kept(bytes, 0);
}

static inline void
must_open_kept(struct zip_maker *m, int64_t keep)
{
	CHECK_INT(open_archive_kept(buf_span(&m->out), keep), 0);
	if (!z)
		exit(EXIT_FAILURE);
}

static inline void
must_open(struct zip_maker *m)
{
	must_open_kept(m, 0);
}

static inline void
done(struct zip_maker *m)
{
	z = zmap_close(z);
	zip_made(m);
	*m = (struct zip_maker){0};
}

static inline void
expect(struct zmap_get g, int want, const char *text)
{
	store_expect(z, g, want, text);
}

static inline void
refused(const char *key, const char *why)
{
	expect((struct zmap_get){.key = key}, -EIO, "");
	if (!strstr(err_text(), why))
		CHECK_STR(err_text(), why);
}

static inline int
note(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return buf_addf(arg, "%s%s ", name, prefix ? "/" : "");
}

static inline void
lists(const char *prefix, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(buf_add(&b, "", 0), 0);
	CHECK_INT(zmap_list(z, prefix, note, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
}
