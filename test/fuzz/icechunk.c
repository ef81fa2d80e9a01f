/* Hostile files of an Icechunk repository, as a snapshot, a manifest or its repo, whichever the
 * head says. Each must be asked by the ids that it holds itself, or nothing but its head would be
 * read. */
#include "backends/icechunk/manifest.h"
#include "backends/icechunk/places.h"
#include "backends/icechunk/repo.h"
#include "backends/icechunk/tree.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20, NODES = 16, NAMES = 64, SLOT_ID = 0, SLOT_ARRAYS = 1, RANKS = 4 };

static int
seen(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	unsigned *left = arg;
	if (!*name || strchr(name, '/'))
		abort();
	return !--*left;
}

static void
look_at_tree(struct buf *payload)
{
	struct flat_table root;
	const uint8_t *id;
	char text[ICE_ID_TEXT + 1];
	struct ice_tree *t = NULL;
	if (flat_root(buf_span(payload), &root) != 0 ||
		flat_struct(&root, SLOT_ID, ICE_ID, &id) != 0)
		return;
	ice_id_text(id, text);
	if (ice_tree_new(payload, text, "root", &t) < 0)
		return;
	for (size_t i = 0; i < t->count && i < NODES; i++) {
		struct ice_node *n = &t->node[i];
		const uint64_t index[RANKS] = {0};
		uint8_t manifest[ICE_ID];
		uint64_t bytes;
		unsigned left = NAMES;
		struct ice_cursor at = {0};
		if (!ice_tree_find(t, n->path, strlen(n->path)))
			abort();
		if (n->array && n->rank <= RANKS)
			while (ice_tree_manifest(t, n, index, &at, manifest, &bytes) == 0)
				;
		ice_tree_list(t, "", seen, &left);
	}
	ice_tree_unref(t);
}

static void
look_at_manifest(struct span payload)
{
	struct flat_table root, array;
	struct flat_vector arrays;
	const uint8_t *id, *node;
	const uint64_t index[RANKS] = {0};
	if (flat_root(payload, &root) != 0 || flat_struct(&root, SLOT_ID, ICE_ID, &id) != 0 ||
		flat_vector(&root, SLOT_ARRAYS, 4, &arrays) != 0)
		return;
	for (uint32_t i = 0; i < arrays.count && i < NODES; i++) {
		if (flat_table_of(&arrays, i, &array) != 0 ||
			flat_struct(&array, SLOT_ID, ICE_NODE_ID, &node) != 0)
			continue;
		for (unsigned rank = 0; rank <= RANKS; rank++) {
			struct ice_wanted w = {
				.manifest = id, .node = node, .rank = rank, .index = index};
			struct chunk_place p = {0};
			if (ice_manifest_search(payload, &w, "", &p) == 0)
				chunk_place_free(&p);
		}
	}
}

static int
commit(void *arg, const struct ice_commit *c)
{
	unsigned *left = arg;
	return !--*left;
}

/* Also what is no configuration at all. */
static void
look_at_places(ice_config_fn *read, struct span config)
{
	static const char *const urls[] = {
		"vcc://local/ocean.nc", "s3://zarrfs-virtual/ocean.nc", "file:///tmp/x"};
	struct ice_places *p = NULL;
	if (ice_places_new(read, config, &p) < 0)
		abort();
	for (unsigned i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct chunk_place c = {.kind = PLACE_URL, .name = strdup(urls[i])};
		if (!c.name || ice_places_apply(p, &c) < 0)
			abort();
		chunk_place_free(&c);
	}
	ice_places_free(p);
}

static void
look_at_repo(struct buf *payload)
{
	static const char *const names[] = {"branch.main", "tag.v1"};
	struct ice_repo *p = NULL;
	if (ice_repo_new(payload, &p) < 0)
		return;
	look_at_places(ice_config_flex, ice_repo_config(p));
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		struct ice_ref_name name;
		char id[ICE_ID_TEXT + 1];
		unsigned left = NAMES;
		if (ice_ref_parse(names[i], &name) && ice_repo_find(p, &name, id) == 0) {
			ice_repo_ancestry(p, id, commit, &left);
			ice_repo_before(p, 0, id);
		}
	}
	ice_repo_free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span file = {data, size};
	struct buf payload = {0};
	char id[ICE_ID_TEXT + 1];
	if (ice_unpack(file, ICE_SNAPSHOT, MOST, &payload) == 0)
		look_at_tree(&payload);
	buf_free(&payload);
	if (ice_unpack(file, ICE_MANIFEST, MOST, &payload) == 0)
		look_at_manifest(buf_span(&payload));
	buf_free(&payload);
	if (ice_unpack(file, ICE_REPO, MOST, &payload) == 0)
		look_at_repo(&payload);
	buf_free(&payload);
	ice_ref_text(file, id);
	look_at_places(ice_config_flex, file);
	look_at_places(ice_config_yaml, file);
	return 0;
}
