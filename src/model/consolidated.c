#include "model/consolidated.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One object: where its key and its value lie. Keys that do not stand so in the text (with escapes;
 * those of a joint dialect, which are nodes' paths) are kept behind each other in `unescaped`. */
struct consolidated_entry {
	uint32_t key, key_len;
	uint32_t value, value_len;
	bool escaped; /* the key lies in `unescaped` */
	bool array;   /* the object of an array, in a joint dialect */
};

struct consolidated_index {
	atomic_uint refs;
	atomic_llong doubted; /* clock_now() */
	uint64_t id;
	int64_t mtime;
	const struct dialect *dialect;
	struct text *text;
	const char *data; /* in text */
	struct buf unescaped;
	struct consolidated_entry *entry; /* in the order of keys */
	size_t count, room;
	struct cf_index cf;
};

struct consolidated_index *
consolidated_ref(struct consolidated_index *c)
{
	if (c)
		atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

struct consolidated_index *
consolidated_unref(struct consolidated_index *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	text_unref(c->text);
	buf_free(&c->unescaped);
	free(c->entry);
	cf_index_free(&c->cf);
	free(c);
	return NULL;
}

uint64_t
consolidated_id(const struct consolidated_index *c)
{
	return c->id;
}

void
consolidated_doubt(struct consolidated_index *c, int64_t then)
{
	atomic_store_explicit(&c->doubted, then, memory_order_relaxed);
}

int64_t
consolidated_doubted(const struct consolidated_index *c)
{
	return atomic_load_explicit(&c->doubted, memory_order_relaxed);
}

const struct cf_index *
consolidated_cf(const struct consolidated_index *c)
{
	return &c->cf;
}

int64_t
consolidated_mtime(const struct consolidated_index *c)
{
	return c->mtime;
}

size_t
consolidated_bytes(const struct consolidated_index *c)
{
	return sizeof *c + c->text->bytes.cap + c->unescaped.cap + c->room * sizeof *c->entry +
	       cf_index_bytes(&c->cf);
}

struct consolidated_kind {
	bool metadata, kerchunk, other_version;
};

static int
look_at_kind(const struct json_slice *s, void *arg)
{
	struct consolidated_kind *k = arg;
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

/* A key that cannot be one in a store is left out: "a//b", "../x". */
static bool
is_key(const char *key, size_t len)
{
	CLEAN(clean_free) char *copy = memchr(key, 0, len) ? NULL : strndup(key, len);
	return copy && zmap_check_key(copy) == 0;
}

static int
keep_key(struct consolidated_index *c, const struct json_slice *s, struct consolidated_entry *e)
{
	CLEAN(clean_free) char *key = json_slice_key(s);
	if (!key)
		return err_set(-ENOMEM, "no memory for a key");
	if (c->unescaped.len > UINT32_MAX / 2)
		return err_set(-EFBIG, "the keys of consolidated metadata are too long");
	e->key = (uint32_t)c->unescaped.len;
	const struct dialect *d = c->dialect;
	int r = buf_addf(&c->unescaped, "%s%s%s", key, d->joint && *key ? "/" : "",
		d->joint ? meta_name[d->array][0] : "");
	e->key_len = (uint32_t)(c->unescaped.len - e->key);
	return r;
}

static int
find_type(const struct json_slice *s, void *arg)
{
	static const char name[] = "node_type", array[] = "\"array\"";
	if (s->key_len == sizeof name - 1 && !memcmp(s->key, name, s->key_len))
		*(bool *)arg =
			s->value_len == sizeof array - 1 && !memcmp(s->value, array, s->value_len);
	return 0;
}

static bool
is_array(const struct json_slice *s)
{
	bool array = false;
	json_scan(s->value, s->value_len, NULL, find_type, &array);
	return array;
}

static int
add_entry(const struct json_slice *s, void *arg)
{
	struct consolidated_index *c = arg;
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct consolidated_entry *more = realloc(c->entry, room * sizeof *more);
		if (!more)
			return err_set(-ENOMEM, "no memory for an index of metadata");
		c->entry = more;
		c->room = room;
	}
	struct consolidated_entry e = {
		.array = c->dialect->joint && is_array(s),
		.escaped = c->dialect->joint || s->has_escapes,
		.key = (uint32_t)(s->key - c->data),
		.key_len = (uint32_t)s->key_len,
		.value = (uint32_t)(s->value - c->data),
		.value_len = (uint32_t)s->value_len,
	};
	int r = e.escaped ? keep_key(c, s, &e) : 0;
	if (r < 0)
		return r;
	const char *key = e.escaped ? (const char *)c->unescaped.data + e.key : s->key;
	if (is_key(key, e.key_len))
		c->entry[c->count++] = e;
	return 0;
}

static const char *
key_of(const struct consolidated_index *c, const struct consolidated_entry *e)
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
	const struct consolidated_entry *a = x, *b = y;
	int order = compare(key_of(arg, a), a->key_len, key_of(arg, b), b->key_len);
	return order ? order : (a->value > b->value) - (a->value < b->value);
}

/* The key of an entry ends with the name of an object. The path of its node, or false. */
static bool
is_object(const struct consolidated_index *c, const struct consolidated_entry *e,
	enum meta_kind kind, struct span *ret)
{
	const char *key = key_of(c, e), *name = meta_name[kind][0];
	size_t len = strlen(name);
	if (e->key_len <= len || key[e->key_len - len - 1] != '/' ||
		memcmp(key + e->key_len - len, name, len) != 0)
		return false;
	*ret = (struct span){(const uint8_t *)key, e->key_len - len - 1};
	return true;
}

