#include "backends/kerchunk/table.h"

#include "base/check.h"
#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

/* Of a key: it is loose. Of a URL's place: it is no URL but the reason why there is none. */
#define MARK (UINT32_C(1) << 31)
#define NO_URL UINT32_MAX        /* the bytes are in `bytes` */
#define NOTHING (UINT32_MAX - 1) /* there is no reference */

enum { FIRST_SLOTS = 64 };

struct table_entry {
	uint32_t key, url; /* place in keys, with MARK; which of urls */
	uint64_t off, len; /* len WHOLE: all of it */
};

#define WHOLE UINT64_MAX

struct kerchunk_table {
	size_t most;
	struct table_entry *entry;
	size_t count, room;
	struct buf keys, texts, bytes; /* keys and URLs with a NUL behind each */
	uint32_t *url;                 /* place in texts, with MARK */
	size_t nurls, url_room;
	uint32_t *slot; /* hash table of URLs: 1 + which; 0: free */
	size_t nslots;
};

struct kerchunk_table *
kerchunk_table_new(size_t most)
{
	struct kerchunk_table *t = calloc(1, sizeof *t);
	if (t)
		t->most = most;
	return t;
}

struct kerchunk_table *
kerchunk_table_free(struct kerchunk_table *t)
{
	if (!t)
		return NULL;
	buf_free(&t->keys);
	buf_free(&t->texts);
	buf_free(&t->bytes);
	free(t->entry);
	free(t->url);
	free(t->slot);
	free(t);
	return NULL;
}

size_t
kerchunk_table_bytes(const struct kerchunk_table *t)
{
	return t->room * sizeof *t->entry + t->keys.cap + t->texts.cap + t->bytes.cap +
	       t->url_room * sizeof *t->url + t->nslots * sizeof *t->slot + sizeof *t;
}

size_t
kerchunk_table_count(const struct kerchunk_table *t)
{
	return t->count;
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for references");
}

/* Bytes in use, and what is to come. */
static int
check_room(const struct kerchunk_table *t, size_t more)
{
	size_t used = t->count * sizeof *t->entry + t->keys.len + t->texts.len + t->bytes.len +
		      t->nurls * 3 * sizeof *t->url;
	if (more > t->most || used > t->most - more)
		return err_set(-EFBIG,
			"more references than %zu bytes hold (option memory says how much)",
			t->most);
	return 0;
}

int
kerchunk_table_expect(const struct kerchunk_table *t, uint64_t count)
{
	uint64_t bytes;
	return check_room(t, mul_over(count, sizeof *t->entry, &bytes) ? SIZE_MAX : bytes);
}

/* --- URLs, each once --- */

static uint64_t
hash_of(const char *s)
{
	return hash_end(hash_text(HASH_START, s));
}

static const char *
url_text(const struct kerchunk_table *t, uint32_t which)
{
	return (const char *)t->texts.data + (t->url[which] & ~MARK);
}

static bool
url_bad(const struct kerchunk_table *t, uint32_t which)
{
	return t->url[which] & MARK;
}

/* Where the URL is, or belongs. */
static uint32_t *
slot_of(const struct kerchunk_table *t, const char *url, bool bad)
{
	size_t i = hash_of(url) & (t->nslots - 1);
	for (; t->slot[i]; i = (i + 1) & (t->nslots - 1))
		if (url_bad(t, t->slot[i] - 1) == bad && !strcmp(url_text(t, t->slot[i] - 1), url))
			break;
	return &t->slot[i];
}

static int
grow_slots(struct kerchunk_table *t)
{
	size_t n = t->nslots ? t->nslots * 2 : FIRST_SLOTS;
	uint32_t *slot = calloc(n, sizeof *slot);
	if (!slot)
		return no_memory();
	free(t->slot);
	t->slot = slot;
	t->nslots = n;
	for (uint32_t i = 0; i < t->nurls; i++)
		*slot_of(t, url_text(t, i), url_bad(t, i)) = i + 1;
	return 0;
}

static int
grow_urls(struct kerchunk_table *t)
{
	if (t->nurls < t->url_room)
		return 0;
	size_t room = t->url_room ? t->url_room * 2 : FIRST_SLOTS;
	uint32_t *url = reallocarray(t->url, room, sizeof *url);
	if (!url)
		return no_memory();
	t->url = url;
	t->url_room = room;
	return 0;
}

/* A text with its NUL at the end of b; *ret: where it begins. */
static int
add_text(struct kerchunk_table *t, struct buf *b, const char *text, uint32_t *ret)
{
	size_t len = strlen(text) + 1, at = b->len;
	int r = check_room(t, len);
	if (r < 0)
		return r;
	if (at > MARK - 1 || len > MARK - at)
		return err_set(-EFBIG, "more than 2 GiB of names");
	if (buf_add(b, text, len) < 0)
		return no_memory();
	*ret = (uint32_t)at;
	return 0;
}

