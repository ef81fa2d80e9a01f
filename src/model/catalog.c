#include "model/catalog.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One object: where its key and its value lie. Keys with escapes are kept unescaped behind each other in `unescaped`. */
struct entry {
	uint32_t key, key_len;
	uint32_t value, value_len;
	bool escaped;
};

struct catalog {
	atomic_uint refs;
	uint64_t id;
	int64_t mtime;
	struct text *text;
	const char *data; /* in text */
	struct buf unescaped;
	struct entry *entry; /* in the order of keys */
	size_t count, room;
};

struct catalog *
catalog_ref(struct catalog *c)
{
	if (c)
		atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

struct catalog *
catalog_unref(struct catalog *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	text_unref(c->text);
	buf_free(&c->unescaped);
	free(c->entry);
	free(c);
	return NULL;
}

uint64_t
catalog_id(const struct catalog *c)
{
	return c->id;
}

int64_t
catalog_mtime(const struct catalog *c)
{
	return c->mtime;
}

size_t
catalog_bytes(const struct catalog *c)
{
	return sizeof *c + c->text->bytes.cap + c->unescaped.cap + c->room * sizeof *c->entry;
}

struct kind {
	bool metadata, kerchunk, other_version;
};

static int
look_at_kind(const struct json_slice *s, void *arg)
{
	struct kind *k = arg;
	CLEAN(clean_free) char *key = json_slice_key(s);
	if (!key)
		return err_set(-ENOMEM, "no memory for a key");
	if (!strcmp(key, "metadata"))
		k->metadata = s->value_len && s->value[0] == '{';
	else if (!strcmp(key, "record_size"))
		k->kerchunk = true;
	else if (!strcmp(key, "zarr_consolidated_format"))
		k->other_version = s->value_len != 1 || s->value[0] != '1';
	return 0;
}

/* A key that cannot be one in a store is nobody's: "a//b", "../x". */
static bool
is_key(const char *key, size_t len)
{
	CLEAN(clean_free) char *copy = memchr(key, 0, len) ? NULL : strndup(key, len);
	return copy && zmap_check_key(copy) == 0;
}

static int
add_entry(const struct json_slice *s, void *arg)
{
	struct catalog *c = arg;
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct entry *more = realloc(c->entry, room * sizeof *more);
		if (!more)
			return err_set(-ENOMEM, "no memory for an index of metadata");
		c->entry = more;
		c->room = room;
	}
	struct entry e = {
		.key = (uint32_t)(s->key - c->data),
		.key_len = (uint32_t)s->key_len,
		.value = (uint32_t)(s->value - c->data),
		.value_len = (uint32_t)s->value_len,
		.escaped = s->has_escapes,
	};
	if (s->has_escapes) {
		CLEAN(clean_free) char *key = json_slice_key(s);
		if (!key)
			return err_set(-ENOMEM, "no memory for a key");
		e.key = (uint32_t)c->unescaped.len;
		e.key_len = (uint32_t)strlen(key);
		int r = buf_add(&c->unescaped, key, strlen(key));
		if (r < 0)
			return r;
	}
	const char *key = e.escaped ? (const char *)c->unescaped.data + e.key : s->key;
	if (is_key(key, e.key_len))
		c->entry[c->count++] = e;
	return 0;
}

static const char *
key_of(const struct catalog *c, const struct entry *e)
{
	return e->escaped ? (const char *)c->unescaped.data + e->key : c->data + e->key;
}

static int
compare(const char *a, size_t na, const char *b, size_t nb)
{
	int order = memcmp(a, b, na < nb ? na : nb);
	return order ? order : (na > nb) - (na < nb);
}

/* Of equal keys the one that stands later in the text comes later. */
static int
by_key(const void *x, const void *y, void *arg)
{
	const struct entry *a = x, *b = y;
	int order = compare(key_of(arg, a), a->key_len, key_of(arg, b), b->key_len);
	return order ? order : (a->value > b->value) - (a->value < b->value);
}

