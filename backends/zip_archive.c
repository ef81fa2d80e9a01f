/* Reading the directory of an archive: its end, and what that points to. */
#include "backends/zip.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

enum {
	TRIES = 4, /* of an archive that is replaced meanwhile */
	TAIL = 256
	       << 10, /* bytes of its end that are read at once: all of a directory of some 3000 members */
	DIRECTORY_MAX = 1 << 30,
};

struct archive *
archive_unref(struct archive *a)
{
	if (!a || atomic_fetch_sub(&a->refs, 1) > 1)
		return NULL;
	zip_index_free(a->index);
	free(a->begin);
	free(a);
	return NULL;
}
struct archive *
archive_ref(struct archive *a)
{
	if (a)
		atomic_fetch_add(&a->refs, 1);
	return a;
}

/* Bytes of the archive whose version is known. */
static int
fetch(struct zip *p, const struct zmap_stat *of, uint64_t off, size_t len, struct buf *into)
{
	const struct zip_reading r = {
		.zip = p,
		.archive = &(struct archive){.stat = *of},
		.get = &(struct zmap_get){0}, /* the lower store's own deadline */
	};
	if (len > DIRECTORY_MAX)
		return err_set(-EFBIG, "its directory has %zu bytes, more than are sensible", len);
	return zip_fetch(&r, off, len, into);
}

static bool
is_directory(struct span s)
{
	return s.len >= 4 && !memcmp(s.data, "PK\1\2", 4);
}

/* The directory's bytes: out of the tail if they are all in it. ret is a part of the tail or of `more`. */
static int
get_directory(struct zip *p, const struct zmap_stat *of, struct span tail, uint64_t at,
	uint64_t len, struct buf *more, struct span *ret)
{
	uint64_t base = of->size - tail.len;
	if (at >= base) {
		*ret = (struct span){tail.data + (at - base), (size_t)len};
		return 0;
	}
	more->len = 0;
	int r = len > SIZE_MAX ? err_set(-EFBIG, "its directory is too long")
			       : fetch(p, of, at, (size_t)len, more);
	if (r == 0)
		*ret = buf_span(more);
	return r;
}

static int
read_directory(struct zip *p, struct archive *a, struct span tail)
{
	CLEAN(buf_free) struct buf more = {0};
	struct zip_end e;
	struct span dir;
	int r = zip_find_end(tail, a->stat.size, &e);
	if (r < 0)
		return r;
	/* if something stands before the archive, all its offsets are that much too small */
	uint64_t shift = e.at - e.length - e.directory;
	r = get_directory(p, &a->stat, tail, e.directory + shift, e.length, &more, &dir);
	if (r == 0 && shift && !is_directory(dir)) {
		shift = 0;
		r = get_directory(p, &a->stat, tail, e.directory, e.length, &more, &dir);
	}
	if (r == 0)
		r = zip_index_new(dir, &e, shift, &a->index);
	a->end = e.at;
	return r;
}

/* 0, ZMAP_CHANGED, -errno. */
static int
open_once(struct zip *p, struct archive **ret)
{
	static atomic_ullong serials;
	CLEAN(buf_free) struct buf tail = {0};
	CLEAN(archive_unrefp) struct archive *a = calloc(1, sizeof *a);
	if (!a)
		return err_set(-ENOMEM, "no memory for an archive");
	a->refs = 1;
	a->serial = ++serials;
	const struct zmap_get g = {
		.key = p->key, .len = TAIL, .from_end = true, .into = &tail, .max = TAIL};
	int r = zmap_get(p->lower, &g, &a->stat);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no such file");
	if (r == 0 && tail.len != min_u64(a->stat.size, TAIL))
		return ZMAP_CHANGED;
	if (r == 0)
		r = read_directory(p, a, buf_span(&tail));
	if (r)
		return r;
	a->begin = calloc(a->index->count + 1, sizeof *a->begin);
	if (!a->begin)
		return err_set(-ENOMEM, "no memory for an archive");
	*ret = MOVE(a);
	return 0;
}

int
archive_open(struct zip *p, struct archive **ret)
{
	int r = ZMAP_CHANGED;
	for (int i = 0; i < TRIES && r == ZMAP_CHANGED; i++)
		r = open_once(p, ret);
	return r == ZMAP_CHANGED ? err_set(-EIO, "it changes all the time") : r;
}
