#include "base/url.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/path.h"
#include "base/url_fragment.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a URL");
}

static int
set(char **field, const char *text, size_t len)
{
	*field = strndup(text, len);
	return *field ? 0 : no_memory();
}

static bool
ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);
	return len >= n && !strcasecmp(s + len - n, end);
}

static bool
is(const char *scheme, const char *const *list)
{
	while (*list && strcmp(*list, scheme))
		list++;
	return *list;
}

static const char *const s3_schemes[] = {"s3", "gs", "gs3", NULL};
static const char *const http_schemes[] = {"http", "https", NULL};

/* Length of the scheme, with wrappers before it, if this is a URL: "fault+s3" of
 * "fault+s3://bucket". 0: a plain path. */
static size_t
scheme_length(const char *store)
{
	size_t n = 0;
	while (isalnum((unsigned char)store[n]) || (n && strchr("+-.", store[n]) && store[n]))
		n++;
	if (!isalpha((unsigned char)*store) || store[n] != ':')
		return 0;
	bool mem =
		n >= 3 && !strncasecmp(store + n - 3, "mem", 3) && (n == 3 || store[n - 4] == '+');
	bool file =
		n >= 4 && !strncasecmp(store + n - 4, "file", 4) && (n == 4 || store[n - 5] == '+');
	if (mem || (file && store[n + 1] == '/'))
		return n;
	return strncmp(store + n, "://", 3) ? 0 : n;
}

