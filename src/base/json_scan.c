#include "base/json.h"

#include "base/err.h"
#include "base/json_lex.h"

#include <errno.h>
#include <string.h>

/* One "key": value, and the lexer behind it. */
static int
member(struct lexer *l, struct json_slice *ret)
{
	struct lexeme key;
	int r = lex_key(l, &key);
	if (r == 0)
		r = lex_expect(l, ':');
	if (r < 0)
		return r;
	lex_peek(l);
	const char *value = l->at;
	r = lex_skip(l);
	if (r == 0)
		*ret = (struct json_slice){
			.key = key.text,
			.key_len = key.len,
			.has_escapes = key.has_escapes,
			.value = value,
			.value_len = (size_t)(l->at - value),
		};
	return r;
}

static int
scan_dict(struct lexer *l, json_member_fn *fn, void *arg)
{
	int r = lex_accept(l, '{') ? 0 : lex_unexpected(l, "a dict");
	if (r < 0 || lex_accept(l, '}'))
		return r;
	do {
		struct json_slice m;
		r = member(l, &m);
		if (r == 0)
			r = fn(&m, arg);
		if (r)
			return r;
	} while (lex_accept(l, ','));
	return lex_expect(l, '}');
}

struct json_finder {
	const char *name; /* one part of a path */
	size_t len;
	struct json_slice found; /* the last of that name */
};

static int
find(const struct json_slice *m, void *arg)
{
	struct json_finder *f = arg;
	if (!m->has_escapes) {
		if (m->key_len == f->len && !memcmp(m->key, f->name, f->len))
			f->found = *m;
		return 0;
	}
	CLEAN(clean_free) char *key = json_slice_key(m);
	if (!key)
		return err_set(-ENOMEM, "no memory for a key");
	if (strlen(key) == f->len && !memcmp(key, f->name, f->len))
		f->found = *m;
	return 0;
}

/* Moves the lexer to the value that the first part of path names in the dict which is next. *last:
 * the text ends with that dict. */
static int
descend(struct lexer *l, const char **path, bool last)
{
	struct json_finder f = {.name = *path, .len = strcspn(*path, "/")};
	int r = scan_dict(l, find, &f);
	if (r == 0 && last && lex_peek(l) >= 0)
		r = lex_unexpected(l, "the end of the text");
	if (r < 0)
		return r;
	if (!f.found.value || (f.found.value_len == 4 && !memcmp(f.found.value, "null", 4)))
		return err_set(-ENOENT, "no '%.*s' in it", (int)f.len, f.name);
	l->at = f.found.value;
	*path += f.len + (f.name[f.len] == '/');
	return 0;
}

int
json_scan(const char *text, size_t len, const char *path, json_member_fn *fn, void *arg)
{
	struct lexer l = lex_open(text, len);
	bool outermost = true;
	while (path && *path) {
		int r = descend(&l, &path, outermost);
		if (r < 0)
			return r;
		outermost = false;
	}
	int r = scan_dict(&l, fn, arg);
	if (r == 0 && outermost && lex_peek(&l) >= 0)
		return lex_unexpected(&l, "the end of the text");
	return r;
}

char *
json_slice_key(const struct json_slice *s)
{
	CLEAN(buf_free) struct buf key = {0};
	if (lex_unescape_key((struct lexeme){s->key, s->key_len, s->has_escapes}, &key) < 0)
		return NULL;
	return strndup(key.len ? (char *)key.data : "", key.len);
}
