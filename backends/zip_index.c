#include "backends/zip_index.h"

#include "base/check.h"
#include "base/err.h"
#include "store/zmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	END = 0x06054b50,
	END64 = 0x06064b50,
	LOCATOR64 = 0x07064b50,
	ENTRY = 0x02014b50,
	END_LEN = 22,
	END64_LEN = 56,
	LOCATOR64_LEN = 20,
	ENTRY_LEN = 46,
	EXTRA_ZIP64 = 1,
	FLAG_ENCRYPTED = 1,
};

static uint16_t
u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t
u32(const uint8_t *p)
{
	return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t
u64(const uint8_t *p)
{
	return u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* --- the end of the archive --- */

/* The last end record whose comment reaches exactly to the end of the archive; else the last that fits: something was added. */
static const uint8_t *
find_end_record(struct span tail)
{
	const uint8_t *fits = NULL;
	for (size_t at = tail.len < END_LEN ? 0 : tail.len - END_LEN + 1; at-- > 0;) {
		const uint8_t *p = tail.data + at;
		if (u32(p) != END)
			continue;
		size_t end = at + END_LEN + u16(p + 20);
		if (end == tail.len)
			return p;
		if (end < tail.len && !fits)
			fits = p;
	}
	return fits;
}

static int
several_disks(void)
{
	return err_set(-EIO, "a part of a zip archive that is split over several files");
}

/* Zip64's record, where there is one. base: where tail begins in the archive. */
static int
read_end64(struct span tail, size_t locator, uint64_t base, struct zip_end *e)
{
	const uint8_t *l = tail.data + locator;
	if (u32(l) != LOCATOR64)
		return 0;
	uint64_t at = u64(l + 8);
	/* said to lie elsewhere if something stands before the archive: then it is just before the locator */
	if (at < base || at - base > locator || locator - (at - base) < END64_LEN ||
		u32(tail.data + (at - base)) != END64) {
		if (locator < END64_LEN || u32(tail.data + locator - END64_LEN) != END64)
			return err_set(
				-EIO, "the zip64 record of its end is not where it should be");
		at = base + locator - END64_LEN;
	}
	const uint8_t *p = tail.data + (at - base);
	if (u32(l + 4) || u32(l + 16) > 1 || u32(p + 16) || u32(p + 20))
		return several_disks();
	*e = (struct zip_end){
		.directory = u64(p + 48), .length = u64(p + 40), .count = u64(p + 32), .at = at};
	return 0;
}

int
zip_find_end(struct span tail, uint64_t size, struct zip_end *ret)
{
	const uint8_t *p = find_end_record(tail);
	if (!p)
		return err_set(-EIO,
			"no zip archive, or one that was cut short: its end record is missing");
	size_t at = (size_t)(p - tail.data);
	uint64_t base = size - tail.len;
	struct zip_end e = {.directory = u32(p + 16),
		.length = u32(p + 12),
		.count = u16(p + 10),
		.at = base + at,
		.count_cut = true};
	bool cut = e.directory == UINT32_MAX || e.length == UINT32_MAX || e.count == UINT16_MAX;
	int r = at >= LOCATOR64_LEN ? read_end64(tail, at - LOCATOR64_LEN, base, &e) : 0;
	if (r < 0)
		return r;
	if (e.count_cut && !cut && (u16(p + 4) || u16(p + 6)))
		return several_disks();
	if (e.length > e.at || e.directory > e.at - e.length)
		return err_set(
			-EIO, "its directory is said to lie beyond its end: cut short or damaged");
	*ret = e;
	return 0;
}

/* --- the directory --- */

/* Sizes that do not fit into 32 bits stand in an extra field, in this order, those that are needed. */
static int
read_zip64(struct zip_member *m, const uint8_t *extra, size_t len)
{
	uint64_t *const want[] = {&m->size, &m->stored, &m->header};
	for (size_t at = 0, n; at + 4 <= len; at += 4 + n) {
		const uint8_t *p = extra + at + 4;
		n = u16(extra + at + 2);
		if (n > len - at - 4)
			break;
		if (u16(extra + at) != EXTRA_ZIP64)
			continue;
		size_t used = 0;
		for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
			if (*want[i] != UINT32_MAX)
				continue;
			if (n - used < 8)
				return err_set(-EIO, "the zip64 sizes of a member are cut short");
			*want[i] = u64(p + used);
			used += 8;
		}
		break;
	}
	return 0;
}

/* Names in an archive that no key can be are never looked up, so they need not be kept: absolute ones, "..", empty parts, NUL.
 * Also not what macOS's archiver adds beside the files. */
static bool
usable(char *name, size_t len)
{
	static const char junk[] = "__MACOSX/";
	bool dir = len && name[len - 1] == '/';
	if (!len || memchr(name, 0, len) || !strncmp(name, junk, sizeof junk - 1))
		return false;
	if (dir)
		name[len - 1] = 0;
	bool good = zmap_check_key(name) == 0;
	if (dir)
		name[len - 1] = '/';
	return good;
}

/* One entry. Returns its length, 0 where it goes beyond the end, or -EIO. Its name is put at `to`; key NULL: to be skipped. */
static int64_t
read_entry(struct span dir, size_t at, char *to, struct zip_member *ret)
{
	const uint8_t *p = dir.data + at;
	size_t left = dir.len - at;
	if (left < ENTRY_LEN || u32(p) != ENTRY)
		return 0;
	size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
	if (left - ENTRY_LEN < name + extra + comment)
		return 0;
	*ret = (struct zip_member){
		.key = to,
		.header = u32(p + 42),
		.stored = u32(p + 20),
		.size = u32(p + 24),
		.crc = u32(p + 16),
		.method = u16(p + 10),
		.name = (uint16_t)name,
		.encrypted = u16(p + 8) & FLAG_ENCRYPTED,
	};
	const char *from = (const char *)p + ENTRY_LEN;
	while (name > 2 && from[0] == '.' && from[1] == '/') { /* "./a" means "a" */
		from += 2;
		name -= 2;
	}
	memcpy(to, from, name);
	to[name] = 0;
	if (!usable(to, name))
		ret->key = NULL;
	int r = read_zip64(ret, p + ENTRY_LEN + ret->name, extra);
	return r < 0 ? r : (int64_t)(ENTRY_LEN + ret->name + extra + comment);
}

static int
place_member(struct zip_member *m, const struct zip_end *e, uint64_t shift)
{
	uint64_t end;
	if (add_over(m->header, shift, &m->header) || add_over(m->header, m->stored, &end) ||
		end > e->at)
		return err_set(-EIO, "member '%.200s' is said to lie beyond the archive's end",
			m->key ? m->key : "");
	return 0;
}

static int
read_entries(struct zip_index *x, struct span dir, const struct zip_end *e, uint64_t shift)
{
	uint64_t seen = 0;
	char *to = x->names;
	for (size_t at = 0; at < dir.len; seen++) {
		struct zip_member *m = &x->member[x->count];
		int64_t n = seen < e->count || e->count_cut ? read_entry(dir, at, to, m) : 0;
		if (n == 0 && seen == e->count)
			break; /* a signature of the directory, say */
		if (n == 0)
			return err_set(-EIO, "its directory is damaged at member %" PRIu64, seen);
		int r = n < 0 ? (int)n : place_member(m, e, shift);
		if (r < 0)
			return r;
		at += (size_t)n;
		m->order = (uint32_t)seen;
		if (m->key) {
			to += strlen(to) + 1;
			x->count++;
		} else {
			x->skipped++;
		}
	}
	x->names_len = (size_t)(to - x->names);
	if (seen != e->count && !(e->count_cut && seen % 65536 == e->count))
		return err_set(-EIO, "its directory has %" PRIu64 " members instead of %" PRIu64,
			seen, e->count);
	return 0;
}

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
static size_t
place_of(const struct zip_index *x, const char *key)
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

static const struct zip_member *
find(const struct zip_index *x, const char *key)
{
	size_t i = place_of(x, key);
	return i < x->count && !strcmp(x->member[i].key, key) ? &x->member[i] : NULL;
}

/* The key as somebody may say it who looked into the archive with another program; NULL: it is none. */
static const char *
without_prefix(const struct zip_index *x, const char *key)
{
	size_t n = strlen(x->prefix);
	return n && !strncmp(key, x->prefix, n) ? key + n : NULL;
}

const struct zip_member *
zip_index_find(const struct zip_index *x, const char *key)
{
	const struct zip_member *m = find(x, key);
	const char *other = m ? NULL : without_prefix(x, key);
	return other ? find(x, other) : m;
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
	return asprintf(&key, "%.*s%s", (int)len, prefix, name) >= 0 && find(x, key);
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

/* V3 says "group" only inside of zarr.json, but a group that is worth the name has others below it. */
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

/* The store begins where the first group's metadata are, down the directories that all keys have in common; netcdf-c puts one
 * before all keys. A lone array keeps its name. */
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
	x->prefix = strndup(first, len);
	if (!x->prefix)
		return err_set(-ENOMEM, "no memory for a name");
	size_t kept = 0;
	for (size_t i = 0; i < x->count; i++) {
		struct zip_member m = x->member[i];
		m.key += len;
		if (*m.key) /* else the prefix's own entry */
			x->member[kept++] = m;
	}
	x->count = kept;
	return 0;
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
zip_index_new(struct span dir, const struct zip_end *e, uint64_t shift, struct zip_index **ret)
{
	CLEAN(zip_index_freep) struct zip_index *x = calloc(1, sizeof *x);
	/* no more members than bytes of the directory could be, whatever was said */
	size_t most = dir.len / ENTRY_LEN + 1;
	if (x) {
		x->member = calloc(most, sizeof *x->member);
		x->names = malloc(dir.len + 1);
	}
	if (!x || !x->member || !x->names)
		return err_set(-ENOMEM, "no memory for the directory of %zu members", most);
	int r = read_entries(x, dir, e, shift);
	if (r < 0)
		return r;
	sort_last_wins(x);
	r = strip_prefix(x);
	if (r < 0)
		return r;
	void *less = realloc(x->member, (x->count + 1) * sizeof *x->member);
	x->member = less ? less : x->member;
	*ret = MOVE(x);
	return 0;
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
	return place_of(x, next);
}

static int
list(const struct zip_index *x, const char *prefix, zip_name_fn *fn, void *arg)
{
	size_t n = strlen(prefix), i = place_of(x, prefix), first = i;
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
