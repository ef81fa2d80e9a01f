/* Icechunk repositories, spec 1, 2 and 2.1, as a Zarr V3 hierarchy: the newest snapshot of a
 * branch (or another version that was asked for), and others below "@NAME/".
 *
 * - Two objects tell everything but where chunks are: `repo` (spec 1: a file below refs/) and
 *   the snapshot. Only the first can change; it is asked for again, by its version, when what is
 *   known is older than LOOK_PARTS-th of the TTL.
 * - Arrays are asked for by the version that came with their metadata, so a reader stays in its
 *   snapshot as long as that is kept.
 * - Nothing that is damaged or gone shows as fill values. */
#include "backends/icechunk/impl.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	LOOK_PARTS = 4,
	LOOK_MOST = 15,
};

/* --- keys --- */

/* Has the root of the version that is shown a child of that name? */
static bool
is_child(struct ice *p, const char *name, size_t len)
{
	bool is = false;
	LOCKED(&p->lock) {
		const struct ice_version *v = ice_find_version(p, p->ref);
		is = v && ice_tree_find(v->tree, name, len);
	}
	return is;
}

/* "@NAME/key", or a key of the version that is shown. version: on return what the key is of, the
 * caller's to free. */
static int
split(struct ice *p, const char *key, const char **ret_key, char **ret_version)
{
	const char *slash = strchr(key, '/');
	struct ice_ref_name n;
	CLEAN(clean_free)
	char *name = *key == '@'
			     ? strndup(key + 1, slash ? (size_t)(slash - key - 1) : strlen(key + 1))
			     : NULL;
	if (*key == '@' && !name)
		return err_set(-ENOMEM, "no memory for a name");
	if (name && ice_ref_parse(name, &n) && !is_child(p, key, strlen(name) + 1)) {
		*ret_version = MOVE(name);
		*ret_key = slash ? slash + 1 : "";
		return 0;
	}
	*ret_version = strdup(p->ref);
	*ret_key = key;
	return *ret_version ? 0 : err_set(-ENOMEM, "no memory for a name");
}

static int
ice_document(struct container *c, const char *key, struct buf *into, struct zmap_stat *ret)
{
	static const char doc[] = "zarr.json";
	struct ice *p = (struct ice *)c;
	CLEAN(ice_tree_unrefp) struct ice_tree *t = NULL;
	CLEAN(clean_free) char *version = NULL;
	int r = split(p, key, &key, &version);
	size_t len = strlen(key), end = len < sizeof doc - 1 ? len : len - (sizeof doc - 1);
	if (r < 0)
		return r;
	if (strcmp(key + end, doc) || (end && key[end - 1] != '/'))
		return ZMAP_ABSENT;
	r = ice_version_tree(p, version, &t);
	if (r != 0)
		return r;
	const struct ice_node *n = ice_tree_find(t, key, end ? end - 1 : 0);
	if (!n)
		return ZMAP_ABSENT;
	*ret = (struct zmap_stat){.size = n->doc.len, .mtime = t->time, .chunks = true};
	memcpy(ret->version, n->version, sizeof n->version);
	return into ? buf_add(into, n->doc.data, n->doc.len) : 0;
}

static int
ice_list(struct container *c, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct ice *p = (struct ice *)c;
	CLEAN(ice_tree_unrefp) struct ice_tree *t = NULL;
	CLEAN(clean_free) char *version = NULL;
	int r = split(p, prefix, &prefix, &version);
	if (r == 0)
		r = ice_version_tree(p, version, &t);
	return r == 0 ? ice_tree_list(t, prefix, fn, arg) : r;
}

/* --- chunks --- */

static struct ice_node *
find_array(const struct ice_tree *t, const char *path, const char *version)
{
	struct ice_node *n = ice_tree_find(t, path, strlen(path));
	return n && n->array && !strcmp(n->version, version) ? n : NULL;
}

/* The array as it was when its metadata were read: of the version's present snapshot, or of one
 * that is still kept. */
static int
array_of(struct ice *p, const struct zmap_chunk *chunk, struct ice_tree **ret,
	struct ice_node **ret_node)
{
	CLEAN(clean_free) char *version = NULL;
	CLEAN(ice_tree_unrefp) struct ice_tree *now = NULL;
	const char *path;
	int r = split(p, chunk->array, &path, &version);
	if (r < 0)
		return r;
	LOCKED(&p->lock) {
		struct ice_version *v = ice_find_version(p, version);
		if (v && (*ret_node = find_array(v->tree, path, chunk->version)))
			*ret = ice_tree_ref(v->tree);
		for (struct ice_kept *k = p->kept; k && !*ret; k = k->next)
			if ((*ret_node = find_array(k->tree, path, chunk->version)))
				*ret = ice_tree_ref(k->tree);
	}
	if (!*ret && (r = ice_version_tree(p, version, &now)) < 0)
		return r;
	if (now && (*ret_node = find_array(now, path, chunk->version)))
		*ret = MOVE(now);
	now = ice_tree_unref(now);
	if (!*ret && (r = ice_former_tree(p, path, chunk->version, &now)) < 0)
		return r;
	if (now && (*ret_node = find_array(now, path, chunk->version)))
		*ret = MOVE(now);
	return *ret ? 0
		    : err_set(-ESTALE, "the snapshot that '%s' was opened in is no longer kept",
			      chunk->array);
}

/* In the first of the manifests that has it. id: where w's lies. */
static int
find_place(struct ice *p, const struct ice_tree *t, struct ice_node *n, struct ice_wanted *w,
	uint8_t id[static ICE_ID], struct chunk_place *ret)
{
	struct ice_cursor at = {0};
	int r, found;
	do {
		found = ice_tree_manifest(t, n, w->index, &at, id, &w->size);
		r = found == 0 ? ice_manifests_locate(p->manifests, w, ret) : found;
	} while (found == 0 && r == ZMAP_ABSENT);
	return r;
}

