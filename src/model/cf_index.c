#include "model/cf_index.h"

#include "base/err.h"
#include "base/json.h"
#include "model/cf_ragged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than any dataset has; what a name takes is a few hundred bytes at the most. */
enum { COUNT_MAX = 1 << 16, NAME_BYTES_ABOUT = 150 };

/* An array that is named. */
struct cf_named {
	enum cf_role role;
	char path[];
};

/* An attribute of arrays in one directory: all that have the same one name the same. Borrowed from
 * the text. */
struct cf_value {
	struct span dir, name, text;
};

/* The array whose attributes are being looked at. */
struct adding {
	struct cf_index *to;
	const char *path;
	size_t len, dir; /* dir: bytes of the path that are its group's, with the '/' behind them */
};

static int
by_path(const void *a, const void *b)
{
	const struct cf_named *x = a, *y = b;
	return strcmp(x->path, y->path);
}

static int
compare(struct span a, struct span b)
{
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return a.len ? memcmp(a.data, b.data, a.len) : 0;
}

static int
by_value(const void *a, const void *b)
{
	const struct cf_value *x = a, *y = b;
	int c = compare(x->name, y->name);
	c = c ? c : compare(x->text, y->text);
	return c ? c : compare(x->dir, y->dir);
}

void
cf_index_built(struct cf_index *x)
{
	set_free(&x->values, free);
}

void
cf_index_free(struct cf_index *x)
{
	set_free(&x->names, free);
	set_free(&x->values, free);
	buf_free(&x->ragged);
	x->count = 0;
}

size_t
cf_index_bytes(const struct cf_index *x)
{
	return x->count * NAME_BYTES_ABOUT + x->ragged.cap;
}

/* False: it is full. */
static bool
count(struct cf_index *x)
{
	x->full |= x->count >= COUNT_MAX;
	x->count += !x->full;
	return !x->full;
}

static struct cf_named *
new_named(const char *dir, size_t len, const char *name)
{
	size_t more = strlen(name) + 1;
	struct cf_named *n = malloc(sizeof *n + len + more);
	if (!n)
		return NULL;
	n->role = CF_DATA;
	memcpy(n->path, dir, len);
	memcpy(n->path + len, name, more);
	return n;
}

static int
add_named(void *arg, const char *name, enum cf_role role)
{
	const struct adding *a = arg;
	CLEAN(clean_free) struct cf_named *n = new_named(a->path, a->dir, name);
	if (!n)
		return err_set(-ENOMEM, "no memory for a name");
	struct cf_named *found = set_find(&a->to->names, n, by_path);
	if (found) {
		if (found->role == CF_DATA || role == CF_BOUNDS)
			found->role = role;
		return 0;
	}
	if (!count(a->to))
		return 0;
	n->role = role;
	int r = set_add(&a->to->names, n, by_path);
	if (r < 0)
		return r;
	(void)MOVE(n);
	return 0;
}

/* The words of a text, or of a list of one. */
static int
add_words(struct adding *a, const char *attribute, struct span value)
{
	CLEAN(json_freep) struct json *j = NULL;
	int r = json_parse((const char *)value.data, value.len, &j);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	const struct json *v =
		json_type(j) == JSON_TYPE_LIST && json_count(j) == 1 ? json_at(j, 0) : j;
	size_t len;
	const char *text = json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	return text ? cf_words(attribute, text, add_named, a) : 0;
}

/* Was the same attribute seen in the same directory? 1, 0 or -ENOMEM. */
static int
seen(struct adding *a, struct span name, struct span text)
{
	const struct cf_value v = {{(const uint8_t *)a->path, a->dir}, name, text};
	if (set_find(&a->to->values, &v, by_value))
		return 1;
	if (!count(a->to))
		return 1;
	CLEAN(clean_free) struct cf_value *copy = malloc(sizeof *copy);
	if (!copy)
		return err_set(-ENOMEM, "no memory for an attribute");
	*copy = v;
	int r = set_add(&a->to->values, copy, by_value);
	if (r == 0)
		(void)MOVE(copy);
	return r;
}

static int
add_ragged(struct adding *a)
{
	struct buf *list = &a->to->ragged;
	if (!count(a->to))
		return 0;
	int r = buf_add(list, a->path, a->len);
	return r < 0 ? r : buf_add(list, "", 1);
}

static int
add_attribute(const struct json_slice *s, void *arg)
{
	struct adding *a = arg;
	char name[32];
	CLEAN(clean_free) char *unescaped = s->has_escapes ? json_slice_key(s) : NULL;
	if (s->has_escapes && !unescaped)
		return err_set(-ENOMEM, "no memory for a key");
	size_t len = unescaped ? strlen(unescaped) : s->key_len;
	if (len >= sizeof name)
		return 0;
	memcpy(name, unescaped ? unescaped : s->key, len);
	name[len] = 0;
	if (cf_ragged_mark(name))
		return add_ragged(a);
	if (strcmp(name, "grid_mapping_name") == 0) {
		struct adding self = {a->to, a->path, a->len, a->len};
		return add_named(&self, "", CF_GRID_MAPPING);
	}
	if (!cf_refers(name))
		return 0;
	const struct span key = {(const uint8_t *)s->key, s->key_len};
	const struct span text = {(const uint8_t *)s->value, s->value_len};
	int r = seen(a, key, text);
	return r ? (r < 0 ? r : 0) : add_words(a, name, text);
}

int
cf_index_add(struct cf_index *x, const char *path, size_t len, struct span attrs)
{
	struct adding a = {.to = x, .path = path, .len = len, .dir = len};
	while (a.dir && path[a.dir - 1] != '/')
		a.dir--;
	if (x->full)
		return 0;
	int r = json_scan((const char *)attrs.data, attrs.len, NULL, add_attribute, &a);
	return r == -ENOMEM ? r : 0;
}

int
cf_index_role(const struct cf_index *x, const char *path, enum cf_role *ret)
{
	CLEAN(clean_free) struct cf_named *key = new_named(path, 0, path);
	struct set names = x->names;
	if (!key)
		return err_set(-ENOMEM, "no memory for a name");
	const struct cf_named *found = set_find(&names, key, by_path);
	*ret = found ? found->role : CF_DATA;
	return 0;
}
