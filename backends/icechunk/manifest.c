#include "backends/icechunk/manifest.h"

#include "backends/icechunk/ref.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	/* slots of Manifest */
	M_ID = 0,
	M_ARRAYS,
	M_DICTIONARY,
	M_COMPRESSION,
	/* slots of ArrayManifest */
	A_NODE = 0,
	A_REFS,
	NODE_ID = 8,
	LEAST = 16 << 20,
	UNPACKED_LEAST = 128 << 20,
	/* of references */
	SORTED = 1,
	SORTED_TWICE,
};

/* One manifest. Immutable once it is ready. */
struct manifest {
	struct manifest *next; /* the most recently used first */
	uint8_t id[ICE_ID];
	unsigned users; /* under the lock */
	bool ready;     /* under the lock; false: a thread fetches it */
	bool early;     /* ice_may_be_early */
	struct err failure;
	struct buf bytes;
	struct flat_vector arrays;
	struct ice_dictionary dictionary;
	atomic_uchar *sorted; /* of each array: its references were found in order, and some of them
				 twice */
};

struct ice_manifests {
	struct zmap *lower;
	char *root;
	size_t memory;
	pthread_mutex_t lock; /* guards all below, and what manifest says */
	pthread_cond_t done;
	struct manifest *first;
};

static struct manifest *
manifest_free(struct manifest *m)
{
	if (m) {
		ice_dictionary_done(&m->dictionary);
		buf_free(&m->bytes);
		free(m->sorted);
		free(m);
	}
	return NULL;
}

int
ice_manifests_new(struct zmap *lower, const char *root, size_t memory, struct ice_manifests **ret)
{
	struct ice_manifests *p = calloc(1, sizeof *p);
	char *copy = strdup(root);
	if (!p || !copy) {
		free(p);
		free(copy);
		return err_set(-ENOMEM, "no memory for a table");
	}
	p->lower = lower;
	p->root = copy;
	p->memory = memory > LEAST ? memory : LEAST;
	pthread_mutex_init(&p->lock, NULL);
	clock_cond_init(&p->done);
	*ret = p;
	return 0;
}

struct ice_manifests *
ice_manifests_free(struct ice_manifests *p)
{
	if (!p)
		return NULL;
	for (struct manifest *m; (m = p->first);) {
		p->first = m->next;
		manifest_free(m);
	}
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p->root);
	free(p);
	return NULL;
}

/* --- one manifest --- */

/* The arrays must be in order of their ids, or a search finds nothing where there is something. */
static int
check_arrays(const struct flat_vector *arrays)
{
	const uint8_t *before = NULL;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < arrays->count; i++) {
		struct flat_table t;
		const uint8_t *id = NULL;
		r = flat_table_of(arrays, i, &t);
		if (r == 0)
			r = flat_required(flat_struct(&t, A_NODE, NODE_ID, &id), "node_id");
		if (r == 0 && before && memcmp(before, id, NODE_ID) >= 0)
			r = err_set(-EIO, "damaged: its arrays are not in order");
		before = id;
	}
	return r;
}

static int
understand(struct manifest *m)
{
	struct flat_table root;
	struct span dictionary = {0};
	const uint8_t *id;
	uint64_t method = 1;
	int r = flat_root(buf_span(&m->bytes), &root);
	if (r == 0)
		r = flat_required(flat_struct(&root, M_ID, ICE_ID, &id), "id");
	if (r == 0 && memcmp(id, m->id, ICE_ID))
		r = err_set(-EIO, "it is another manifest than its name says");
	if (r == 0)
		r = flat_required(flat_vector(&root, M_ARRAYS, 4, &m->arrays), "arrays");
	if (r == 0)
		r = check_arrays(&m->arrays);
	if (r == 0)
		r = flat_bytes(&root, M_DICTIONARY, &dictionary);
	if (r >= 0)
		r = flat_number(&root, M_COMPRESSION, 1, &method);
	if (r == 0)
		r = ice_dictionary_init(&m->dictionary, dictionary, (unsigned)method);
	if (r < 0)
		return r;
	m->sorted = calloc(m->arrays.count ? m->arrays.count : 1, sizeof *m->sorted);
	return m->sorted ? 0 : err_set(-ENOMEM, "no memory for a manifest");
}

/* The references of an array. */
static int
find_refs(struct manifest *m, const struct ice_wanted *w, struct flat_vector *ret, bool *ret_twice)
{
	uint32_t low = 0, high = m->arrays.count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		struct flat_table t;
		const uint8_t *id;
		int r = flat_table_of(&m->arrays, mid, &t);
		if (r == 0)
			r = flat_required(flat_struct(&t, A_NODE, NODE_ID, &id), "node_id");
		if (r < 0)
			return r;
		int order = memcmp(id, w->node, NODE_ID);
		if (order) {
			*(order < 0 ? &low : &high) = order < 0 ? mid + 1 : mid;
			continue;
		}
		r = flat_required(flat_vector(&t, A_REFS, 4, ret), "refs");
		const unsigned char known = atomic_load(&m->sorted[mid]);
		*ret_twice = known == SORTED_TWICE;
		if (r == 0 && !known) {
			r = ice_refs_check(ret, ret_twice);
			if (r == 0)
				atomic_store(&m->sorted[mid], *ret_twice ? SORTED_TWICE : SORTED);
		}
		return r;
	}
	return ZMAP_ABSENT;
}