static int
ice_locate(struct container *c, const struct zmap_chunk *chunk, int64_t deadline,
	struct cancel *cancel, struct chunk_place *ret)
{
	struct ice *p = (struct ice *)c;
	CLEAN(ice_tree_unrefp) struct ice_tree *t = NULL;
	struct ice_node *n = NULL;
	uint8_t manifest[ICE_ID];
	struct ice_wanted w = {.manifest = manifest,
		.rank = chunk->rank,
		.index = chunk->index,
		.deadline = deadline,
		.cancel = cancel};
	int r = array_of(p, chunk, &t, &n);
	if (r == 0 && chunk->rank != n->rank)
		r = err_set(-EIO, "the snapshot has '%s' with %u dimensions, its metadata with %u",
			chunk->array, n->rank, chunk->rank);
	w.node = n ? n->id : NULL;
	return r == 0 ? find_place(p, t, n, &w, manifest, ret) : r;
}

/* --- opening --- */

static void
ice_close(struct container *c)
{
	struct ice *p = (struct ice *)c;
	for (struct ice_version *v; (v = p->versions);) {
		p->versions = v->next;
		ice_tree_unref(v->tree);
		free(v);
	}
	for (struct ice_kept *k; (k = p->kept);) {
		p->kept = k->next;
		ice_tree_unref(k->tree);
		free(k);
	}
	free(p->former);
	ice_repo_free(p->repo);
	ice_places_free(p->places);
	ice_manifests_free(p->manifests);
	pthread_mutex_destroy(&p->turn);
	pthread_mutex_destroy(&p->lock);
	free(p->root);
	free(p->ref);
	free(p->name);
	free(p);
}

static int
open_shown(struct ice *p)
{
	CLEAN(ice_tree_unrefp) struct ice_tree *t = NULL;
	struct ice_ref_name n;
	if (!ice_ref_parse(p->ref, &n))
		return err_set(-EINVAL,
			"'%s' is no version of a repository: there are branch.NAME, "
			"tag.NAME, ids and times like 2026-04-01T12:00",
			p->ref);
	int r = ice_version_tree(p, p->ref, &t);
	return r == ZMAP_ABSENT ? err_set(-EINVAL, "the repository has no version '%s'", p->ref)
				: r;
}

/* A repository of which nothing is known yet. */
static int
ice_new(const struct container_env *env, struct ice **ret)
{
	struct ice *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(-ENOMEM, "no memory for a repository");
	const int64_t ttl = env->options->ttl, most = LOOK_MOST * SECOND;
	p->container.ops = &container_icechunk;
	p->lower = env->lower;
	p->every = ttl == INT64_MAX ? ttl : ttl / LOOK_PARTS < most ? ttl / LOOK_PARTS : most;
	pthread_mutex_init(&p->turn, NULL);
	pthread_mutex_init(&p->lock, NULL);
	size_t share = env->options->memory / ICE_SHARE;
	p->file_max = share > ICE_FILE_LEAST ? share : ICE_FILE_LEAST;
	p->root = strdup(env->root);
	p->ref = strdup(env->ref ? env->ref : "branch.main");
	p->name = env->name ? strdup(env->name) : NULL;
	p->warn = env->options->warn;
	int r = p->root && p->ref && (p->name || !env->name)
			? ice_manifests_new(p->lower, p->root, share, &p->manifests)
			: err_set(-ENOMEM, "no memory for a repository");
	if (r < 0)
		ice_close(&p->container);
	else
		*ret = p;
	return r;
}

static int
ice_open(const struct container_env *env, struct container **ret)
{
	struct ice *p = NULL;
	if (env->object)
		return ZMAP_ABSENT;
	int r = ice_new(env, &p);
	if (r < 0)
		return r;
	r = ice_probe(p);
	if (r == ZMAP_ABSENT && env->named)
		r = err_set(-EINVAL, "there is no Icechunk repository");
	if (r == 0)
		r = open_shown(p);
	p->main_id[0] = 0;
	if (r == 0)
		*ret = &p->container;
	else
		ice_close(&p->container);
	return r < 0 ? err_add(r, "Icechunk repository '%s'", *env->root ? env->root : "/") : r;
}

static void
expire_versions(struct ice *p)
{
	LOCKED(&p->lock) {
		p->places_due = p->places_due == INT64_MAX ? INT64_MAX : 0;
		for (struct ice_version *v = p->versions; v; v = v->next)
			v->due = v->due == INT64_MAX ? v->due : 0;
	}
}

static int
ice_refresh(struct container *c)
{
	struct ice *p = (struct ice *)c;
	if (p->every == INT64_MAX)
		return 0;
	LOCKED(&p->turn)
		p->repo_due = 0;
	expire_versions(p);
	return 0;
}

static size_t
ice_held(struct container *c)
{
	struct ice *p = (struct ice *)c;
	size_t bytes = ice_manifests_bytes(p->manifests);
	LOCKED(&p->lock)
		for (const struct ice_kept *k = p->kept; k; k = k->next)
			bytes += k->tree->bytes.cap;
	return bytes;
}

const struct container_ops container_icechunk = {
	.name = "Icechunk repository",
	.signs = (const char *const[]){"repo", "refs", NULL},
	.open = ice_open,
	.close = ice_close,
	.document = ice_document,
	.list = ice_list,
	.locate = ice_locate,
	.explain = ice_explain,
	.refresh = ice_refresh,
	.history = ice_history,
	.held = ice_held,
};