static int
intern(struct kerchunk_table *t, const char *url, bool bad, uint32_t *ret)
{
	int r = t->nurls * 2 >= t->nslots ? grow_slots(t) : 0;
	if (r < 0)
		return r;
	uint32_t *slot = slot_of(t, url, bad), at = 0;
	if (*slot) {
		*ret = *slot - 1;
		return 0;
	}
	if (t->nurls >= NOTHING - 1)
		return err_set(-EFBIG, "too many URLs");
	r = grow_urls(t);
	if (r == 0)
		r = add_text(t, &t->texts, url, &at);
	if (r < 0)
		return r;
	t->url[t->nurls] = at | (bad ? MARK : 0);
	*ret = (uint32_t)t->nurls;
	*slot = (uint32_t)++t->nurls;
	return 0;
}

/* From here on the URLs are not those by which they are found. */
int
kerchunk_table_rewrite(struct kerchunk_table *t, kerchunk_rewrite_fn *fn, void *arg)
{
	CLEAN(buf_free) struct buf b = {0};
	size_t n = t->nurls;
	for (size_t i = 0; i < n; i++) {
		uint32_t at = 0;
		if (url_bad(t, (uint32_t)i))
			continue;
		b.len = 0;
		int r = fn(arg, url_text(t, (uint32_t)i), &b);
		if (r == 1)
			continue;
		if (r < 0 && r != -EINVAL)
			return r;
		bool bad = r < 0;
		r = bad ? 0 : buf_terminate(&b);
		if (r == 0)
			r = add_text(t, &t->texts, bad ? err_text() : (const char *)b.data, &at);
		if (r < 0)
			return r;
		t->url[i] = at | (bad ? MARK : 0);
	}
	if (t->nslots)
		memset(t->slot, 0, t->nslots * sizeof *t->slot);
	for (uint32_t i = 0; i < t->nurls; i++)
		*slot_of(t, url_text(t, i), url_bad(t, i)) = i + 1;
	return 0;
}

/* --- filling --- */

static int
make_entry(struct kerchunk_table *t, const struct kerchunk_ref *ref, struct table_entry *e)
{
	e->off = ref->off;
	e->len = ref->kind == KERCHUNK_WHOLE ? WHOLE : ref->len;
	switch (ref->kind) {
	case KERCHUNK_NOTHING: e->url = NOTHING; return 0;
	case KERCHUNK_BAD: return intern(t, ref->why, true, &e->url);
	case KERCHUNK_RANGE:
	case KERCHUNK_WHOLE: return intern(t, ref->url, false, &e->url);
	case KERCHUNK_BYTES: break;
	}
	e->url = NO_URL;
	e->off = t->bytes.len;
	e->len = ref->bytes.len;
	int r = check_room(t, ref->bytes.len);
	if (r == 0 && buf_add(&t->bytes, ref->bytes.data, ref->bytes.len) < 0)
		return no_memory();
	return r;
}

static int
grow_entries(struct kerchunk_table *t)
{
	int r = check_room(t, sizeof *t->entry);
	if (r < 0 || t->count < t->room)
		return r;
	size_t room = t->room ? t->room + t->room / 2 : FIRST_SLOTS;
	struct table_entry *entry = reallocarray(t->entry, room, sizeof *entry);
	if (!entry)
		return no_memory();
	t->entry = entry;
	t->room = room;
	return 0;
}

int
kerchunk_table_add(
	struct kerchunk_table *t, const char *key, const struct kerchunk_ref *ref, bool loose)
{
	struct table_entry e = {0};
	int r = grow_entries(t);
	if (r == 0)
		r = make_entry(t, ref, &e);
	if (r == 0 && key)
		r = add_text(t, &t->keys, key, &e.key);
	if (r < 0)
		return r;
	e.key |= loose ? MARK : 0;
	t->entry[t->count++] = e;
	return 0;
}

/* Has row i a URL? */
static bool
has_url(const struct kerchunk_table *t, uint64_t i)
{
	uint32_t url = t->entry[i].url;
	return url != NO_URL && url != NOTHING && !url_bad(t, url);
}

void
kerchunk_table_set_offset(struct kerchunk_table *t, uint64_t i, uint64_t off)
{
	if (has_url(t, i))
		t->entry[i].off = off;
}

void
kerchunk_table_set_length(struct kerchunk_table *t, uint64_t i, uint64_t len)
{
	if (has_url(t, i))
		t->entry[i].len = len ? len : WHOLE;
}

int
kerchunk_table_set(struct kerchunk_table *t, uint64_t i, const struct kerchunk_ref *ref)
{
	return make_entry(t, ref, &t->entry[i]);
}

int
kerchunk_table_spoil(struct kerchunk_table *t, uint64_t i, const char *why)
{
	return has_url(t, i) ? intern(t, why, true, &t->entry[i].url) : 0;
}

