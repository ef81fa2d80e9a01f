#include "view/raw.h"

#include "base/check.h"
#include "base/hash.h"
#include "view/state.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Only for the mounting user. */
enum { DIR_MODE = 0500, FILE_MODE = 0400 };

struct raw {
	struct zmap *zmap;
	struct zmap_stat stat;
	char key[];
};

static uint64_t
version_of(const struct zmap_stat *st)
{
	uint64_t h = hash_text(hash_number(HASH_START, SPECIAL_STORE), st->version);
	return hash_end(hash_number(hash_number(h, st->size), (uint64_t)st->mtime));
}

/* "" for ".store" itself. */
static const char *
key_of(const char *path)
{
	const char *slash = strchr(path, '/');
	return slash ? slash + 1 : "";
}

static int
any(void *arg, const char *name, bool prefix, const struct zmap_stat *st)
{
	*(bool *)arg = true;
	return 1;
}

/* Does a key lie below? */
static int
is_prefix(struct mount *m, const char *key)
{
	CLEAN(clean_free) char *prefix = NULL;
	if (asprintf(&prefix, "%s/", key) < 0) {
		prefix = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	bool found = false;
	int r = zmap_list(m->zmap, prefix, any, &found);
	if (r < 0)
		return r;
	/* An empty directory of a dir store lists nothing, and is there. */
	return r == 0 || found ? 0 : ZMAP_ABSENT;
}

int
raw_lookup(struct mount *m, const char *path, struct entry *ret)
{
	const char *key = key_of(path);
	struct zmap_stat st = {0};
	int r = 0;
	if (*key) {
		if (zmap_check_key(key) < 0)
			return ZMAP_ABSENT;
		r = zmap_stat(m->zmap, key, &st);
		if (r < 0)
			return r;
	}
	if (*key && r == 0) {
		r = mount_entry(m, path, ENTRY_FILE, FILE_MODE, ret);
		ret->version = version_of(&st);
		ret->size = st.size;
		ret->mtime = st.mtime;
	} else {
		r = *key ? is_prefix(m, key) : 0;
		if (r)
			return r;
		r = mount_entry(m, path, ENTRY_DIR, DIR_MODE, ret);
	}
	ret->special = SPECIAL_STORE;
	return r;
}

/* Names, each behind a byte for its type and with its NUL. Gathered, since a name may be a key and
 * a prefix: then it is a file. */
struct raw_listing {
	struct buf names;
	size_t count;
	unsigned char file; /* the type of files */
};

static int
gather(void *arg, const char *name, bool prefix, const struct zmap_stat *st)
{
	struct raw_listing *l = arg;
	if (strlen(name) > NAME_MAX)
		return 0;
	const unsigned char type = prefix ? DT_DIR : l->file;
	int r = buf_add(&l->names, &type, 1);
	l->count++;
	return r < 0 ? r : buf_add(&l->names, name, strlen(name) + 1);
}

/* By name; files before directories. */
static int
compare(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	int order = strcmp(x + 1, y + 1);
	return order ? order : (unsigned char)*y - (unsigned char)*x;
}

static int
emit(const char *path, const char *entry, mount_dir_fn *fn, void *arg)
{
	char *full;
	if (asprintf(&full, "%s/%s", path, entry + 1) < 0)
		return err_set(-ENOMEM, "no memory for a path");
	uint64_t ino = mount_ino(full);
	free(full);
	return fn(arg, entry + 1, ino, (unsigned char)*entry);
}

static int
emit_sorted(const struct raw_listing *l, const char *path, mount_dir_fn *fn, void *arg)
{
	CLEAN(clean_free) const char **entry = calloc(l->count + 1, sizeof *entry);
	if (!entry)
		return err_set(-ENOMEM, "no memory for a listing");
	const char *p = (const char *)l->names.data;
	for (size_t i = 0; i < l->count; i++, p += strlen(p) + 1)
		entry[i] = p;
	qsort(entry, l->count, sizeof *entry, compare);
	int r = 0;
	for (size_t i = 0; i < l->count && r == 0; i++)
		if (i == 0 || strcmp(entry[i] + 1, entry[i - 1] + 1) != 0)
			r = emit(path, entry[i], fn, arg);
	return r;
}

int
raw_list(struct mount *m, const char *path, mount_dir_fn *fn, void *arg)
{
	struct raw_listing l = {.file = DT_REG};
	CLEAN(clean_free) char *prefix = NULL;
	const char *key = key_of(path);
	if (asprintf(&prefix, "%s%s", key, *key ? "/" : "") < 0) {
		prefix = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	if (m->zmap->caps & ZMAP_REMOTE)
		l.file |= MOUNT_ASK_TO_SEE;
	int r = zmap_list(m->zmap, prefix, gather, &l);
	if (r == 0)
		r = emit_sorted(&l, path, fn, arg);
	buf_free(&l.names);
	return r;
}

int
raw_open(struct mount *m, const char *key, struct raw **ret)
{
	size_t len = strlen(key) + 1;
	struct raw *w = calloc(1, sizeof *w + len);
	if (!w)
		return err_set(-ENOMEM, "no memory for a file");
	w->zmap = m->zmap;
	memcpy(w->key, key, len);
	int r = zmap_stat(m->zmap, key, &w->stat);
	if (r) {
		free(w);
		return r;
	}
	*ret = w;
	return 0;
}

struct raw *
raw_close(struct raw *w)
{
	free(w);
	return NULL;
}

uint64_t
raw_version(const struct raw *w)
{
	return version_of(&w->stat);
}

const char *
raw_tag(const struct raw *w)
{
	return w->stat.version;
}

uint64_t
raw_size(const struct raw *w)
{
	return w->stat.size;
}

int
raw_read(struct raw *w, const struct array_want *want, struct reply *ret)
{
	if (want->off >= w->stat.size || !want->len)
		return 0;
	size_t len = min_u64(want->len, w->stat.size - want->off);
	struct zmap_get g = {
		.key = w->key,
		.off = want->off,
		.len = len,
		.if_match = *w->stat.version ? w->stat.version : NULL,
		.into = &ret->own,
		.max = len,
		.deadline = want->deadline,
		.cancel = want->cancel,
	};
	int r = buf_reserve(&ret->own, len);
	if (r == 0)
		r = zmap_get(w->zmap, &g, NULL);
	if (r == ZMAP_CHANGED || r == ZMAP_ABSENT)
		r = err_set(-EIO, "'%s' was %s while it was open", w->key,
			r == ZMAP_ABSENT ? "deleted" : "replaced");
	if (r == 0 && ret->own.len != len)
		r = err_set(-EIO, "'%s' is shorter than it was when opened", w->key);
	if (r < 0)
		return r;
	ret->part[0] = (struct iovec){ret->own.data, len};
	ret->parts = 1;
	ret->len = len;
	return 0;
}
