#include "backends/kerchunk/kerchunk.h"

#include "backends/kerchunk/array.h"
#include "base/check.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	TRIES = 4,                     /* of an object that is replaced while it is read */
	MOST = 256 << 20,              /* bytes of tables where no option says */
	LOOK_LOCAL = 50 * 1000 * 1000, /* ns for which the object is taken to be as it was found */
	LOOK_REMOTE = 500 * 1000 * 1000,
};

/* --- versions --- */

struct kerchunk_set *
kerchunk_set_ref(struct kerchunk_set *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

struct kerchunk_set *
kerchunk_set_unref(struct kerchunk_set *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return NULL;
	kerchunk_parts_free(s);
	kerchunk_table_free(s->table);
	pthread_cond_destroy(&s->loaded);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static void
say_version(struct kerchunk_set *s)
{
	uint64_t h = hash_number(hash_text(HASH_START, s->stat.version), s->stat.size);
	h = hash_number(h, (uint64_t)s->stat.mtime);
	snprintf(s->version, sizeof s->version, "%016" PRIx64, h);
}

static int
load_once(const struct kerchunk *k, struct kerchunk_set **ret)
{
	struct kerchunk_set *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for references");
	atomic_init(&s->refs, 1);
	s->most = k->most;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->loaded, NULL);
	int r = k->load(k, s);
	say_version(s);
	if (r == 0)
		*ret = s;
	else
		kerchunk_set_unref(s);
	return r;
}

static int
load(const struct kerchunk *k, struct kerchunk_set **ret)
{
	int r = -EAGAIN;
	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = load_once(k, ret);
	return r == -EAGAIN ? err_add(-EIO, "it changes all the time") : r;
}

static bool
same(const struct zmap_stat *a, const struct zmap_stat *b)
{
	return a->size == b->size && a->mtime == b->mtime && !strcmp(a->version, b->version);
}

/* A caller that asks for documents does so once a TTL, and then wants to know what is there. */
static int64_t
next_look(const struct kerchunk *k)
{
	bool remote = k->lower->caps & ZMAP_REMOTE;
	return k->ttl == INT64_MAX ? INT64_MAX : clock_now() + (remote ? LOOK_REMOTE : LOOK_LOCAL);
}

/* With nothing locked: the same set, or a new one. */
static int
look_now(struct kerchunk *k, struct kerchunk_set *before, struct kerchunk_set **ret)
{
	struct zmap_stat stat = {0};
	int r = zmap_stat(k->lower, k->object, &stat);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "the references '%s' are gone", k->object);
	if (r < 0)
		return r;
	if (!same(&stat, &before->stat))
		return load(k, ret);
	*ret = kerchunk_set_ref(before);
	return 0;
}

static int
look(struct kerchunk *k, bool at_once)
{
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *before = NULL, *now = NULL, *old = NULL;
	LOCKED(&k->lock) {
		if (k->looking || (!at_once && clock_now() < k->due))
			return 0;
		k->looking = true;
		before = kerchunk_set_ref(k->now);
	}
	int r = look_now(k, before, &now);
	LOCKED(&k->lock) {
		k->looking = false;
		k->due = next_look(k);
		err_save(r, &k->failure);
		if (r == 0) {
			old = k->now;
			k->now = MOVE(now);
		}
	}
	return r;
}

/* What there is, as the last look said. */
static int
current(struct kerchunk *k, struct kerchunk_set **ret)
{
	int r = look(k, false);
	LOCKED(&k->lock) {
		if (r == 0 && k->failure.code)
			r = err_restore(&k->failure);
		if (r == 0)
			*ret = kerchunk_set_ref(k->now);
	}
	return r;
}

int
kerchunk_set_of(struct kerchunk *k, const char *version, struct kerchunk_set **ret)
{
	LOCKED(&k->lock) {
		if (!strcmp(k->now->version, version)) {
			*ret = kerchunk_set_ref(k->now);
			return 0;
		}
	}
	return err_set(-ESTALE, "the references '%s' were replaced", k->object);
}

int
kerchunk_refresh(struct container *c)
{
	return look((struct kerchunk *)c, true);
}

size_t
kerchunk_held(struct container *c)
{
	struct kerchunk *k = (struct kerchunk *)c;
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	LOCKED(&k->lock)
		s = k->now ? kerchunk_set_ref(k->now) : NULL;
	if (!s)
		return 0;
	size_t bytes = kerchunk_table_bytes(s->table);
	LOCKED(&s->lock)
		bytes += s->parts_bytes;
	return bytes;
}

/* --- documents --- */

static bool
ends_in(const char *key, const char *name)
{
	size_t len = strlen(key), n = strlen(name);
	return len >= n && !strcmp(key + len - n, name) && (len == n || key[len - n - 1] == '/');
}

