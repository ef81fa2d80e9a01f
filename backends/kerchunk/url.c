#include "backends/kerchunk/url.h"

#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { SHOWN = 300 };

/* Length of the scheme, if one and "://" stand first; else 0. */
static size_t
scheme_length(const char *url)
{
	size_t n = 0;
	while (isalnum((unsigned char)url[n]) || (n && url[n] && strchr("+-.", url[n])))
		n++;
	return isalpha((unsigned char)*url) && !strncmp(url + n, "://", 3) ? n : 0;
}

/* Adds the parts of a path, ".." undone, never above what was there at `floor`. False: they would
 * lead there. */
static bool
add_path(struct buf *b, size_t floor, const char *path)
{
	bool inside = true;
	while (*path) {
		size_t len = strcspn(path, "/");
		const char *next = path + len + (path[len] == '/');
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			inside &= b->len > floor;
			if (b->len > floor)
				b->len--; /* its '/' */
			while (b->len > floor && b->data[b->len - 1] != '/')
				b->len--;
		} else if (len && !(len == 1 && *path == '.')) {
			buf_add(b, path, len);
			buf_add(b, "/", 1);
		}
		path = next;
	}
	return inside;
}

/* The path without the '/' at its end, as a text. */
static char *
path_text(struct buf *b, size_t floor)
{
	if (b->len > floor)
		b->len--;
	return b->len || floor ? strndup((const char *)b->data, b->len) : strdup("");
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a URL");
}

static int
set_key(char *key, struct chunk_place *ret)
{
	if (!key)
		return no_memory();
	ret->kind = PLACE_KEY;
	ret->name = key;
	return 0;
}

/* Does the URL lie below the set's folder? What is left of it, or NULL. */
static const char *
within(const char *url, const struct kerchunk_base *base)
{
	size_t n = base->home ? strlen(base->home) : 0, len = strlen(base->set);
	bool fits = n && !strncmp(url, base->home, n) && url[n] == '/' &&
		    !strncmp(url + n + 1, base->set, len) && url[n + 1 + len];
	return fits ? url + n + 1 : NULL;
}

/* An absolute URL, of which `place` is what stands behind "SCHEME://". */
static int
absolute(const char *scheme, const char *place, bool encode, const struct kerchunk_base *base,
	struct chunk_place *ret)
{
	CLEAN(buf_free) struct buf b = {0};
	int r = buf_addf(&b, "%s://%s", scheme, place);
	if (r < 0)
		return no_memory();
	const char *key = within((const char *)b.data, base);
	if (key && zmap_check_key(key) == 0)
		return set_key(strdup(key), ret);
	b.len = 0;
	r = buf_addf(&b, "%s://", scheme);
	if (r == 0)
		r = encode ? place_encode(&b, place, strlen(place), "%?#")
			   : buf_add(&b, place, strlen(place));
	if (r == 0)
		r = buf_terminate(&b);
	ret->kind = PLACE_URL;
	ret->name = r == 0 ? strdup((const char *)b.data) : NULL;
	return ret->name ? 0 : no_memory();
}

static int
file(const char *path, const struct kerchunk_base *base, struct chunk_place *ret)
{
	CLEAN(buf_free) struct buf b = {0};
	buf_add(&b, "/", 1);
	add_path(&b, 1, path); /* as in the kernel, above "/" is "/" */
	CLEAN(clean_free) char *tidy = path_text(&b, 1);
	if (!tidy)
		return no_memory();
	if (!tidy[1])
		return err_set(-EIO, "'%.*s' is no file", SHOWN, path);
	return absolute("file", tidy, true, base, ret);
}

/* One that begins in the folder of its file. */
static int
relative(const char *url, const struct kerchunk_base *base, struct chunk_place *ret)
{
	CLEAN(buf_free) struct buf b = {0};
	size_t set = strlen(base->set);
	buf_add(&b, base->folder, strlen(base->folder));
	bool inside = add_path(&b, 0, url);
	CLEAN(clean_free) char *key = path_text(&b, 0);
	if (!key)
		return no_memory();
	if (inside && !strncmp(key, base->set, set) && key[set])
		return set_key(MOVE(key), ret);
	if (!base->home)
		return err_set(
			-EACCES, "'%.*s' leads out of the folder of the references", SHOWN, url);
	size_t n = scheme_length(base->home);
	CLEAN(clean_free) char *scheme = strndup(base->home, n);
	const char *host = base->home + n + 3, *path = strchrnul(host, '/');
	bool local = scheme && !strcmp(scheme, "file");
	b.len = 0;
	if (!local)
		buf_add(&b, host, (size_t)(path - host));
	buf_add(&b, "/", 1);
	size_t floor = b.len;
	add_path(&b, floor, path);
	add_path(&b, floor, base->folder);
	inside = add_path(&b, floor, url);
	CLEAN(clean_free) char *place = path_text(&b, floor);
	if (!place || !scheme)
		return no_memory();
	if (!inside && !local)
		return err_set(-EIO, "'%.*s' leads nowhere", SHOWN, url);
	return absolute(scheme, place, true, base, ret);
}

int
kerchunk_url(const char *url, const struct kerchunk_base *base, struct chunk_place *ret)
{
	static const struct {
		const char *said, *scheme;
		bool encode;
	} known[] = {{"s3", "s3", true}, {"s3a", "s3", true}, {"gs", "gs", true},
		{"gcs", "gs", true}, {"http", "http", false}, {"https", "https", false}};
	size_t n = scheme_length(url);
	if (!*url)
		return err_set(-EIO, "a reference with an empty URL");
	if (strstr(url, "::"))
		return err_set(
			-ENOTSUP, "'%.*s' is a chain of URLs, which is not read here", SHOWN, url);
	if (isalpha((unsigned char)url[0]) && url[1] == ':')
		return err_set(-ENOTSUP, "'%.*s' is a path of another system", SHOWN, url);
	if (!n)
		return *url == '/' ? file(url, base, ret) : relative(url, base, ret);
	if ((n == 4 && !strncasecmp(url, "file", n)) || (n == 5 && !strncasecmp(url, "local", n)))
		return url[n + 3] == '/' ? file(url + n + 3, base, ret)
					 : err_set(-EIO, "'%.*s' is on another host", SHOWN, url);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].said) == n && !strncasecmp(url, known[i].said, n))
			return absolute(known[i].scheme, url + n + 3, known[i].encode, base, ret);
	return err_set(-ENOTSUP, "'%.*s': URLs of that kind are not read here", SHOWN, url);
}
