#include "backends/icechunk/node.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	/* slots of Snapshot */
	S_ID = 0,
	S_PARENT,
	S_NODES,
	S_TIME,
	S_MESSAGE,
	S_MANIFESTS = 6,
	S_MANIFESTS_V2,
	INFO_BYTES = 32, /* ManifestFileInfo: id, padding, u64 size … */
	INFO_SIZE_AT = 16,
	NANOSECONDS = 1000, /* of a microsecond */
	FEW = 64,           /* manifests that are asked in their order */
};

/* --- the snapshot --- */

static int
read_head(struct ice_tree *t, const struct flat_table *root, const char *id)
{
	const uint8_t *own, *parent;
	char text[ICE_ID_TEXT + 1];
	uint64_t time = 0;
	int r = flat_required(flat_struct(root, S_ID, ICE_ID, &own), "id");
	if (r < 0)
		return r;
	ice_id_text(own, text);
	if (strcmp(text, id))
		return err_set(-EIO, "it is that of snapshot %s", text);
	memcpy(t->id, text, sizeof t->id);
	r = flat_struct(root, S_PARENT, ICE_ID, &parent);
	t->has_parent = r == 0;
	if (r == 0)
		memcpy(t->parent, parent, ICE_ID);
	r = r < 0 ? r : flat_number(root, S_TIME, 8, &time);
	t->time = (int64_t)(time < INT64_MAX / NANOSECONDS ? time * NANOSECONDS : 0);
	if (r == 0)
		r = flat_bytes(root, S_MESSAGE, &t->message);
	if (r >= 0)
		r = flat_vector(root, S_MANIFESTS_V2, 4, &t->manifests);
	t->manifests_v2 = r == 0;
	if (r == FLAT_NONE)
		r = flat_vector(root, S_MANIFESTS, INFO_BYTES, &t->manifests);
	return r < 0 ? r : 0; /* without them there are no chunks */
}

int
ice_tree_new(struct buf *payload, const char *id, const char *root_name, struct ice_tree **ret)
{
	CLEAN(ice_tree_unrefp) struct ice_tree *t = calloc(1, sizeof *t);
	struct flat_table root;
	struct flat_vector nodes;
	if (!t) {
		buf_free(payload);
		return err_set(-ENOMEM, "no memory for a snapshot");
	}
	t->refs = 1;
	t->bytes = *payload;
	*payload = (struct buf){0};
	int r = flat_root(buf_span(&t->bytes), &root);
	if (r == 0)
		r = read_head(t, &root, id);
	if (r == 0)
		r = flat_required(flat_vector(&root, S_NODES, 4, &nodes), "nodes");
	if (r == 0)
		r = ice_nodes_read(t, &nodes, root_name);
	if (r == 0)
		*ret = MOVE(t);
	return r < 0 ? err_add(r, "snapshot '%s'", id) : r;
}

struct ice_tree *
ice_tree_ref(struct ice_tree *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

struct ice_tree *
ice_tree_unref(struct ice_tree *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return NULL;
	for (size_t i = 0; i < t->count; i++) {
		free((char *)t->node[i].path);
		free(t->node[i].count);
	}
	free(t->node);
	free(t->odd);
	buf_free(&t->bytes);
	free(t);
	return NULL;
}

/* --- looking things up --- */

/* The first node whose path is not before that. */
static size_t
lower_bound(const struct ice_tree *t, const char *path, size_t len)
{
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *p = t->node[mid].path;
		int order = strncmp(p, path, len);
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct ice_node *
ice_tree_find(const struct ice_tree *t, const char *path, size_t len)
{
	size_t i = lower_bound(t, path, len);
	bool same = i < t->count && !strncmp(t->node[i].path, path, len) && !t->node[i].path[len];
	return same ? &t->node[i] : NULL;
}

int
ice_tree_list(const struct ice_tree *t, const char *prefix, zmap_list_fn *fn, void *arg)
{
	size_t len = strlen(prefix);
	struct ice_node *own = ice_tree_find(t, prefix, len ? len - 1 : 0);
	if (!own)
		return ZMAP_ABSENT;
	int r = fn(arg, "zarr.json", false, NULL);
	for (size_t i = lower_bound(t, prefix, len); i < t->count && r == 0; i++) {
		const char *p = t->node[i].path;
		if (strncmp(p, prefix, len) != 0)
			break;
		if (p[len] && !strchr(p + len, '/'))
			r = fn(arg, p + len, true, NULL);
	}
	return r;
}

/* --- manifests --- */

static int
covers(const struct flat_vector *manifests, uint32_t i, unsigned rank, const uint64_t *index,
	const uint8_t **ret_id)
{
	struct flat_table m;
	struct flat_vector ranges;
	int r = flat_table_of(manifests, i, &m);
	r = r == 0 ? flat_required(flat_struct(&m, 0, ICE_ID, ret_id), "object_id") : r;
	r = r == 0 ? flat_required(flat_vector(&m, 1, ICE_RANGE, &ranges), "extents") : r;
	if (r < 0)
		return r;
	/* Their numbers differ of an array that was written over with other dimensions, and of
	 * scalars before 1.0. */
	for (unsigned d = 0; d < rank && d < ranges.count; d++)
		if (index[d] < flat_u32(flat_item(&ranges, d)) ||
			index[d] >= flat_u32(flat_item(&ranges, d) + 4))
			return 0;
	return 1;
}

/* Its size, by which it must be listed in the snapshot. */
static int
find_listed(const struct ice_tree *t, const uint8_t *id, uint64_t *ret_size)
{
	for (uint32_t i = 0; i < t->manifests.count; i++) {
		struct flat_table info;
		const uint8_t *at = t->manifests_v2 ? NULL : flat_item(&t->manifests, i);
		int r = t->manifests_v2 ? flat_table_of(&t->manifests, i, &info) : 0;
		if (r == 0 && t->manifests_v2)
			r = flat_required(flat_struct(&info, 0, ICE_ID, &at), "id");
		if (r < 0)
			return r;
		if (memcmp(at, id, ICE_ID))
			continue;
		*ret_size = 0;
		if (t->manifests_v2)
			return flat_number(&info, 1, 8, ret_size);
		*ret_size = flat_u64(at + INFO_SIZE_AT);
		return 0;
	}
	char text[ICE_ID_TEXT + 1];
	ice_id_text(id, text);
	return err_set(-EIO, "snapshot '%s' does not list its manifest '%s'", t->id, text);
}

int
ice_tree_manifest(const struct ice_tree *t, struct ice_node *n, const uint64_t *index,
	struct ice_cursor *c, uint8_t ret_id[static ICE_ID], uint64_t *ret_size)
{
	for (unsigned d = 0; d < n->rank; d++)
		if (index[d] >= n->count[d])
			return ZMAP_ABSENT;
	const uint32_t count = n->manifests.count;
	if (!c->n)
		c->first = count > FEW ? atomic_load(&n->last) : 0;
	while (c->n < count) {
		const uint8_t *id;
		uint32_t i = (c->n++ + c->first) % count;
		int r = covers(&n->manifests, i, n->rank, index, &id);
		if (r < 0)
			return r;
		if (!r)
			continue;
		atomic_store(&n->last, i);
		memcpy(ret_id, id, ICE_ID);
		return find_listed(t, id, ret_size);
	}
	return ZMAP_ABSENT;
}