int
kerchunk_document(struct container *c, const char *key, struct buf *into, struct zmap_stat *ret)
{
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	struct kerchunk_ref ref;
	int r = ends_in(key, ".zmetadata") ? ZMAP_ABSENT : 0; /* it would stand for what is in it */
	if (r == 0)
		r = current((struct kerchunk *)c, &s);
	if (r == 0)
		r = kerchunk_table_find(s->table, key, &ref);
	if (r)
		return r;
	if (ref.kind == KERCHUNK_BAD)
		return err_set(-EIO, "%s", ref.why);
	if (ref.kind != KERCHUNK_BYTES)
		return err_set(-ENOTSUP, "a document that lies in another file");
	if (into && buf_add(into, ref.bytes.data, ref.bytes.len) < 0)
		return err_set(-ENOMEM, "no memory for a document");
	*ret = (struct zmap_stat){.size = ref.bytes.len,
		.mtime = s->stat.mtime,
		.placed = s->stat.placed,
		.chunks = ends_in(key, ".zarray") || ends_in(key, "zarr.json")};
	memcpy(ret->version, s->version, sizeof s->version);
	return 0;
}

int
kerchunk_list(struct container *c, const char *prefix, zmap_list_fn *fn, void *arg)
{
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	int r = current((struct kerchunk *)c, &s);
	return r < 0 ? r : kerchunk_table_list(s->table, prefix, fn, arg);
}

/* --- chunks --- */

/* What the set's document of the array says. */
static int
read_array(const struct kerchunk_set *s, const char *path, struct kerchunk_array *ret)
{
	static const char *const names[] = {"zarr.json", ".zarray"};
	for (unsigned i = 0; i < 2; i++) {
		CLEAN(clean_free) char *key = path_in(path, names[i]);
		struct kerchunk_ref ref;
		if (!key)
			return err_set(-ENOMEM, "no memory for a key");
		int r = kerchunk_table_find(s->table, key, &ref);
		if (r == 0)
			return ref.kind == KERCHUNK_BYTES
				       ? kerchunk_array_read(ref.bytes, i == 0, ret)
				       : err_set(-EIO, "'%s' cannot be read", key);
	}
	return err_set(-ESTALE, "'%s' is no array any more", path);
}

int
kerchunk_array_of(struct kerchunk *k, const struct zmap_chunk *chunk, struct kerchunk_set **ret_set,
	struct kerchunk_array *ret)
{
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	int r = kerchunk_set_of(k, chunk->version, &s);
	if (r == 0)
		r = read_array(s, chunk->array, ret);
	if (r == 0 && chunk->rank != ret->rank)
		r = err_set(
			-EIO, "the metadata of '%s' are not those of its references", chunk->array);
	if (r == 0)
		*ret_set = MOVE(s);
	return r;
}

int
kerchunk_place(const struct kerchunk *k, const char *folder, const struct kerchunk_ref *ref,
	struct chunk_place *ret)
{
	const struct kerchunk_base base = {.folder = folder, .set = k->root, .home = k->home};
	uint64_t end;
	if (ref->kind == KERCHUNK_BAD)
		return err_set(-EIO, "%s", ref->why);
	if (ref->kind == KERCHUNK_WHOLE && ref->off)
		return err_set(-EIO, "a reference with an offset and no size");
	ret->kind = PLACE_BYTES;
	ret->bytes = (struct span){(const uint8_t *)"", 0};
	if (ref->kind == KERCHUNK_BYTES)
		ret->bytes = ref->bytes;
	if (ref->kind == KERCHUNK_BYTES || (ref->kind == KERCHUNK_RANGE && !ref->len))
		return 0;
	ret->off = ref->off;
	ret->len = ref->kind == KERCHUNK_WHOLE ? 0 : ref->len;
	if (ref->kind == KERCHUNK_RANGE && add_over(ref->off, ref->len, &end))
		return err_set(-EIO, "a reference beyond all offsets");
	return kerchunk_url(ref->url, &base, ret);
}

/* --- opening --- */

void
kerchunk_close(struct container *c)
{
	struct kerchunk *k = (struct kerchunk *)c;
	kerchunk_set_unref(k->now);
	pthread_mutex_destroy(&k->lock);
	free(k->object);
	free(k->root);
	free(k->home);
	free(k);
}

int
kerchunk_open(const struct container_env *env, const char *object, const char *root,
	const struct container_ops *ops,
	int (*load_fn)(const struct kerchunk *, struct kerchunk_set *), struct kerchunk **ret)
{
	struct kerchunk *k = calloc(1, sizeof *k);
	if (!k)
		return err_set(-ENOMEM, "no memory for a store");
	k->c.ops = ops;
	k->lower = env->lower;
	k->object = strdup(object);
	k->root = strdup(root);
	k->home = env->home ? strdup(env->home) : NULL;
	k->most = env->options->memory ? env->options->memory / 2 : MOST;
	k->ttl = env->options->ttl;
	k->load = load_fn;
	pthread_mutex_init(&k->lock, NULL);
	int r = k->object && k->root && (k->home || !env->home)
			? load(k, &k->now)
			: err_set(-ENOMEM, "no memory for a store");
	if (r < 0) {
		kerchunk_close(&k->c);
		return r;
	}
	k->due = next_look(k);
	*ret = k;
	return 0;
}
