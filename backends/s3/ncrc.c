#include "backends/s3/ncrc.h"

#include "backends/net/userfile.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct ncrc_line {
	const char *at;
	size_t len;
};

static void
trim(struct ncrc_line *l)
{
	while (l->len && (*l->at == ' ' || *l->at == '\t')) {
		l->at++;
		l->len--;
	}
	while (l->len && strchr(" \t\r", l->at[l->len - 1]))
		l->len--;
}

static bool
begins(struct ncrc_line l, const char *with)
{
	size_t n = strlen(with);
	return l.len >= n && !strncasecmp(l.at, with, n);
}

/* Takes "[place]" off the line. Does it fit the store? A place without a host fits every one. */
static bool
fits(struct ncrc_line *l, const struct ncrc_want *w, size_t *ret)
{
	*ret = 0;
	if (!l->len || *l->at != '[')
		return true;
	const char *end = memchr(l->at, ']', l->len);
	if (!end)
		return false;
	struct ncrc_line place = {l->at + 1, (size_t)(end - l->at) - 1};
	l->len -= (size_t)(end + 1 - l->at);
	l->at = end + 1;
	const char *colon = memmem(place.at, place.len, "://", 3);
	if (colon) {
		place.len -= (size_t)(colon + 3 - place.at);
		place.at = colon + 3;
	}
	*ret = place.len;
	size_t host = strlen(w->host);
	if (!begins(place, w->host) || (place.len > host && place.at[host] != '/'))
		return false;
	place.at += host;
	place.len -= host;
	while (place.len && place.at[place.len - 1] == '/')
		place.len--;
	size_t path = strlen(w->path);
	return place.len <= path && !strncmp(place.at, w->path, place.len) &&
	       (place.len == path || w->path[place.len] == '/' || !place.len);
}

char *
ncrc_find(const char *text, size_t len, const struct ncrc_want *w, size_t *ret_place)
{
	struct ncrc_line best = {NULL, 0};
	size_t key = strlen(w->key), longest = 0, place;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		struct ncrc_line l = {text + at, end ? (size_t)(end - text) - at : len - at};
		at += l.len + 1;
		trim(&l);
		if (!l.len || *l.at == '#' || !fits(&l, w, &place) || place < longest)
			continue;
		trim(&l);
		const char *equals = l.len ? memchr(l.at, '=', l.len) : NULL;
		if (!equals)
			continue;
		struct ncrc_line name = {l.at, (size_t)(equals - l.at)},
				 value = {equals + 1, l.len - (size_t)(equals - l.at) - 1};
		trim(&name);
		trim(&value);
		if (name.len != key || strncasecmp(name.at, w->key, key))
			continue;
		best = value;
		longest = place;
	}
	*ret_place = longest;
	return best.at ? strndup(best.at, best.len) : NULL;
}

/* Takes over what the file says, unless something more particular was said before. */
static void
look_in(const char *path, const struct ncrc_want *w, char **found, size_t *longest)
{
	CLEAN(buf_free) struct buf text = {0};
	size_t place;
	if (userfile_read(path, &text) != 0 || !text.len)
		return;
	char *value = ncrc_find((char *)text.data, text.len, w, &place);
	if (!value || (*found && place < *longest)) {
		free(value);
		return;
	}
	free(*found);
	*found = value;
	*longest = place;
}

char *
ncrc_get(const struct ncrc_want *w)
{
	static const char *const names[] = {".ncrc", ".daprc", ".dodsrc"};
	const char *only = getenv("NCRCENV_RC");
	char *found = NULL;
	size_t longest = 0;
	if (getenv("NCRCENV_IGNORE"))
		return NULL;
	if (only && *only) {
		look_in(only, w, &found, &longest);
		return found;
	}
	for (int i = 0; i < 6; i++) {
		CLEAN(clean_free)
		char *home = i < 3 ? userfile_at_home("NCRCENV_HOME", names[i % 3]) : NULL;
		if (i >= 3 || home)
			look_in(home ? home : names[i % 3], w, &found, &longest);
	}
	return found;
}
