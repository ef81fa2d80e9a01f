/* One version of an archive: its directory, read. */
#include "backends/zip/zip.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

enum {
	WHOLE = 16 << 20, /* bytes of an archive that is kept if a server sends all of it unasked */
	TRIES = 4,        /* of an archive that is replaced meanwhile */
	TAIL = 256 << 10, /* bytes of its end that are read at once: all of a directory of some 3000
			     members */
};

struct archive *
archive_unref(struct archive *a)
{
	if (!a || atomic_fetch_sub(&a->refs, 1) > 1)
		return NULL;
	zip_index_free(a->index);
	buf_free(&a->kept);
	free(a->begin);
	free(a->origin);
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

/* 0, ZMAP_CHANGED, -errno. */
static int
open_once(struct zip_store *p, struct archive **ret)
{
	static atomic_ullong serials;
	CLEAN(buf_free) struct buf tail = {0};
	CLEAN(archive_unrefp) struct archive *a = calloc(1, sizeof *a);
	if (!a)
		return err_set(-ENOMEM, "no memory for an archive");
	a->refs = 1;
	a->serial = ++serials;
	a->known = clock_now();
	const struct zmap_get g = {.key = p->key,
		.len = TAIL,
		.from_end = true,
		.whole = p->keep ? WHOLE : 0,
		.into = &tail,
		.max = WHOLE};
	const struct zip_reading reading = {.zip = p,
		.archive = a,
		.get = &(struct zmap_get){0}}; /* the lower store's own deadline */
	int r = zmap_get(p->lower, &g, &a->stat);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no such file");
	a->whole = tail.len > TAIL && tail.len == a->stat.size;
	if (r == 0 && !a->whole && tail.len != min_u64(a->stat.size, TAIL))
		return ZMAP_CHANGED;
	if (r == 0)
		r = zip_read_directory(&reading, buf_span(&tail), &a->index);
	if (r)
		return r;
	a->begin = calloc(a->index->count + 1, sizeof *a->begin);
	if (!a->begin)
		return err_set(-ENOMEM, "no memory for an archive");
	if (p->keep && p->lower->caps & ZMAP_REMOTE && *a->stat.version) {
		a->kept = tail;
		tail = (struct buf){0};
	}
	*ret = MOVE(a);
	return 0;
}

int
archive_open(struct zip_store *p, struct archive **ret)
{
	int r = ZMAP_CHANGED;
	for (int i = 0; i < TRIES && r == ZMAP_CHANGED; i++)
		r = open_once(p, ret);
	return r == ZMAP_CHANGED ? err_set(-EIO, "it changes all the time") : r;
}
