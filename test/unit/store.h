/* Stores for tests, each in a directory of its own below $TMPDIR. */
#pragma once

#include "check.h"

#include "store/zmap.h"

#include <ftw.h>
#include <unistd.h>

struct place {
	char path[256];
};

static inline struct place
place_new(void)
{
	struct place p;
	const char *tmp = getenv("TMPDIR");
	snprintf(p.path, sizeof p.path, "%s/zarrfs-test-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(p.path));
	return p;
}

static inline int
place_remove_one(const char *path, const struct stat *s, int type, struct FTW *f)
{
	return remove(path);
}

static inline void
place_remove(const struct place *p)
{
	nftw(p->path, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* pairs: the fragment's, NULL key last; may be NULL. The result may be NULL, after a failed
 * check. */
static inline struct zmap *
store_open_with(const char *wrappers, const char *backend, const char *path,
	const struct zmap_options *o, struct url_pair *pairs)
{
	struct url u = {
		.wrappers = (char *)wrappers,
		.backend = (char *)backend,
		.scheme = (char *)"file",
		.host = (char *)"",
		.path = (char *)path,
		.shown = (char *)path,
		.pair = pairs,
	};
	while (pairs && pairs[u.npairs].key)
		u.npairs++;
	struct zmap *z = NULL;
	CHECK_INT(zmap_open(&u, o, &z), 0);
	return z;
}

static inline struct zmap *
store_open(const char *wrappers, const char *backend, const char *path, bool writable)
{
	const struct zmap_options o = {.writable = writable, .timeout = 10 * SECOND};
	return store_open_with(wrappers, backend, path, &o, NULL);
}

/* As a user names it: a path, or a URL. */
static inline struct zmap *
store_open_url(const char *text, bool writable)
{
	const struct zmap_options o = {.writable = writable, .timeout = 10 * SECOND};
	struct url u = {0};
	struct zmap *z = NULL;
	CHECK_INT(url_parse(text, &u), 0);
	CHECK_INT(zmap_open(&u, &o, &z), 0);
	url_free(&u);
	if (!z)
		exit(EXIT_FAILURE);
	return z;
}

/* What others replace by the same of another letter is all of one. */
static inline void
store_expect_one_letter(const struct buf *b)
{
	size_t same = 0;
	while (same < b->len && b->data[same] == b->data[0])
		same++;
	CHECK_INT(same, b->len);
}

/* Compares outcome and bytes of one request. */
static inline void
store_expect(struct zmap *z, struct zmap_get g, int want, const char *text)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(buf_add(&b, "head", 4), 0);
	g.into = &b;
	g.max = g.max ? g.max : 1 << 20;
	CHECK_INT(zmap_get(z, &g, NULL), want);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK(!memcmp(b.data, "head", 4));
	CHECK_STR((char *)b.data + 4, text);
}