static int
search(struct manifest *m, const struct ice_wanted *w, const char *root, struct chunk_place *ret)
{
	struct flat_vector refs;
	bool twice;
	uint32_t at;
	int r = find_refs(m, w, &refs, &twice);
	if (r == 0)
		r = ice_refs_find(&refs, w->rank, w->index, m->early, &at);
	return r == 0 ? ice_refs_place(&refs, at, twice, &m->dictionary, root, ret) : r;
}

int
ice_manifest_search(
	struct span payload, const struct ice_wanted *w, const char *root, struct chunk_place *ret)
{
	struct manifest *m = calloc(1, sizeof *m);
	if (!m)
		return err_set(-ENOMEM, "no memory for a manifest");
	memcpy(m->id, w->manifest, ICE_ID);
	m->early = true;
	int r = buf_add(&m->bytes, payload.data, payload.len);
	if (r == 0)
		r = understand(m);
	if (r == 0)
		r = search(m, w, root, ret);
	manifest_free(m);
	return r;
}

/* --- all of them --- */

static int
fetch(struct ice_manifests *p, struct manifest *m, const struct ice_wanted *w)
{
	char id[ICE_ID_TEXT + 1];
	CLEAN(clean_free) char *key = NULL;
	ice_id_text(w->manifest, id);
	if (asprintf(&key, "%smanifests/%s", p->root, id) < 0) {
		key = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	const size_t max = p->memory > UNPACKED_LEAST ? p->memory : UNPACKED_LEAST;
	struct zmap_get g = {.key = key, .max = max, .deadline = w->deadline};
	int r = ice_read(p->lower, &g, ICE_MANIFEST, w->size, &m->bytes, &m->early, NULL);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "the manifest '%s' is not there", key);
	if (r == 0)
		r = understand(m);
	return r < 0 && r != -ENOMEM && r != -EACCES ? err_add(-EIO, "manifest '%s'", id) : r;
}

/* Takes those away that are not used and that there is no room for. Lock held. */
static void
make_room(struct ice_manifests *p)
{
	size_t bytes = 0;
	for (struct manifest **at = &p->first, *m; (m = *at);) {
		bool first = m == p->first;
		bytes += m->ready ? m->bytes.cap : 0;
		if (m->users || !m->ready || first || bytes <= p->memory) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		bytes -= m->bytes.cap;
		manifest_free(m);
	}
}

size_t
ice_manifests_bytes(struct ice_manifests *p)
{
	size_t bytes = 0;
	LOCKED(&p->lock)
		for (const struct manifest *m = p->first; m; m = m->next)
			bytes += m->ready ? m->bytes.cap : 0;
	return bytes;
}

static void
unlink_manifest(struct ice_manifests *p, struct manifest *m)
{
	struct manifest **at = &p->first;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

static void
release(struct ice_manifests *p, struct manifest *m)
{
	bool last = false;
	LOCKED(&p->lock) {
		m->users--;
		last = !m->users && m->failure.code;
		if (!m->failure.code)
			make_room(p);
	}
	if (last)
		manifest_free(m);
}

/* Lock held. Waits for the thread that fetches it. */
static int
wait_ready(struct ice_manifests *p, const struct manifest *m, int64_t deadline)
{
	const struct timespec until = {deadline / SECOND, deadline % SECOND};
	while (!m->ready) {
		if (!deadline)
			pthread_cond_wait(&p->done, &p->lock);
		else if (pthread_cond_timedwait(&p->done, &p->lock, &until) == ETIMEDOUT)
			return err_set(-ETIMEDOUT, "no manifest in time");
	}
	return m->failure.code ? err_restore(&m->failure) : 0;
}

/* Lock held: to the front, or a new one that the caller fetches. */
static struct manifest *
find_or_add(struct ice_manifests *p, const uint8_t *id, bool *ret_new)
{
	struct manifest *m = p->first;
	while (m && memcmp(m->id, id, ICE_ID))
		m = m->next;
	*ret_new = !m;
	if (m)
		unlink_manifest(p, m);
	else if ((m = calloc(1, sizeof *m)))
		memcpy(m->id, id, ICE_ID);
	if (m) {
		m->next = p->first;
		p->first = m;
		m->users++;
	}
	return m;
}

static int
get(struct ice_manifests *p, const struct ice_wanted *w, struct manifest **ret)
{
	struct manifest *m = NULL;
	bool new = false;
	int r = 0;
	LOCKED(&p->lock) {
		m = find_or_add(p, w->manifest, &new);
		if (m && !new)
			r = wait_ready(p, m, w->deadline);
	}
	if (!m)
		return err_set(-ENOMEM, "no memory for a manifest");
	if (new) {
		r = fetch(p, m, w);
		LOCKED(&p->lock) {
			m->ready = true;
			if (r < 0) {
				err_save(r, &m->failure);
				unlink_manifest(p, m);
			}
			pthread_cond_broadcast(&p->done);
		}
	}
	if (r < 0)
		release(p, m);
	else
		*ret = m;
	return r;
}

int
ice_manifests_locate(struct ice_manifests *p, const struct ice_wanted *w, struct chunk_place *ret)
{
	struct manifest *m = NULL;
	int r = get(p, w, &m);
	if (r < 0)
		return r;
	r = search(m, w, p->root, ret);
	if (r < 0) {
		char id[ICE_ID_TEXT + 1];
		ice_id_text(m->id, id);
		r = err_add(r, "manifest '%s'", id);
	}
	release(p, m);
	return r;
}
