/* Listings by libs3. Of the name of a directory it keeps only what is behind the last reference
 * (&amp;) or begins with the last letters beyond ASCII: such directories are found by the keys in
 * them. */
#include "backends/libs3/call.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 1000, PAGE_OF_KEYS = 100 };

/* An entry of a page: this, then its name and a NUL. */
struct libs3_entry {
	bool prefix;
	struct zmap_stat stat;
};

struct libs3_listing {
	const char *prefix;
	char *marker; /* the last name of the page before, or NULL */
	char *last;   /* of this one */
	struct buf entries;
	unsigned most, count; /* of names: asked for; on this page */
	bool more;
	bool by_keys; /* without delimiter: names of directories are taken from the keys in them */
	bool garbled; /* there is a directory on this page whose name is not known */
};

static void
listing_done(struct libs3_listing *l)
{
	free(l->marker);
	free(l->last);
	buf_free(&l->entries);
}

/* What is greatest of a page is where the next one begins, if the server does not say. */
static int
remember(struct libs3_listing *l, const char *key)
{
	if (l->last && strcmp(l->last, key) >= 0)
		return 0;
	free(l->last);
	l->last = strdup(key);
	return l->last ? 0 : err_set(-ENOMEM, "no memory for a name");
}

static int
add_entry(struct libs3_listing *l, const char *key, struct libs3_entry e)
{
	size_t n = strlen(l->prefix), len = strlen(key);
	int r = remember(l, key);
	l->garbled |= strncmp(key, l->prefix, n) != 0;
	if (r < 0 || l->garbled || len <= n + e.prefix)
		return r;
	r = buf_add(&l->entries, &e, sizeof e);
	if (r == 0)
		r = buf_add(&l->entries, key + n, len - n - e.prefix);
	return r == 0 ? buf_add(&l->entries, "", 1) : r;
}

/* The directory that the key is in, unless the key before was in it too. */
static int
add_directory(struct libs3_listing *l, const char *key, size_t len)
{
	const char *before = l->last ? l->last : l->marker ? l->marker : "";
	bool known = !strncmp(before, key, len);
	CLEAN(clean_free) char *dir = strndup(key, len);
	if (!dir)
		return err_set(-ENOMEM, "no memory for a name");
	int r = remember(l, key);
	return r < 0 || known ? r : add_entry(l, dir, (struct libs3_entry){.prefix = true});
}

/* Keys of a directory that is known are passed over, but for those beyond ASCII. */
static int
skip_directory(struct libs3_listing *l)
{
	char *next = NULL, *slash = l->marker ? strchr(l->marker + strlen(l->prefix), '/') : NULL;
	if (!slash || (unsigned char)slash[1] >= 0x7f)
		return 0;
	if (asprintf(&next, "%.*s\x7f", (int)(slash + 1 - l->marker), l->marker) < 0)
		return err_set(-ENOMEM, "no memory for a name");
	free(l->marker);
	l->marker = next;
	return 0;
}

static S3Status
on_names(int more, const char *next, int nkeys, const S3ListBucketContent *key, int nprefixes,
	const char **prefix, void *arg)
{
	struct libs3_call *c = arg;
	struct libs3_listing *l = c->arg;
	int r = next && *next ? remember(l, next) : 0;
	c->heard = clock_now();
	l->more = more;
	l->count += (unsigned)(nkeys + nprefixes);
	for (int i = 0; i < nkeys && r == 0; i++) {
		struct libs3_entry e = {.stat = {.size = key[i].size}};
		if (key[i].lastModified > 0 && key[i].lastModified < INT64_MAX / SECOND)
			e.stat.mtime = key[i].lastModified * SECOND;
		if (key[i].eTag && strlen(key[i].eTag) < sizeof e.stat.version)
			memcpy(e.stat.version, key[i].eTag, strlen(key[i].eTag) + 1);
		const char *slash =
			strchr(key[i].key + strnlen(key[i].key, strlen(l->prefix)), '/');
		r = slash ? add_directory(l, key[i].key, (size_t)(slash + 1 - key[i].key))
			  : add_entry(l, key[i].key, e);
	}
	for (int i = 0; i < nprefixes && r == 0; i++)
		r = add_entry(l, prefix[i], (struct libs3_entry){.prefix = true});
	return r < 0 ? call_give_up(c, r) : S3StatusOK;
}

static void
begin_list(const S3BucketContext *b, S3RequestContext *to, struct libs3_call *c)
{
	static const S3ListBucketHandler handler = {
		{call_on_properties, call_on_complete}, on_names};
	struct libs3_listing *l = c->arg;
	l->entries.len = 0;
	l->count = 0;
	l->more = l->garbled = false;
	free(MOVE(l->last));
	S3_list_bucket(
		b, l->prefix, l->marker, l->by_keys ? NULL : "/", (int)l->most, to, &handler, c);
}

static int
tell(const struct libs3_listing *l, zmap_list_fn *fn, void *arg)
{
	int r = 0;
	for (size_t at = 0; at < l->entries.len && r == 0;) {
		struct libs3_entry e;
		memcpy(&e, l->entries.data + at, sizeof e);
		const char *name = (const char *)l->entries.data + at + sizeof e;
		at += sizeof e + strlen(name) + 1;
		r = fn(arg, name, e.prefix, e.prefix ? NULL : &e.stat);
	}
	return r;
}

/* Here too libs3 takes an answer that breaks off for a whole one, and does not say how much came.
 * One with as many names as were asked for is whole; else so many as came are asked for. That there
 * are none must be said twice. */
static int
list_whole_page(struct libs3 *s, struct libs3_listing *l, int64_t deadline)
{
	l->most = l->by_keys ? PAGE_OF_KEYS : PAGE;
	for (;;) {
		struct libs3_call c = {.begin = begin_list, .deadline = deadline, .arg = l};
		int r = call_run(s, &c);
		if (r || l->count >= l->most || (!l->count && l->most == 1))
			return r;
		l->most = l->count ? l->count : 1;
	}
}

static int
list_page(struct libs3 *s, struct libs3_listing *l, int64_t deadline)
{
	int r = list_whole_page(s, l, deadline);
	if (r == 0 && l->garbled) {
		l->by_keys = true;
		r = list_whole_page(s, l, deadline);
		if (r == 0 && l->garbled)
			r = err_set(-EIO, "the listing has other names than were asked for");
	}
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "the bucket is not there");
	if (r == 0 && l->more && (!l->last || (l->marker && !strcmp(l->last, l->marker))))
		r = err_set(-EIO, "the listing does not say how it goes on");
	return r;
}

int
call_list(struct libs3 *s, const char *prefix, int64_t deadline, zmap_list_fn *fn, void *arg)
{
	/* Where there is no prefix, no name shows that it is garbled. */
	CLEAN(listing_done) struct libs3_listing l = {.prefix = prefix, .by_keys = !*prefix};
	bool any = false;
	int r = 0;
	do {
		r = list_page(s, &l, deadline);
		any = any || l.count;
		if (r == 0)
			r = tell(&l, fn, arg);
		free(l.marker);
		l.marker = MOVE(l.last);
		if (r == 0 && l.by_keys)
			r = skip_directory(&l);
	} while (r == 0 && l.more);
	return r == 0 && !any && *prefix ? ZMAP_ABSENT : r;
}