int
catalog_open(const struct meta *m, uint64_t id, struct catalog **ret)
{
	struct kind k = {0};
	if (m->len > UINT32_MAX)
		return err_set(-EFBIG, "consolidated metadata of %zu bytes", m->len);
	int r = json_scan(m->data, m->len, NULL, look_at_kind, &k);
	if (r < 0)
		return r;
	if (!k.metadata || k.kerchunk || k.other_version)
		return ZMAP_ABSENT;
	CLEAN(catalog_unrefp) struct catalog *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for consolidated metadata");
	atomic_init(&c->refs, 1);
	c->id = id;
	c->mtime = m->mtime;
	c->text = text_ref(m->owner);
	c->data = m->data;
	r = json_scan(m->data, m->len, "metadata", add_entry, c);
	if (r < 0)
		return r;
	if (c->count)
		qsort_r(c->entry, c->count, sizeof *c->entry, by_key, c);
	*ret = MOVE(c);
	return 0;
}

/* The first entry whose key is not below `key`. */
static size_t
lower_bound(const struct catalog *c, const char *key, size_t len)
{
	size_t low = 0, high = c->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct entry *e = &c->entry[mid];
		if (compare(key_of(c, e), e->key_len, key, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool
starts_with(const struct catalog *c, size_t i, const char *prefix, size_t len)
{
	if (i >= c->count)
		return false;
	const struct entry *e = &c->entry[i];
	return e->key_len > len && !memcmp(key_of(c, e), prefix, len);
}

static bool
equals(const struct catalog *c, size_t i, const char *key, size_t len)
{
	return i < c->count && c->entry[i].key_len == len &&
	       !memcmp(key_of(c, &c->entry[i]), key, len);
}

/* The last entry of that very key, or c->count. */
static size_t
find(const struct catalog *c, const char *key, size_t len)
{
	size_t i = lower_bound(c, key, len);
	if (!equals(c, i, key, len))
		return c->count;
	while (equals(c, i + 1, key, len))
		i++;
	return i;
}

enum { KEY_MAX = 4096 + 32 };

/* "path/" of a node; its length, or 0 for the group itself. False: too long to be one. */
static bool
directory(const char *path, char *key, size_t *ret_len)
{
	size_t len = strlen(path);
	if (len + 16 > KEY_MAX)
		return false;
	memcpy(key, path, len);
	if (len)
		key[len++] = '/';
	*ret_len = len;
	return true;
}

bool
catalog_has(const struct catalog *c, const char *path)
{
	char key[KEY_MAX];
	size_t dir;
	return directory(path, key, &dir) && starts_with(c, lower_bound(c, key, dir), key, dir);
}

bool
catalog_node(const struct catalog *c, const char *path, struct metas *ret)
{
	static const enum meta_kind kinds[] = {META_ARRAY, META_GROUP, META_ATTRS};
	char key[KEY_MAX];
	size_t dir;
	if (!directory(path, key, &dir) || !starts_with(c, lower_bound(c, key, dir), key, dir))
		return false;
	for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		const char *name = meta_name[kinds[k]][0];
		memcpy(key + dir, name, strlen(name));
		size_t i = find(c, key, dir + strlen(name));
		if (i == c->count)
			continue;
		struct meta *m = &ret->of[kinds[k]];
		m->owner = text_ref(c->text);
		m->data = c->data + c->entry[i].value;
		m->len = c->entry[i].value_len;
		m->mtime = c->mtime;
	}
	return true;
}

int
catalog_children(const struct catalog *c, const char *path, catalog_child_fn *fn, void *arg)
{
	char key[KEY_MAX];
	size_t dir;
	if (!directory(path, key, &dir))
		return 0;
	size_t i = lower_bound(c, key, dir);
	while (starts_with(c, i, key, dir)) {
		const struct entry *e = &c->entry[i];
		const char *name = key_of(c, e) + dir;
		const char *slash = memchr(name, '/', e->key_len - dir);
		if (!slash) { /* an object of the group itself */
			i++;
			continue;
		}
		size_t len = (size_t)(slash - name);
		if (dir + len + 16 > sizeof key)
			return 0;
		memcpy(key + dir, name, len);
		memcpy(key + dir + len, "/.zarray", sizeof "/.zarray");
		bool array = find(c, key, dir + len + strlen("/.zarray")) != c->count;
		key[dir + len] = 0;
		int r = fn(arg, key + dir, array);
		if (r)
			return r;
		key[dir + len] = '/' + 1; /* behind all that starts with "name/" */
		i = lower_bound(c, key, dir + len + 1);
	}
	return 0;
}
