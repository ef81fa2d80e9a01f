/* What batteries of stores share: which stores there are, a new one for each row, and what writes
 * to it. */
#pragma once

#include "check.h"
#include "nginx.h"
#include "store.h"

#include "base/clean.h"

#include <errno.h>
#include <sys/stat.h>

struct subject {
	const char *wrappers, *backend;
};

static struct zmap *z,
	*w; /* what is tried, and what writes: the same unless the store is read-only */
static struct place here, shelf;
static struct nginx nginx;
static bool on_disk, no_spaces; /* keys are files; keys with spaces are refused */
static bool keeps;              /* what was read of a former version can be read by its version */

static void
put(const char *key, const char *text)
{
	CHECK_INT(zmap_put(w, &(struct zmap_put){key, {(const uint8_t *)text, strlen(text)}}, NULL),
		0);
}

/* Compares outcome and bytes of one request. */
static void
expect(struct zmap_get g, int want, const char *text)
{
	store_expect(z, g, want, text);
}

static const struct subject subject[] = {
	{"", "dir"},
	{"", "mem"},
	{"trace", "dir"},
	{"fault", "dir"},
	{"fault+trace", "mem"},
	{"diskcache", "dir"},
	{"", "zip"},
	{"", "http"},
	{"", "s3"},
	{"", "libs3"},
};

/* Below a bucket of $ZARRFS_TEST_S3, "http://host:port/bucket", with the keys of the
 * environment. */
static struct zmap *
s3_open(const char *backend, const char *path)
{
	char store[512];
	struct url u;
	struct zmap *s = NULL;
	const struct zmap_options o = {.writable = true,
		.timeout = 20 * SECOND,
		.transport = strcmp(backend, "s3") ? backend : NULL};
	snprintf(store, sizeof store, "%s%s#mode=s3", getenv("ZARRFS_TEST_S3"), path);
	CHECK_INT(url_parse(store, &u), 0);
	CHECK_INT(zmap_open(&u, &o, &s), 0);
	url_free(&u);
	return s;
}

/* An archive without members, to begin with. */
static struct zmap *
archive_open_in(const char *folder)
{
	static const char empty[22] = "PK\5\6";
	char path[sizeof here.path + 16];
	struct url u;
	struct zmap *s = NULL;
	const struct zmap_options o = {.writable = true, .timeout = 20 * SECOND};
	snprintf(path, sizeof path, "%s/store.zip", folder);
	FILE *f = fopen(path, "w");
	CHECK(f && fwrite(empty, sizeof empty, 1, f) == 1 && fclose(f) == 0);
	CHECK_INT(url_parse(path, &u), 0);
	CHECK_INT(zmap_open(&u, &o, &s), 0);
	url_free(&u);
	return s;
}

/* With a server of S3 those that need one, without it all others. */
static bool
can_run(const struct subject *s, bool web)
{
	bool s3 = strstr(s->backend, "s3"), there = false;
	for (const struct zmap_ops *const *o = backend_table; *o; o++)
		there |= !strcmp((*o)->name, s->backend);
	return there && s3 == !!getenv("ZARRFS_TEST_S3") &&
	       (web || strcmp(s->backend, "http") != 0);
}

/* The disk cache, asking about each copy, each time. */
static struct zmap *
cached_open(const struct subject *s)
{
	struct url_pair pairs[] = {
		{(char *)"diskcache.dir", shelf.path}, {(char *)"diskcache.ttl", (char *)"0"}, {0}};
	const struct zmap_options o = {
		.writable = true, .timeout = 10 * SECOND, .cache_size = 100 << 20};
	return store_open_with(s->wrappers, s->backend, here.path, &o, pairs);
}

/* A new store, and its writers. */
static void
open_both(const struct subject *s)
{
	bool http = !strcmp(s->backend, "http"), s3 = strstr(s->backend, "s3");
	here = place_new();
	shelf = place_new();
	on_disk = !strcmp(s->backend, "dir");
	no_spaces = !strcmp(s->backend, "libs3");
	keeps = !strcmp(s->wrappers, "diskcache");
	w = s3      ? s3_open(s->backend, here.path)
	    : keeps ? cached_open(s)
	    : !strcmp(s->backend, "zip")
		    ? archive_open_in(here.path)
		    : store_open(s->wrappers, http ? "dir" : s->backend, here.path, true);
	z = http ? nginx_open(&nginx, here.path) : w;
}

static void
close_both(void)
{
	if (z != w)
		zmap_close(z);
	zmap_close(w);
	place_remove(&here);
	place_remove(&shelf);
}

/* Each row over each store. The exit status. */
static int
battery(void (*const row[])(void), size_t rows)
{
	bool web = nginx_start(&nginx);
	for (size_t i = 0; i < sizeof subject / sizeof *subject; i++)
		for (size_t j = 0; j < rows; j++) {
			int before = check_failed;
			if (!can_run(&subject[i], web))
				continue;
			open_both(&subject[i]);
			if (z && w)
				row[j]();
			close_both();
			if (check_failed > before)
				fprintf(stderr, "^ row %zu of %s+%s\n", j, subject[i].wrappers,
					subject[i].backend);
		}
	nginx_stop(&nginx);
	return check_end();
}