/* "a+b+scheme" → wrappers "a+b" and scheme, in lower case. */
static int
split_scheme(const char *text, size_t len, struct url *u)
{
	size_t skip = len; /* wrappers and the '+' behind them */
	while (skip && text[skip - 1] != '+')
		skip--;
	int r = set(&u->wrappers, text, skip ? skip - 1 : 0);
	if (r == 0)
		r = set(&u->scheme, text + skip, len - skip);
	if (r < 0)
		return r;
	for (char *c = u->wrappers; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (char *c = u->scheme; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (is(u->scheme, s3_schemes) || is(u->scheme, http_schemes) ||
		!strcmp(u->scheme, "file") || !strcmp(u->scheme, "mem"))
		return 0;
	return err_set(-EINVAL,
		"unknown kind of URL '%.32s:' (there are file, http, https, s3, gs and gs3)",
		u->scheme);
}

/* Drops "//", "/./" and slashes at the end. ".." stays: it means what it means to the kernel. */
static void
tidy_path(char *path)
{
	char *to = path;
	for (const char *from = path; *from;) {
		size_t len = strcspn(from, "/");
		bool empty = !len || (len == 1 && *from == '.');
		if (!empty) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	if (to == path)
		*to++ = '/';
	*to = 0;
}

/* An absolute path: the daemon will not stay in this directory. */
static int
set_file_path(const char *path, struct url *u)
{
	CLEAN(clean_free) char *here = *path == '/' ? strdup("") : getcwd(NULL, 0);
	if (!here)
		return err_sys(errno, "cannot tell the current directory");
	if (asprintf(&u->path, "%s/%s", here, path) < 0) {
		u->path = NULL;
		return no_memory();
	}
	tidy_path(u->path);
	return 0;
}

/* "repo#tag=v1" or "x.zarr#mode=zarr", where no file is called that: where the fragment begins.
 * NULL: there is none. */
static const char *
fragment_of_path(const char *store)
{
	static const char *const words[] = {"#branch=", "#tag=", "#snapshot=", "#mode="};
	const char *hash = strrchr(store, '#');
	struct stat st;
	for (unsigned i = 0; hash && i < sizeof words / sizeof *words; i++)
		if (!strncmp(hash, words[i], strlen(words[i])))
			return stat(store, &st) == 0 ? NULL : hash;
	return NULL;
}

static int
parse_plain(const char *store, struct url *u)
{
	const char *fragment = fragment_of_path(store);
	CLEAN(clean_free)
	char *path = strndup(store, fragment ? (size_t)(fragment - store) : strlen(store));
	if (!path)
		return no_memory();
	int r = set(&u->wrappers, "", 0);
	if (r == 0 && fragment)
		r = fragment_parse(fragment + 1, u);
	if (r == 0)
		r = set(&u->scheme, "", 0);
	if (r == 0)
		r = set(&u->host, "", 0);
	if (r == 0)
		r = set_file_path(path, u);
	return r < 0 ? r : set(&u->shown, u->path, strlen(u->path));
}

/* [host][:port] or a bucket, which has no port. */
static int
check_host(const char *host, bool bucket)
{
	if (!*host)
		return err_set(
			-EINVAL, bucket ? "the URL names no bucket" : "the URL names no host");
	const char *port = strrchr(host, ']');
	size_t name = strcspn(host, port ? "]" : ":");
	port = strchr(port ? port : host, ':');
	for (const char *c = host; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("\"<>\\^`{|}%", *c) ||
			(bucket && *c == ':'))
			return err_set(-EINVAL, "'%.100s' cannot be the name of a %s", host,
				bucket ? "bucket" : "host");
	if (!port)
		return 0;
	char *end;
	long n = isdigit((unsigned char)port[1]) ? strtol(port + 1, &end, 10) : 0;
	if (n < 1 || n > 65535 || *end || !name)
		return err_set(-EINVAL, "'%.100s' has no valid port", host);
	return 0;
}

static int
parse_host(const char *host, size_t len, struct url *u)
{
	if (memchr(host, '@', len))
		return err_set(-EINVAL, "the URL has user information before '@': use a profile or "
					"the environment");
	int r = set(&u->host, host, len);
	return r < 0 ? r : check_host(u->host, is(u->scheme, s3_schemes));
}

/* How much of "host/path" is the host, which in the URL of a file can be this one only. */
static size_t
host_length(const char *scheme, const char *place, size_t len)
{
	const char *slash = memchr(place, '/', len);
	size_t host = slash ? (size_t)(slash - place) : len;
	if (!strcmp(scheme, "mem"))
		return 0;
	if (!strcmp(scheme, "file"))
		return host == strlen("localhost") && !strncasecmp(place, "localhost", host) ? host
											     : 0;
	return host;
}

/* What stands between "scheme:" and '?' or '#'. */
static int
parse_place(const char *place, size_t len, struct url *u)
{
	bool file = !strcmp(u->scheme, "file"), mem = !strcmp(u->scheme, "mem");
	if (len >= 2 && place[0] == '/' && place[1] == '/') {
		place += 2;
		len -= 2;
	}
	size_t host = host_length(u->scheme, place, len);
	int r = file || mem ? set(&u->host, "", 0) : parse_host(place, host, u);
	CLEAN(clean_free) char *path = NULL;
	if (r == 0)
		r = fragment_decode(place + host, len - host, &path);
	if (r < 0)
		return r;
	if (file)
		return *path ? set_file_path(path, u) : err_set(-EINVAL, "the URL names no file");
	for (size_t n = strlen(path); n && path[n - 1] == '/';)
		path[--n] = 0;
	u->path = MOVE(path);
	return 0;
}

/* No store that we know has one, but web servers hand out files by them. */
static int
parse_query(const char *query, size_t len, struct url *u)
{
	for (size_t at = 0; at < len;) {
		const char *part = query + at, *end = memchr(part, '&', len - at), *equals;
		size_t n = end ? (size_t)(end - part) : len - at;
		equals = memchr(part, '=', n);
		size_t key = equals ? (size_t)(equals - part) : n;
		CLEAN(clean_free) char *decoded = NULL;
		int r = fragment_decode(part, key, &decoded);
		if (r < 0)
			return r;
		if (fragment_key_is_secret(decoded, strlen(decoded)))
			return fragment_refuse_secret(decoded, strlen(decoded));
		at += n + 1;
	}
	if (len && !is(u->scheme, http_schemes))
		return err_set(
			-EINVAL, "a '%s' URL has no query ('?' in a name is %%3F)", u->scheme);
	return set(&u->query, query, len);
}

static int
parse_url(const char *store, size_t scheme, struct url *u)
{
	int r = split_scheme(store, scheme, u);
	if (r < 0)
		return r;
	const char *place = store + scheme + 1;
	size_t len = strcspn(place, "?#");
	const char *fragment = strchrnul(place, '#');
	size_t query = place[len] == '?' ? (size_t)(fragment - place) - len - 1 : 0;
	r = parse_place(place, len, u);
	if (r == 0)
		r = parse_query(place + len + (place[len] == '?'), query, u);
	if (r == 0)
		r = fragment_parse(fragment + (*fragment == '#'), u);
	if (r < 0)
		return r;
	for (const char *c = store; *c; c++)
		if (iscntrl((unsigned char)*c))
			return err_set(-EINVAL, "control character in the URL");
	if (asprintf(&u->shown, "%.*s%s", (int)(scheme + 1 + len), store, fragment) < 0) {
		u->shown = NULL;
		return no_memory();
	}
	return 0;
}

static bool
is_s3_host(const char *host)
{
	CLEAN(clean_free) char *name = strndup(host, strcspn(host, ":"));
	return name && (ends_in(name, ".amazonaws.com") || ends_in(name, ".amazonaws.com.cn") ||
			       !strcasecmp(name, "storage.googleapis.com") ||
			       ends_in(name, ".storage.googleapis.com"));
}

/* The name decides where nothing else can: a directory may be called x.zip, and a zip file
 * era5.zarr. */
static bool
is_zip(const struct url *u)
{
	bool file = !*u->scheme || !strcmp(u->scheme, "file");
	struct stat st;
	if (u->mode & URL_ZIP)
		return true;
	if (u->mode & URL_FILE || !strcmp(u->scheme, "mem"))
		return false;
	if (file && stat(u->path, &st) == 0)
		return S_ISREG(st.st_mode);
	return ends_in(u->path, ".zip") || ends_in(u->path, ".ozx");
}

/* Does a file begin as references in JSON do, plain, gzip or zstd? No archive does. */
static bool
begins_as_references(const char *path)
{
	unsigned char head[64];
	FILE *f = fopen(path, "rbe");
	size_t n = f ? fread(head, 1, sizeof head, f) : 0, i = 0;
	if (f)
		fclose(f);
	if ((n >= 2 && !memcmp(head, "\x1f\x8b", 2)) ||
		(n >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4)))
		return true;
	i = n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (i < n && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	return i < n && head[i] == '{';
}

/* A file of references, which of local ones what they begin with says, of others the name. */
static bool
is_references(const struct url *u)
{
	static const char *const names[] = {".json", ".json.gz", ".json.zst", ".json.zstd", NULL};
	bool file = !*u->scheme || !strcmp(u->scheme, "file"), named = false;
	struct stat st;
	if (u->mode & (URL_ZIP | URL_FILE) || !strcmp(u->scheme, "mem"))
		return false;
	if (file)
		return stat(u->path, &st) == 0 && S_ISREG(st.st_mode) &&
		       (u->mode & URL_KERCHUNK || begins_as_references(u->path));
	if (u->mode & URL_KERCHUNK)
		return !ends_in(u->path, ".parq") && !ends_in(u->path, ".parquet");
	for (const char *const *n = names; *n && !named; n++)
		named = ends_in(u->path, *n);
	return named;
}

static int
contradiction(const char *mode, const struct url *u)
{
	return err_set(-EINVAL, "mode '%s' contradicts '%s:' of the URL", mode, u->scheme);
}

static int
check_mode(const struct url *u)
{
	bool s3 = is(u->scheme, s3_schemes), http = is(u->scheme, http_schemes);
	if (u->mode & URL_FILE && (s3 || http))
		return contradiction("file", u);
	if (u->mode & (URL_S3 | URL_GS3) && !s3 && !http)
		return contradiction(u->mode & URL_S3 ? "s3" : "gs3", u);
	if (u->mode & URL_GS3 && !strcmp(u->scheme, "s3"))
		return contradiction("gs3", u);
	if (u->mode & URL_ZIP && !strcmp(u->scheme, "mem"))
		return contradiction("zip", u);
	return 0;
}

/* The backend that the bytes come from, whatever is made of them. */
static const char *
bytes_backend(const struct url *u)
{
	if (is(u->scheme, s3_schemes))
		return "s3";
	if (is(u->scheme, http_schemes))
		return u->mode & (URL_S3 | URL_GS3) || is_s3_host(u->host) ? "s3" : "http";
	return !strcmp(u->scheme, "mem") ? "mem" : "dir";
}

static int
choose_backend(struct url *u)
{
	bool references = is_references(u), zip = !references && is_zip(u);
	const char *backend = bytes_backend(u);
	const char *below = zip || references ? backend : "";
	const char *over = zip ? "zip" : references ? "kerchunk_file" : backend;
	int r = set(&u->below, below, strlen(below));
	return r < 0 ? r : set(&u->backend, over, strlen(over));
}

int
url_parse(const char *store, struct url *ret)
{
	struct url u = {0};
	if (!*store)
		return err_set(-EINVAL, "no store is named");
	size_t scheme = scheme_length(store);
	int r = scheme ? parse_url(store, scheme, &u) : parse_plain(store, &u);
	if (r == 0 && !u.query)
		r = set(&u.query, "", 0);
	if (r == 0)
		r = check_mode(&u);
	if (r == 0)
		r = choose_backend(&u);
	if (r < 0)
		url_free(&u);
	else
		*ret = u;
	return r;
}

int
url_beside(const struct url *u, const char *what, struct url *ret, char **ret_parent,
	const char **ret_name)
{
	const char *slash = strrchr(u->path, '/'), *name = slash ? slash + 1 : u->path;
	bool local = !strcmp(u->below, "dir");
	if (!*name)
		return err_set(-EINVAL, "the URL names no %s", what);
	size_t len = slash ? (size_t)(slash - u->path) : 0;
	char *parent = len || !local ? strndup(u->path, len) : strdup("/");
	if (!parent)
		return err_set(-ENOMEM, "no memory for a path");
	*ret = *u;
	ret->wrappers = NULL;
	ret->backend = u->below;
	ret->below = NULL;
	ret->path = parent;
	ret->shown = local ? parent : u->shown;
	*ret_parent = parent;
	*ret_name = name;
	return 0;
}

char *
url_name(const struct url *u)
{
	CLEAN(clean_free) char *path = strdup(u->path ? u->path : "");
	if (!path)
		return NULL;
	size_t len = strlen(path);
	while (len && path[len - 1] == '/')
		path[--len] = 0;
	const char *name = path_name(path);
	if (!strcmp(name, ".") || !strcmp(name, "..")) {
		char *real = realpath(u->path, NULL);
		char *last = real ? strdup(strrchr(real, '/') + 1) : NULL;
		free(real);
		if (last && *last)
			return last;
		free(last);
	} else if (*name && strlen(name) <= NAME_MAX) {
		return strdup(name);
	} else if (u->host && *u->host && strlen(u->host) <= NAME_MAX) {
		return strdup(u->host);
	}
	return strdup("array");
}

void
url_free(struct url *u)
{
	for (size_t i = 0; i < u->npairs; i++) {
		free(u->pair[i].key);
		free(u->pair[i].value);
	}
	free(u->pair);
	free(u->wrappers);
	free(u->backend);
	free(u->below);
	free(u->scheme);
	free(u->host);
	free(u->path);
	free(u->query);
	free(u->shown);
	*u = (struct url){0};
}

const char *
url_get(const struct url *u, const char *key)
{
	for (size_t i = 0; i < u->npairs; i++)
		if (!strcmp(u->pair[i].key, key))
			return u->pair[i].value;
	return NULL;
}
