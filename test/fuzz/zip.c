/* Hostile zip archives: opened, listed to the bottom, every member read whole and in parts. */
#include "backends/zip/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64, LONGEST = 1 << 16, DEEPEST = 8 };

struct below {
	struct zmap *z;
	const char *prefix;
	unsigned depth, left;
};

static void
read_member(struct zmap *z, const char *key)
{
	struct zmap_stat s;
	if (zmap_stat(z, key, &s) != 0)
		abort(); /* it was just listed */
	const struct zmap_get gets[] = {
		{.max = LONGEST},
		{.off = 1, .len = 10, .max = LONGEST},
		{.off = 5, .len = 10, .max = LONGEST},
		{.len = 4, .from_end = true, .max = LONGEST},
	};
	for (size_t i = 0; i < sizeof gets / sizeof *gets; i++) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_get g = gets[i];
		g.key = key;
		g.into = &b;
		int r = zmap_get(z, &g, NULL);
		if (r == 0 && (b.len > s.size || (i == 0 && b.len != s.size)))
			abort();
	}
}

static int
look(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct below *b = arg;
	CLEAN(clean_free) char *key = NULL;
	if (!b->left-- || asprintf(&key, "%s%s%s", b->prefix, name, prefix ? "/" : "") < 0)
		return 1;
	if (!prefix)
		read_member(b->z, key);
	else if (b->depth < DEEPEST)
		zmap_list(b->z, key, look, &(struct below){b->z, key, b->depth + 1, MOST});
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "fuzz", shown[] = "";
	struct url url = {.backend = (char[]){"mem"}, .path = name, .shown = shown};
	struct zmap *put = NULL, *lower = NULL, *z = NULL;
	if (zmap_open(&url, &(struct zmap_options){.writable = true}, &put) < 0 ||
		zmap_put(put, &(struct zmap_put){"a", {data, size}}, NULL) < 0 ||
		zmap_open(&url, &(struct zmap_options){0}, &lower) < 0)
		abort();
	if (zip_open_over(lower, "a", 0, NULL, &z) == 0)
		zmap_list(z, "", look, &(struct below){z, "", 0, MOST});
	zmap_close(z);
	zmap_close(put);
	return 0;
}
