/* URLs that references lead to, and which of them the user permitted: -o virtual=PREFIX, or
 * FROM=>TO to read what begins with FROM below TO. The longest prefix that fits counts. A prefix
 * ends at a '/' of the URL. Stores are opened when first needed, with the options of the mount:
 * credentials go where the user's own words lead, and nowhere else; a bearer's token only to the
 * store itself. */
#include "backends/container/impl.h"

#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* One permission. */
struct container_source {
	char *from;      /* canonical, with '/' at its end */
	char *to;        /* as the user wrote it, perhaps with a fragment */
	bool local, web; /* files, a web server: their versions are no ETags, or need not be */
	bool moved;      /* the user sent it elsewhere */
	pthread_mutex_t opening; /* guards zmap */
	struct zmap *zmap;       /* NULL: not opened yet */
};

struct sources {
	struct zmap_options options; /* of the stores that are opened */
	size_t count;
	struct container_source of[];
};

/* --- one way to write a URL --- */

static int
digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10
					    : -1;
}

/* "%41" is 'A'; what is no such thing stays. "%00" stays, too. */
static void
decode(char *s)
{
	char *to = s;
	for (; *s; s++) {
		int high = s[0] == '%' && s[1] ? digit(s[1]) : -1,
		    low = high >= 0 && s[2] ? digit(s[2]) : -1;
		bool coded = high >= 0 && low >= 0 && (high || low);
		*to++ = coded ? (char)(high * 16 + low) : *s;
		s += coded ? 2 : 0;
	}
	*to = 0;
}

int
place_encode(struct buf *b, const char *text, size_t len, const char *odd)
{
	int r = 0;
	for (size_t i = 0; i < len && r == 0; i++)
		r = strchr(odd, text[i]) ? buf_addf(b, "%%%02X", text[i]) : buf_add(b, text + i, 1);
	return r;
}

/* Drops "//", "." and ".." of a path that begins with '/', which never leads above the root. */
static void
normalize(char *path)
{
	char *to = path;
	for (const char *from = path; *from;) {
		size_t len = strcspn(from, "/");
		if (len == 2 && from[0] == '.' && from[1] == '.') {
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && *from == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	*to = 0;
}

int
place_canonical(const char *url, char **ret)
{
	static const char here[] = "localhost";
	const char *colon = strstr(url, "://");
	if (!colon || colon == url)
		return err_set(-EINVAL, "'%.200s' is no URL", url);
	size_t scheme = (size_t)(colon - url), host = strcspn(colon + 3, "/?#");
	const char *path = colon + 3 + host;
	bool file = scheme == 4 && !strncasecmp(url, "file", 4);
	if (file && host && (host != sizeof here - 1 || strncasecmp(colon + 3, here, host) != 0))
		return err_set(-EINVAL, "'%.200s' is on another host", url);
	CLEAN(clean_free) char *s = NULL;
	if (asprintf(&s, "%.*s://%.*s%.*s", (int)scheme, url, (int)(file ? 0 : host), colon + 3,
		    (int)strcspn(path, "?#"), path) < 0) {
		s = NULL;
		return err_set(-ENOMEM, "no memory for a URL");
	}
	size_t begin = scheme + 3 + (file ? 0 : host);
	for (size_t i = 0; i < begin; i++)
		s[i] = (char)tolower((unsigned char)s[i]);
	decode(s + begin);
	if (file)
		normalize(s + begin);
	*ret = MOVE(s);
	return 0;
}

/* The same of a path, as users name local files. */
static int
canonical_path(const char *path, char **ret)
{
	struct url url;
	int r = url_parse(path, &url);
	if (r < 0)
		return r;
	bool local = !*url.scheme;
	if (local && asprintf(ret, "file://%s", url.path) < 0) {
		*ret = NULL;
		r = err_set(-ENOMEM, "no memory for a URL");
	}
	url_free(&url);
	return r == 0 && !local ? err_set(-EINVAL, "'%.200s' is no URL", path) : r;
}

/* --- what the user permitted --- */

static int
bad_option(const char *text)
{
	return err_add(-EINVAL, "option 'virtual=%s'", text);
}

static int
add(struct sources *s, const char *text)
{
	struct container_source *p = &s->of[s->count];
	const char *arrow = strstr(text, "=>");
	CLEAN(clean_free) char *from = strndup(text, arrow ? (size_t)(arrow - text) : strlen(text));
	CLEAN(clean_free) char *canon = NULL;
	struct url url = {0};
	if (!from)
		return err_set(-ENOMEM, "no memory for a URL");
	int r = strstr(from, "://") ? place_canonical(from, &canon) : canonical_path(from, &canon);
	if (r < 0)
		return bad_option(text);
	const char *to = arrow ? arrow + 2 : text;
	r = url_parse(to, &url);
	if (r < 0)
		return bad_option(text);
	p->local = !strcmp(url.backend, "dir");
	p->web = !strcmp(url.backend, "http");
	p->moved = arrow;
	url_free(&url);
	size_t n = strlen(canon);
	while (n && canon[n - 1] == '/')
		n--;
	char *with = NULL;
	p->to = strdup(to);
	if (!p->to || asprintf(&with, "%.*s/", (int)n, canon) < 0) {
		free(p->to);
		return err_set(-ENOMEM, "no memory for a URL");
	}
	p->from = with;
	pthread_mutex_init(&p->opening, NULL);
	s->count++;
	return 0;
}

int
sources_new(const struct zmap_options *options, struct sources **ret)
{
	const char *const *list = options->virtual_urls;
	size_t n = 0;
	while (list && list[n])
		n++;
	struct sources *s = calloc(1, sizeof *s + n * sizeof *s->of);
	if (!s)
		return err_set(-ENOMEM, "no memory for a list");
	s->options = *options;
	s->options.containers = false;
	s->options.writable = false;
	s->options.no_token = true;
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add(s, list[i]);
	if (r < 0)
		sources_free(s);
	else
		*ret = s;
	return r;
}

struct sources *
sources_free(struct sources *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		zmap_close(s->of[i].zmap);
		pthread_mutex_destroy(&s->of[i].opening);
		free(s->of[i].from);
		free(s->of[i].to);
	}
	free(s);
	return NULL;
}

bool
sources_remote(const struct sources *s)
{
	bool remote = false;
	for (size_t i = 0; i < s->count; i++)
		remote |= !s->of[i].local;
	return remote;
}

/* Of a URL in its one form. */
static struct container_source *
find(struct sources *s, const char *url)
{
	struct container_source *best = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < s->count; i++) {
		const char *from = s->of[i].from;
		const struct span prefix = {(const uint8_t *)from, strlen(from)};
		if (place_nearer(url, prefix, &longest))
			best = &s->of[i];
	}
	return best;
}