static int
find_attributes(const struct json_slice *s, void *arg)
{
	static const char name[] = "attributes";
	if (s->key_len == sizeof name - 1 && !memcmp(s->key, name, s->key_len))
		*(struct span *)arg = (struct span){(const uint8_t *)s->value, s->value_len};
	return 0;
}

/* The attributes of arrays: an entry's value, right behind that of what else there is of the array;
 * or within its only one. */
static bool
attributes_at(const struct consolidated_index *c, size_t i, struct span *ret_path, struct span *ret)
{
	const struct consolidated_entry *e = &c->entry[i];
	const struct dialect *d = c->dialect;
	struct span before;
	*ret = (struct span){(const uint8_t *)c->data + e->value, e->value_len};
	if (!d->joint)
		return i && is_object(c, e, d->attrs, ret_path) &&
		       is_object(c, e - 1, d->array, &before) && before.len == ret_path->len &&
		       !memcmp(before.data, ret_path->data, before.len);
	if (!e->array || !is_object(c, e, d->array, ret_path))
		return false;
	struct span found = {0};
	json_scan(c->data + e->value, e->value_len, NULL, find_attributes, &found);
	*ret = found;
	return found.len;
}

static int
index_cf(struct consolidated_index *c)
{
	int r = 0;
	for (size_t i = 0; i < c->count && r == 0; i++) {
		struct span path, attrs;
		if (attributes_at(c, i, &path, &attrs))
			r = cf_index_add(&c->cf, (const char *)path.data, path.len, attrs);
	}
	cf_index_built(&c->cf);
	return r;
}

/* An object of their own: is it one at all? 0, ZMAP_ABSENT, -EINVAL. */
static int
check_own(const struct meta *m)
{
	struct consolidated_kind k = {0};
	int r = json_scan(m->data, m->len, NULL, look_at_kind, &k);
	return r < 0 ? r : !k.metadata || k.kerchunk || k.other_version ? ZMAP_ABSENT : 0;
}

int
consolidated_open(
	const struct meta *m, const struct dialect *d, uint64_t id, struct consolidated_index **ret)
{
	if (m->len > UINT32_MAX)
		return err_set(-EFBIG, "consolidated metadata of %zu bytes", m->len);
	int r = d->joint ? 0 : check_own(m);
	if (r)
		return r;
	CLEAN(consolidated_unrefp) struct consolidated_index *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for consolidated metadata");
	atomic_init(&c->refs, 1);
	c->id = id;
	c->dialect = d;
	c->mtime = m->mtime;
	c->text = text_ref(m->owner);
	c->data = m->data;
	r = json_scan(m->data, m->len, d->members, add_entry, c);
	if (r == -ENOENT && d->joint)
		return ZMAP_ABSENT;
	if (r < 0)
		return r;
	if (c->count)
		qsort_r(c->entry, c->count, sizeof *c->entry, by_key, c);
	r = index_cf(c);
	if (r == 0)
		*ret = MOVE(c);
	return r;
}

/* The first entry whose key is not below `key`. */
static size_t
lower_bound(const struct consolidated_index *c, const char *key, size_t len)
{
	size_t low = 0, high = c->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct consolidated_entry *e = &c->entry[mid];
		if (compare(key_of(c, e), e->key_len, key, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool
starts_with(const struct consolidated_index *c, size_t i, const char *prefix, size_t len)
{
	if (i >= c->count)
		return false;
	const struct consolidated_entry *e = &c->entry[i];
	return e->key_len > len && !memcmp(key_of(c, e), prefix, len);
}

static bool
equals(const struct consolidated_index *c, size_t i, const char *key, size_t len)
{
	return i < c->count && c->entry[i].key_len == len &&
	       !memcmp(key_of(c, &c->entry[i]), key, len);
}

/* The last entry of that very key, or c->count. */
static size_t
find(const struct consolidated_index *c, const char *key, size_t len)
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
consolidated_has(const struct consolidated_index *c, const char *path)
{
	char key[KEY_MAX];
	size_t dir;
	return directory(path, key, &dir) && starts_with(c, lower_bound(c, key, dir), key, dir);
}

bool
consolidated_node(const struct consolidated_index *c, const char *path, struct metas *ret)
{
	const struct dialect *d = c->dialect;
	const enum meta_kind kinds[] = {d->array, d->group, d->attrs};
	char key[KEY_MAX];
	size_t dir;
	if (!directory(path, key, &dir) || !starts_with(c, lower_bound(c, key, dir), key, dir))
		return false;
	for (unsigned k = 0; k < (d->joint ? 1 : sizeof kinds / sizeof *kinds); k++) {
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

/* key: a path of len bytes, with room for a name behind it. */
static bool
array_at(const struct consolidated_index *c, char *key, size_t len)
{
	const char *name = meta_name[c->dialect->array][0];
	key[len] = '/';
	memcpy(key + len + 1, name, strlen(name));
	size_t i = find(c, key, len + 1 + strlen(name));
	return i != c->count && (!c->dialect->joint || c->entry[i].array);
}

int
consolidated_children(
	const struct consolidated_index *c, const char *path, consolidated_child_fn *fn, void *arg)
{
	char key[KEY_MAX];
	size_t dir;
	if (!directory(path, key, &dir))
		return 0;
	size_t i = lower_bound(c, key, dir);
	while (starts_with(c, i, key, dir)) {
		const struct consolidated_entry *e = &c->entry[i];
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
		bool array = array_at(c, key, dir + len);
		key[dir + len] = 0;
		int r = fn(arg, key + dir, array);
		if (r)
			return r;
		key[dir + len] = '/' + 1; /* behind all that starts with "name/" */
		i = lower_bound(c, key, dir + len + 1);
	}
	return 0;
}
