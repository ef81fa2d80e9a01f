/* kerchunk references in one JSON file: a store found by what is in it. Its keys are all in memory,
 * in a table; the file is looked at again once a TTL. */
#include "backends/kerchunk/kerchunk.h"
#include "backends/kerchunk/array.h"
#include "backends/kerchunk/source.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static int
load(const struct kerchunk *k, struct kerchunk_set *s)
{
	CLEAN(kerchunk_source_freep) struct kerchunk_source *source = NULL;
	int r = kerchunk_source_open(k->lower, k->object, &source, &s->stat);
	if (r == 0)
		r = kerchunk_json_read(kerchunk_source_text(source), k->most, &s->table);
	return r < 0 ? err_add(r, "references '%s'", k->object) : 0;
}

static int
file_open(const struct container_env *env, struct container **ret)
{
	struct kerchunk *k;
	if (!env->object)
		return ZMAP_ABSENT;
	const char *slash = strrchr(env->object, '/');
	CLEAN(clean_free)
	char *root = strndup(env->object, slash ? (size_t)(slash - env->object) + 1 : 0);
	if (!root)
		return err_set(-ENOMEM, "no memory for a store");
	int r = kerchunk_open(env, env->object, root, &container_kerchunk_file, load, &k);
	if (r == 0)
		*ret = &k->c;
	return r;
}

static int
find_chunk(const struct kerchunk_set *s, const struct kerchunk_array *a,
	const struct zmap_chunk *chunk, char separator, struct kerchunk_ref *ret)
{
	CLEAN(buf_free) struct buf key = {0};
	int r = buf_addf(&key, "%s%s", chunk->array, *chunk->array ? "/" : "");
	if (r == 0)
		r = kerchunk_array_key(a, chunk->index, separator, &key);
	return r < 0 ? err_set(-ENOMEM, "no memory for a key")
		     : kerchunk_table_find(s->table, (const char *)key.data, ret);
}

static void
release(void *hold)
{
	kerchunk_set_unref(hold);
}

static int
file_locate(struct container *c, const struct zmap_chunk *chunk, int64_t deadline,
	struct cancel *cancel, struct chunk_place *ret)
{
	struct kerchunk *k = (struct kerchunk *)c;
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	struct kerchunk_array a;
	struct kerchunk_ref ref;
	int r = kerchunk_array_of(k, chunk, &s, &a);
	if (r == 0)
		r = find_chunk(s, &a, chunk, a.separator ? a.separator : '.', &ref);
	if (r == ZMAP_ABSENT && !a.separator && a.rank > 1)
		r = find_chunk(s, &a, chunk, '/', &ref);
	if (r == 0)
		r = kerchunk_place(k, k->root, &ref, ret);
	if (r == 0 && ret->kind == PLACE_BYTES) {
		memcpy(ret->version, s->version, sizeof s->version);
		ret->hold = MOVE(s);
		ret->release = release;
	}
	return r;
}

const struct container_ops container_kerchunk_file = {
	.name = "file of kerchunk references",
	.open = file_open,
	.close = kerchunk_close,
	.document = kerchunk_document,
	.list = kerchunk_list,
	.locate = file_locate,
	.refresh = kerchunk_refresh,
	.held = kerchunk_held,
};

/* --- as a store --- */

static int
kerchunk_store_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	CLEAN(clean_free) char *parent = NULL;
	const char *name;
	struct url lower_url;
	int r = url_beside(url, "file", &lower_url, &parent, &name);
	if (r < 0)
		return r;
	struct zmap_options lower_options = *options;
	lower_options.containers = false;
	struct zmap *lower = NULL;
	r = zmap_open_inner(&lower_url, &lower_options, &lower);
	return r < 0 ? r
		     : container_open_over(
			       lower, name, &lower_url, options, &container_kerchunk_file, ret);
}

const struct zmap_ops backend_kerchunk_file = {
	.name = "kerchunk_file",
	.open = kerchunk_store_open,
};
