#include "backends/icechunk/node.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	/* slots of NodeSnapshot */
	N_ID = 0,
	N_PATH,
	N_DOC,
	N_TYPE,
	N_DATA,
	/* slots of ArrayNodeData */
	A_SHAPE = 0,
	A_MANIFESTS = 2,
	A_SHAPE_V2,
	SHAPE_BYTES = 16, /* DimensionShape: u64 elements, u64 of a chunk */
	IS_ARRAY = 1,
	IS_GROUP = 2,
	RANK_LIMIT = 64,
	IMPLICIT = 4096, /* groups that only follow from paths */
	SHOWN = 200,     /* bytes of a path in a message */
	NODE_LEAST = 32, /* bytes that a node takes in the file at the least */
};

struct hash {
	uint64_t a, b;
};

static void
hash(struct hash *h, const void *data, size_t len)
{
	h->a = hash_bytes(h->a, data, len);
	for (const uint8_t *p = data, *end = p + len; p < end; p++) {
		h->b = (h->b ^ *p) * 0x9e3779b97f4a7c15;
		h->b ^= h->b >> 29;
	}
}

/* --- one node --- */

/* Absolute, no empty part, no "." or "..", no NUL: what a mount can show. */
static bool
good_path(struct span p)
{
	if (!p.len || p.data[0] != '/' || memchr(p.data, 0, p.len))
		return false;
	for (size_t i = 1, n; i < p.len; i += n + 1) {
		const uint8_t *slash = memchr(p.data + i, '/', p.len - i);
		n = slash ? (size_t)(slash - p.data) - i : p.len - i;
		bool dots = p.data[i] == '.' && (n == 1 || (n == 2 && p.data[i + 1] == '.'));
		if (!n || dots || (slash && i + n + 1 == p.len))
			return false;
	}
	return true;
}

/* Chunks along each dimension; into counts, which has room for RANK_LIMIT. */
static int
read_shape(const struct flat_table *data, uint64_t *counts, unsigned *ret_rank)
{
	struct flat_vector v;
	struct flat_table dim;
	int r = flat_vector(data, A_SHAPE_V2, 4, &v);
	bool tables = r == 0;
	if (r == FLAT_NONE)
		r = flat_required(flat_vector(data, A_SHAPE, SHAPE_BYTES, &v), "shape");
	if (r == 0 && v.count > RANK_LIMIT)
		r = err_set(-EIO, "%u dimensions", v.count);
	for (uint32_t i = 0; r == 0 && i < v.count; i++) {
		counts[i] = 0;
		if (tables) {
			r = flat_table_of(&v, i, &dim);
			r = r == 0 ? flat_number(&dim, 1, 4, &counts[i]) : r;
			continue;
		}
		uint64_t length = flat_u64(flat_item(&v, i)),
			 chunk = flat_u64(flat_item(&v, i) + 8);
		if (length && !chunk)
			r = err_set(-EIO, "damaged: chunks of length 0");
		else
			counts[i] = length ? (length - 1) / chunk + 1 : 0;
	}
	*ret_rank = r == 0 ? v.count : 0;
	return r;
}

static int
hash_manifests(const struct flat_vector *manifests, struct hash *h)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < manifests->count; i++) {
		struct flat_table m;
		struct flat_vector ranges;
		const uint8_t *id;
		r = flat_table_of(manifests, i, &m);
		r = r == 0 ? flat_required(flat_struct(&m, 0, ICE_ID, &id), "object_id") : r;
		r = r == 0 ? flat_required(flat_vector(&m, 1, ICE_RANGE, &ranges), "extents") : r;
		if (r == 0) {
			hash(h, id, ICE_ID);
			hash(h, flat_item(&ranges, 0), (size_t)ranges.count * ICE_RANGE);
		}
	}
	return r;
}

static int
read_array(const struct flat_table *t, struct ice_node *n, uint64_t *counts, struct hash *h)
{
	struct flat_table data;
	int r = flat_required(flat_sub(t, N_DATA, &data), "node_data");
	if (r == 0)
		r = read_shape(&data, counts, &n->rank);
	if (r == 0)
		r = flat_required(flat_vector(&data, A_MANIFESTS, 4, &n->manifests), "manifests");
	if (r == 0)
		r = hash_manifests(&n->manifests, h);
	if (r == 0)
		hash(h, counts, n->rank * sizeof *counts);
	return r;
}

/* 0; FLAT_NONE: what cannot be shown is left out; -EIO. path and counts: where the node's are
 * put. */
static int
read_node(const struct flat_table *t, struct ice_node *n, struct span *path, uint64_t *counts)
{
	uint64_t type = 0;
	struct hash h = {HASH_START, HASH_START << 32 | HASH_START >> 32};
	int r = flat_required(flat_struct(t, N_ID, ICE_NODE_ID, &n->id), "id");
	if (r == 0)
		r = flat_required(flat_bytes(t, N_PATH, path), "path");
	if (r == 0)
		r = flat_required(flat_bytes(t, N_DOC, &n->doc), "user_data");
	if (r == 0)
		r = flat_number(t, N_TYPE, 1, &type);
	if (r < 0)
		return r;
	if ((type != IS_ARRAY && type != IS_GROUP) || !good_path(*path))
		return FLAT_NONE;
	n->array = type == IS_ARRAY;
	hash(&h, n->doc.data, n->doc.len);
	if (n->array)
		r = read_array(t, n, counts, &h);
	snprintf(n->version, sizeof n->version, "%016" PRIx64 "%016" PRIx64, h.a, h.b);
	return r;
}

/* --- all nodes --- */

