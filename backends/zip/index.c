#include "backends/zip/index.h"

#include "base/err.h"
#include "store/zmap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- in order --- */

static int
by_key(const void *x, const void *y)
{
	const struct zip_member *a = x, *b = y;
	int order = strcmp(a->key, b->key);
	return order ? order : a->order < b->order ? -1 : 1;
}

/* Of members of one name the last is the one that counts: writers add a newer one behind. */
static void
sort_last_wins(struct zip_index *x)
{
	size_t kept = 0;
	qsort(x->member, x->count, sizeof *x->member, by_key);
	for (size_t i = 0; i < x->count; i++) {
		if (kept && !strcmp(x->member[i].key, x->member[kept - 1].key))
			kept--;
		x->member[kept++] = x->member[i];
	}
	x->count = kept;
}

/* Index of the first key that is not below this one. */
size_t
zip_index_place(const struct zip_index *x, const char *key)
{
	size_t low = 0, high = x->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(x->member[mid].key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct zip_member *
zip_index_member(const struct zip_index *x, const char *key)
{
	size_t i = zip_index_place(x, key);
	return i < x->count && !strcmp(x->member[i].key, key) ? &x->member[i] : NULL;
}

/* The key as another program that shows archives may have given it to a user; NULL: it is none. */
static const char *
without_prefix(const struct zip_index *x, const char *key)
{
	size_t n = strlen(x->prefix);
	return n && !strncmp(key, x->prefix, n) ? key + n : NULL;
}

const struct zip_member *
zip_index_find(const struct zip_index *x, const char *key)
{
	const struct zip_member *m = zip_index_member(x, key);
	const char *other = m ? NULL : without_prefix(x, key);
	return other ? zip_index_member(x, other) : m;
}

/* --- the common prefix --- */

/* How much of the first and the last key, so of all, is the same; up to a '/'. */
static size_t
common(const struct zip_index *x)
{
	const char *a = x->member[0].key, *b = x->member[x->count - 1].key;
	size_t same = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			same = i + 1;
	return same;
}

static bool
has(const struct zip_index *x, const char *prefix, size_t len, const char *name)
{
	CLEAN(clean_free) char *key = NULL;
	return asprintf(&key, "%.*s%s", (int)len, prefix, name) >= 0 && zip_index_member(x, key);
}

static bool
has_metadata(const struct zip_index *x, const char *prefix, size_t len)
{
	static const char *const names[] = {
		".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczarr", ".nczgroup", "zarr.json"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (has(x, prefix, len, names[i]))
			return true;
	return false;
}

/* V3 says "group" only inside of zarr.json, but a group that is worth the name has others below
 * it. */
static bool
is_array(const struct zip_index *x, const char *prefix, size_t len)
{
	static const char v3[] = "/zarr.json";
	if (has(x, prefix, len, ".zarray"))
		return true;
	if (!has(x, prefix, len, v3 + 1))
		return false;
	for (size_t i = 0; i < x->count; i++) {
		const char *key = x->member[i].key;
		size_t n = strlen(key);
		if (n >= len + sizeof v3 && !strcmp(key + n - sizeof v3 + 1, v3))
			return false;
	}
	return true;
}

static int
take_prefix(struct zip_index *x, const char *prefix, size_t len)
{
	x->prefix = strndup(prefix, len);
	if (!x->prefix)
		return err_set(-ENOMEM, "no memory for a name");
	size_t kept = 0;
	for (size_t i = 0; i < x->count; i++) {
		struct zip_member m = x->member[i];
		bool below = !strncmp(m.key, x->prefix, len);
		m.key += below ? len : 0;
		if (below && *m.key) /* else the prefix's own entry */
			x->member[kept++] = m;
	}
	x->count = kept;
	return 0;
}

/* The store begins where the first group's metadata are, down the directories that all keys have in
 * common; netcdf-c puts one before all keys. A lone array keeps its name. */
static int
strip_prefix(struct zip_index *x)
{
	size_t most = x->count ? common(x) : 0, len = 0, above = 0;
	const char *first = x->count ? x->member[0].key : "";
	while (len < most && !has_metadata(x, first, len)) {
		above = len;
		len += (size_t)(strchr(first + len, '/') - (first + len)) + 1;
	}
	if (len && is_array(x, first, len))
		len = above;
	return take_prefix(x, first, len);
}

struct zip_index *
zip_index_free(struct zip_index *x)
{
	if (!x)
		return NULL;
	free(x->member);
	free(x->names);
	free(x->prefix);
	free(x);
	return NULL;
}

int
zip_index_order(struct zip_index *x, const char *prefix)
{
	sort_last_wins(x);
	int r = prefix ? take_prefix(x, prefix, strlen(prefix)) : strip_prefix(x);
	void *less = r == 0 ? realloc(x->member, (x->count + 1) * sizeof *x->member) : NULL;
	x->member = less ? less : x->member;
	return r;
}

/* --- one level --- */

/* The first key behind all that begin with those len bytes, which end in '/'. */
static size_t
behind(const struct zip_index *x, const char *key, size_t len)
{
	CLEAN(clean_free) char *next = strndup(key, len);
	if (!next)
		return SIZE_MAX;
	next[len - 1] = '/' + 1;
	return zip_index_place(x, next);
}

static int
list(const struct zip_index *x, const char *prefix, zip_name_fn *fn, void *arg)
{
	size_t n = strlen(prefix), i = zip_index_place(x, prefix), first = i;
	while (i < x->count && !strncmp(x->member[i].key, prefix, n)) {
		const char *key = x->member[i].key, *name = key + n, *slash = strchr(name, '/');
		if (!*name) { /* the directory's own entry */
			i++;
			continue;
		}
		CLEAN(clean_free)
		char *copy = slash ? strndup(name, (size_t)(slash - name)) : strdup(name);
		i = slash ? behind(x, key, (size_t)(slash - key) + 1) : i + 1;
		if (!copy || i == SIZE_MAX)
			return err_set(-ENOMEM, "no memory for a name");
		int r = fn(arg, copy, slash);
		if (r)
			return r;
	}
	return i == first && n ? ZMAP_ABSENT : 0;
}

int
zip_index_list(const struct zip_index *x, const char *prefix, zip_name_fn *fn, void *arg)
{
	int r = list(x, prefix, fn, arg);
	const char *other = r == ZMAP_ABSENT ? without_prefix(x, prefix) : NULL;
	return other ? list(x, other, fn, arg) : r;
}