/* The option is said as it is to be written: with what stands for a character, or would end the
 * option, in its %XX. */
static int
not_permitted(const char *url, const char *proposal)
{
	CLEAN(buf_free) struct buf b = {0};
	bool placeless = !strncmp(url, "vcc:", 4); /* a name that the repository says nothing of */
	int r = proposal ? buf_addf(&b, "%s", proposal)
			 : place_encode(&b, url, (size_t)(strrchr(url, '/') + 1 - url), "%?#,");
	if (r == 0)
		r = buf_addf(&b, "%s", placeless && !proposal ? "=>URL" : "");
	return r < 0 ? r
		     : err_set(-EACCES,
			       "its bytes lie at '%s'; to read there, mount with -o virtual=%.*s",
			       url, (int)b.len, (const char *)b.data);
}

int
sources_find(struct sources *s, struct chunk_place *p)
{
	char *url = NULL;
	int r = place_canonical(p->meant ? p->meant : p->name, &url);
	if (r < 0)
		return err_add(-EIO, "a reference");
	free(p->url);
	p->url = url;
	p->source = find(s, url);
	return 0;
}

static int
open_source(struct sources *s, struct container_source *p, struct zmap **ret)
{
	int r = 0;
	LOCKED(&p->opening) { /* others of this source have to wait for it, too */
		struct url url;
		if (!p->zmap) {
			r = url_parse(p->to, &url);
			if (r == 0) {
				r = zmap_open_inner(&url, &s->options, &p->zmap);
				url_free(&url);
			}
		}
		*ret = p->zmap;
	}
	return r;
}

/* --- is it what was referred to? --- */

static bool
same_etag(const char *said, const char *version)
{
	size_t n = strlen(said), len = strlen(version);
	bool quoted = len >= 2 && version[0] == '"' && version[len - 1] == '"';
	return quoted ? n == len - 2 && !memcmp(said, version + 1, n) : !strcmp(said, version);
}

/* The ETag that programs make up for a file: inode, which copies have not, microseconds and size in
 * hexadecimal. */
static bool
same_file(const char *etag, const struct zmap_stat *s)
{
	unsigned long long inode, time, size;
	int end = 0;
	return sscanf(etag, "%16llx-%16llx-%16llx%n", &inode, &time, &size, &end) == 3 &&
	       !etag[end] && time == (unsigned long long)s->mtime / 1000 && size == s->size;
}

/* Does a version of that source say its ETag? Web servers need not have any. */
static bool
has_etag(const struct container_source *from, const char *version)
{
	bool tagged = *version == '"' || !strncmp(version, "W/", 2);
	return !from->local && *version && (tagged || !from->web);
}

/* What stands for an object elsewhere, as the user redirects its URL, may have no ETag to
 * compare. */
static int
check_etag(
	const struct chunk_place *p, const struct container_source *from, const struct zmap_stat *s)
{
	static const char file[] = "file:";
	if (has_etag(from, s->version))
		return same_etag(p->etag, s->version)
			       ? 0
			       : err_set(-EIO,
					 "'%s' is not what the reference was made of: its ETag is "
					 "%s, not %s",
					 p->name, s->version, p->etag);
	if (from->local && !strncmp(p->url, file, sizeof file - 1) && !same_file(p->etag, s))
		return err_set(-EIO, "'%s' is not what the reference was made of: its ETag was %s",
			p->name, p->etag);
	if (from->web && !from->moved)
		return err_set(-EIO,
			"'%s' may not be what the reference was made of: the server says no ETag "
			"that could be compared with %s",
			p->name, p->etag);
	return 0;
}

static int
check_source(
	const struct chunk_place *p, const struct container_source *from, const struct zmap_stat *s)
{
	if (p->modified && s->mtime / SECOND > p->modified / SECOND)
		return err_set(
			-EIO, "'%s' was changed after the reference to it was made", p->name);
	return p->etag && *p->etag ? check_etag(p, from, s) : 0;
}

int
sources_get(struct sources *s, const struct chunk_place *p, const struct zmap_get *g,
	struct zmap_stat *ret)
{
	struct zmap *z = NULL;
	struct zmap_get below = *g;
	struct container_source *from = p->source;
	int r = from ? open_source(s, from, &z) : not_permitted(p->url, p->proposal);
	if (r < 0)
		return r;
	size_t before = g->into->len;
	below.key = p->url + strlen(from->from);
	below.local_only = false;
	r = zmap_get(z, &below, ret);
	if (r == 0)
		r = check_source(p, from, ret);
	if (r < 0)
		g->into->len = before;
	return r;
}