static int
by_path(const void *x, const void *y)
{
	const struct ice_node *a = x, *b = y;
	return strcmp(a->path, b->path);
}

/* Room for all nodes and the groups above them. */
struct node_making {
	struct ice_tree *tree;
	struct span odd; /* the path of a node that cannot be shown */
	const char *why;
	size_t odds; /* how many there are */
};

static struct ice_node *
add(struct node_making *m, const char *path, size_t len)
{
	struct ice_tree *t = m->tree;
	if (LIST_MORE(t->node, t->count, "nodes") < 0)
		return NULL;
	char *copy = strndup(path, len);
	if (!copy)
		return NULL;
	struct ice_node *n = &t->node[t->count++];
	memset(n, 0, sizeof *n);
	n->path = copy;
	return n;
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a snapshot");
}

static struct span
span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static void
leave_out(struct node_making *m, struct span path, const char *why)
{
	if (m->odds++)
		return;
	m->odd = path;
	m->why = why;
}

static int
add_nodes(struct node_making *m, const struct flat_vector *nodes)
{
	int r = 0;
	if (nodes->count > nodes->all.len / NODE_LEAST)
		return err_set(
			-EIO, "damaged: %u nodes in %zu bytes", nodes->count, nodes->all.len);
	for (uint32_t i = 0; r == 0 && i < nodes->count; i++) {
		uint64_t counts[RANK_LIMIT];
		struct flat_table t;
		struct ice_node n = {0};
		struct span path;
		r = flat_table_of(nodes, i, &t);
		if (r == 0)
			r = read_node(&t, &n, &path, counts);
		if (r == FLAT_NONE) {
			leave_out(m, path, "is no path of a group or an array");
			r = 0;
			continue;
		}
		if (r < 0)
			return r;
		struct ice_node *to = add(m, (const char *)path.data + 1, path.len - 1);
		uint64_t *copy = n.rank ? malloc(n.rank * sizeof *copy) : NULL;
		if (!to || (n.rank && !copy)) {
			free(copy);
			return no_memory();
		}
		n.path = to->path;
		n.count = copy;
		if (n.rank)
			memcpy(copy, counts, n.rank * sizeof *copy);
		memcpy(to, &n, sizeof n);
	}
	return r;
}

static int
sort(struct ice_tree *t)
{
	if (t->count)
		qsort(t->node, t->count, sizeof *t->node, by_path);
	for (size_t i = 1; i < t->count; i++)
		if (!strcmp(t->node[i].path, t->node[i - 1].path))
			return err_set(-EIO, "damaged: two nodes at '/%s'", t->node[i].path);
	return 0;
}

/* A root that is an array becomes one of that name in a group: so it has a file, beside what is
 * said to lie below it, and its versions are directories as those of groups are. */
static int
name_root(struct ice_tree *t, const char *name)
{
	struct ice_node *root = ice_tree_find(t, "", 0);
	if (!root || !root->array)
		return 0;
	size_t len = strlen(name);
	char *path = calloc(1, len + t->count + 1);
	if (!path)
		return no_memory();
	memcpy(path, name, len);
	while (ice_tree_find(t, path, len))
		path[len++] = '_';
	free((char *)root->path);
	root->path = path;
	return sort(t);
}

static void
make_group(struct ice_node *n)
{
	static const char doc[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
	n->doc = (struct span){(const uint8_t *)doc, sizeof doc - 1};
	snprintf(n->version, sizeof n->version, "implicit");
}

/* Groups that only follow from what lies below them. */
static int
add_groups(struct node_making *m)
{
	struct ice_tree *t = m->tree;
	size_t explicit = t->count;
	for (size_t i = 0; i < explicit; i++) {
		size_t len = strlen(t->node[i].path);
		while (len) {
			while (len && t->node[i].path[len - 1] != '/')
				len--;
			len -= len > 0;
			const struct ice_tree known = {.node = t->node, .count = explicit};
			const struct ice_node *above = ice_tree_find(&known, t->node[i].path, len);
			if (above && above->array)
				leave_out(m, span_of(t->node[i].path),
					"lies below an array, which is a file");
			bool there = above;
			for (size_t k = explicit; k < t->count && !there; k++)
				there = strlen(t->node[k].path) == len &&
					!memcmp(t->node[k].path, t->node[i].path, len);
			if (there)
				break; /* and all above it */
			struct ice_node *n = add(m, t->node[i].path, len);
			if (!n)
				return no_memory();
			make_group(n);
			if (t->count - explicit > IMPLICIT)
				return err_set(-EIO, "damaged: most of its groups are missing");
		}
	}
	if (!t->count) {
		struct ice_node *n = add(m, "", 0);
		if (!n)
			return no_memory();
		make_group(n);
	}
	return t->count > explicit ? sort(t) : 0;
}

static int
describe(const struct node_making *m, char **ret)
{
	const size_t len = m->odd.len < SHOWN ? m->odd.len : SHOWN;
	if (asprintf(ret, "'%.*s' %s%s", (int)len, (const char *)m->odd.data, m->why,
		    m->odds > 1 ? "; there are others" : "") >= 0)
		return 0;
	*ret = NULL;
	return no_memory();
}

int
ice_nodes_read(struct ice_tree *t, const struct flat_vector *nodes, const char *root_name)
{
	struct node_making m = {.tree = t};
	int r = add_nodes(&m, nodes);
	if (r == 0)
		r = sort(t);
	if (r == 0 && root_name)
		r = name_root(t, root_name);
	if (r == 0)
		r = add_groups(&m);
	return r == 0 && m.odds ? describe(&m, &t->odd) : r;
}