void
kerchunk_table_drop_loose(struct kerchunk_table *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->count; i++)
		if (!(t->entry[i].key & MARK))
			t->entry[kept++] = t->entry[i];
	t->count = kept;
}

static const char *
key_of(const struct kerchunk_table *t, const struct table_entry *e)
{
	return (const char *)t->keys.data + (e->key & ~MARK);
}

bool
kerchunk_table_any(const struct kerchunk_table *t, bool (*is)(const char *name))
{
	for (size_t i = 0; i < t->count; i++) {
		const char *key = key_of(t, &t->entry[i]), *slash = strrchr(key, '/');
		if (is(slash ? slash + 1 : key))
			return true;
	}
	return false;
}

/* By key; of the same key the later one first. */
static int
compare(const void *a, const void *b, void *arg)
{
	const struct table_entry *x = a, *y = b;
	const struct kerchunk_table *t = arg;
	int c = strcmp(key_of(t, x), key_of(t, y));
	uint32_t i = x->key & ~MARK, j = y->key & ~MARK;
	return c ? c : (i < j) - (i > j);
}

static bool
in_order(struct kerchunk_table *t)
{
	for (size_t i = 1; i < t->count; i++)
		if (compare(&t->entry[i - 1], &t->entry[i], t) >= 0)
			return false;
	return true;
}

void
kerchunk_table_close(struct kerchunk_table *t)
{
	size_t kept = 0;
	if (!in_order(t))
		qsort_r(t->entry, t->count, sizeof *t->entry, compare, t);
	for (size_t i = 0; i < t->count; i++)
		if (!kept || strcmp(key_of(t, &t->entry[kept - 1]), key_of(t, &t->entry[i])))
			t->entry[kept++] = t->entry[i];
	t->count = kept;
	struct table_entry *less = kept ? reallocarray(t->entry, kept, sizeof *less) : NULL;
	if (less) {
		t->entry = less;
		t->room = kept;
	}
	free(t->slot);
	t->slot = NULL;
	t->nslots = 0;
}

/* --- asking --- */

static int
say(const struct kerchunk_table *t, const struct table_entry *e, struct kerchunk_ref *ret)
{
	*ret = (struct kerchunk_ref){.off = e->off, .len = e->len};
	if (e->url == NOTHING)
		return ZMAP_ABSENT;
	if (e->url == NO_URL) {
		ret->kind = KERCHUNK_BYTES;
		ret->bytes.data = e->len ? t->bytes.data + e->off : (const uint8_t *)"";
		ret->bytes.len = (size_t)e->len;
		return 0;
	}
	if (url_bad(t, e->url)) {
		ret->kind = KERCHUNK_BAD;
		ret->why = url_text(t, e->url);
		return 0;
	}
	ret->kind = e->len == WHOLE ? KERCHUNK_WHOLE : KERCHUNK_RANGE;
	ret->url = url_text(t, e->url);
	return 0;
}

/* The first entry whose key is not below this one. */
static size_t
lower_bound(const struct kerchunk_table *t, const char *key)
{
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(key_of(t, &t->entry[middle]), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int
kerchunk_table_find(const struct kerchunk_table *t, const char *key, struct kerchunk_ref *ret)
{
	size_t i = lower_bound(t, key);
	if (i == t->count || strcmp(key_of(t, &t->entry[i]), key))
		return ZMAP_ABSENT;
	return say(t, &t->entry[i], ret);
}

int
kerchunk_table_row(const struct kerchunk_table *t, uint64_t i, struct kerchunk_ref *ret)
{
	return i < t->count ? say(t, &t->entry[i], ret) : ZMAP_ABSENT;
}

/* One name below the prefix, which entry i begins with; *ret_next: the first entry behind all of
 * it. */
static int
list_one(const struct kerchunk_table *t, size_t i, size_t skip, zmap_list_fn *fn, void *arg,
	size_t *ret_next)
{
	const char *key = key_of(t, &t->entry[i]), *slash = strchr(key + skip, '/');
	*ret_next = i + 1;
	if (!slash)
		return fn(arg, key + skip, false, NULL);
	CLEAN(clean_free) char *past = strndup(key, (size_t)(slash - key) + 1);
	if (!past)
		return no_memory();
	past[slash - key] = '/' + 1;
	*ret_next = lower_bound(t, past);
	past[slash - key] = 0;
	return fn(arg, past + skip, true, NULL);
}

int
kerchunk_table_list(const struct kerchunk_table *t, const char *prefix, zmap_list_fn *fn, void *arg)
{
	size_t skip = strlen(prefix), i = lower_bound(t, prefix), begin = i;
	while (i < t->count && !strncmp(key_of(t, &t->entry[i]), prefix, skip)) {
		int r = list_one(t, i, skip, fn, arg, &i);
		if (r)
			return r;
	}
	return i == begin ? ZMAP_ABSENT : 0;
}
