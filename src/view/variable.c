#include "view/variable.h"

#include "view/facts.h"
#include "view/flat.h"
#include "view/length.h"
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

uint64_t
variable_version(const struct node *n, uint32_t width)
{
	const struct array_meta *a = n->array;
	return variable_version_with(n, width, a && a->rank ? a->shape[0] : 0);
}

uint64_t
variable_version_with(const struct node *n, uint32_t width, uint64_t rows)
{
	const struct array_meta *a = n->array;
	uint64_t h = hash_number(HASH_START, n->kind);
	if (!a)
		return hash_end(h);
	h = hash_number(h, a->layout);
	h = hash_number(h, a->rank);
	for (unsigned i = 0; i < a->rank; i++)
		h = hash_number(h, i ? a->shape[i] : rows);
	h = hash_number(h, a->null_fill);
	if (a->fill)
		h = hash_bytes(h, a->fill, a->dtype.size);
	if (a->fill_text)
		h = hash_bytes(h, a->fill_text, a->fill_len);
	return hash_end(hash_number(h, width));
}

static bool
same_fill(const struct array_meta *a, const struct array_meta *b)
{
	if (a->null_fill != b->null_fill || a->dtype.size != b->dtype.size ||
		a->fill_len != b->fill_len || !a->fill != !b->fill ||
		!a->fill_text != !b->fill_text)
		return false;
	return (!a->fill || !memcmp(a->fill, b->fill, a->dtype.size)) &&
	       (!a->fill_text || !memcmp(a->fill_text, b->fill_text, a->fill_len));
}

bool
variable_lives_on(const struct node *old, const struct node *now)
{
	const struct array_meta *a = old->array, *b = now ? now->array : NULL;
	if (now && now->serial < old->serial) /* what another thread saw before */
		return true;
	if (!a || !b || now->error || a->layout != b->layout || a->rank != b->rank ||
		!same_fill(a, b))
		return false;
	for (unsigned i = 0; i < a->rank; i++)
		if (b->shape[i] < a->shape[i])
			return false;
	return true;
}

int
variable_say_rewritten(const char *path)
{
	return err_set(-EIO, "array '%s' was rewritten while it was open", path);
}

int
variable_usable(const struct variable *v)
{
	return atomic_load_explicit(&v->rewritten, memory_order_relaxed)
		       ? variable_say_rewritten(v->node->path)
		       : 0;
}

static int
check(void *arg)
{
	struct variable *v = arg;
	CLEAN(node_unrefp) struct node *now = NULL;
	if (variable_usable(v) < 0)
		return variable_say_rewritten(v->node->path);
	int r = model_look_again(v->mount->model, v->node->path, &now);
	if (r < 0)
		return r;
	if (r == 0 && variable_lives_on(v->node, now))
		return 0;
	atomic_store(&v->rewritten, true);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "array '%s' is no longer in the store", v->node->path);
	return variable_say_rewritten(v->node->path);
}

/* *ret: when the metadata were last known to hold. Do they? */
static bool
find_seen(struct variable *v, int64_t wanted, int64_t *ret)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	*ret = model_seen(v->mount->model, v->node->path, wanted, &now);
	if (now && now != v->node && !variable_lives_on(v->node, now))
		atomic_store(&v->rewritten, true);
	return !atomic_load(&v->rewritten);
}

static int64_t
seen(void *arg, int64_t wanted)
{
	int64_t wall;
	return find_seen(arg, wanted, &wall) ? wall : 0;
}

static bool
outdated(void *arg)
{
	int64_t wall;
	return !find_seen(arg, 0, &wall);
}

static uint64_t
rows(void *arg, int64_t mtime, bool behind)
{
	struct variable *v = arg;
	CLEAN(node_unrefp) struct node *now = NULL;
	model_seen(v->mount->model, v->node->path, 0, &now);
	return now && now->array && length_grows(v->mount, now) &&
			       !length_may_come(now, mtime, behind)
		       ? now->array->shape[0]
		       : UINT64_MAX;
}

static uint64_t
document(void *arg)
{
	struct variable *v = arg;
	CLEAN(node_unrefp) struct node *now = NULL;
	model_seen(v->mount->model, v->node->path, 0, &now);
	return now ? now->document : 0;
}

static void
left(void *arg, const char *key)
{
	struct variable *v = arg;
	notes_add(&v->mount->notes,
		"'%s' lies behind the end of array '%s' and cannot be read: it is replaced (%s)",
		key, v->node->path, err_text());
}

static bool
other(void *arg)
{
	struct variable *v = arg;
	CLEAN(node_unrefp) struct node *now = NULL;
	model_seen(v->mount->model, v->node->path, 0, &now);
	return now && now->array && now->array->layout != v->node->array->layout;
}

static void
changed(void *arg, int64_t mtime)
{
	struct variable *v = arg;
	facts_changed(&v->mount->facts, v->node->path, mtime);
	mount_stale(v->mount, v->node->path, STALE_CHUNK);
}

static void
release(void *arg)
{
	struct variable *v = arg;
	node_unref(v->node);
	free(v);
}

/* A variable of the path in the table: the first one, and the one behind it. The lock is held. */
static struct variable *
next_of(const struct variable_table *t, const char *path, const struct variable *v)
{
	struct map_entry *e = v ? map_next(&v->by_path) : map_first(&t->by_path, hash_name(path));
	for (; e; e = map_next(e)) {
		struct variable *of = MAP_OF(e, struct variable, by_path);
		if (!strcmp(of->node->path, path))
			return of;
	}
	return NULL;
}

/* A reference to the one in the table, or NULL. */
static struct variable *
find(struct variable_table *t, const char *path, uint64_t version)
{
	struct variable *v = NULL;
	LOCKED(&t->lock) {
		v = next_of(t, path, NULL);
		while (v && v->version != version)
			v = next_of(t, path, v);
		if (v)
			v->users++;
	}
	return v;
}

static void
insert(struct variable_table *t, struct variable *v)
{
	LOCKED(&t->lock) {
		map_add(&t->by_path, &v->by_path, hash_name(v->node->path));
		v->listed = true;
	}
}

/* So that it becomes the variable's. */
static void
own_array(struct variable *v, struct array *a)
{
	/* What never changes needs not be compared with what is there now. */
	bool fixed = v->node->array->chunks_of;
	array_set_hooks(a, &(struct array_hooks){
				   .arg = v,
				   .check = fixed ? NULL : check,
				   .seen = fixed ? NULL : seen,
				   .outdated = fixed ? NULL : outdated,
				   .rows = fixed ? NULL : rows,
				   .document = fixed ? NULL : document,
				   .left = left,
				   .other = fixed ? NULL : other,
				   .changed = changed,
				   .release = release,
			   });
	v->mount->variables.opened++;
	atomic_store(&v->array, a);
}

/* With one user, and in no table. */
static int
make(struct mount *m, const struct node *n, uint64_t version, uint32_t width, struct variable **ret)
{
	struct variable *v = calloc(1, sizeof *v);
	if (!v)
		return err_set(-ENOMEM, "no memory for a variable");
	v->mount = m;
	v->node = node_ref((struct node *)n);
	v->version = version;
	v->width = width;
	v->users = 1;
	*ret = v;
	return 0;
}

static int
open_array(struct variable *v, const struct array_meta *meta, struct array **ret)
{
	struct mount *m = v->mount;
	struct array *a = NULL, *other = NULL;
	int r = array_open(m->data, m->zmap, v->node->path, meta, v->width, &a);
	if (r < 0)
		return r;
	LOCKED(&m->variables.lock) {
		other = v->array;
		if (!other)
			own_array(v, a);
	}
	if (other)
		array_unref(a);
	*ret = other ? other : a;
	return 0;
}

int
variable_array(struct variable *v, struct array **ret)
{
	*ret = atomic_load(&v->array);
	return *ret ? 0 : open_array(v, v->node->array, ret);
}

int
variable_grown(
	struct mount *m, const struct node *n, uint64_t rows, uint32_t width, struct variable **ret)
{
	struct array_meta meta = *n->array;
	uint64_t shape[RANK_MAX];
	struct array *a;
	CLEAN(variable_unrefp) struct variable *v = NULL;
	memcpy(shape, meta.shape, meta.rank * sizeof *shape);
	shape[0] = rows;
	meta.shape = shape;
	int r = make(m, n, variable_version_with(n, width, rows), width, &v);
	if (r == 0)
		r = open_array(v, &meta, &a);
	if (r == 0)
		r = array_resizable(a, n->array->shape[0], rows, -EFBIG);
	if (r == 0)
		*ret = MOVE(v);
	return r;
}

/* Can an array of this version be opened? */
static int
try_array(struct mount *m, const struct node *n, uint64_t version, uint32_t width)
{
	atomic_ullong *known = &m->variables.opens[version % VARIABLE_KINDS];
	struct array *a = NULL;
	if (atomic_load_explicit(known, memory_order_relaxed) == version)
		return 0;
	int r = array_open(m->data, m->zmap, n->path, n->array, width, &a);
	if (r == 0)
		atomic_store_explicit(known, version, memory_order_relaxed);
	array_unref(a);
	return r;
}

int
variable_get_closed(struct mount *m, const struct node *n, uint32_t width, struct variable **ret)
{
	uint64_t version = variable_version(n, width);
	struct variable *v = find(&m->variables, n->path, version);
	if (v && variable_usable(v) == 0) {
		*ret = v;
		return 0;
	}
	variable_unref(v); /* marked, but the store has that version again: a new start */
	int r = try_array(m, n, version, width);
	if (r == 0)
		r = make(m, n, version, width, &v);
	if (r < 0)
		return r;
	insert(&m->variables, v); /* two of one version, opened at the same moment, do no harm */
	*ret = v;
	return 0;
}

int
variable_get(struct mount *m, const struct node *n, uint32_t width, struct variable **ret)
{
	struct array *a;
	CLEAN(variable_unrefp) struct variable *v = NULL;
	int r = variable_get_closed(m, n, width, &v);
	if (r == 0)
		r = variable_array(v, &a);
	if (r == 0)
		*ret = MOVE(v);
	return r;
}

struct variable *
variable_ref(struct variable *v)
{
	LOCKED(&v->mount->variables.lock)
		v->users++;
	return v;
}

struct variable *
variable_unref(struct variable *v)
{
	if (!v)
		return NULL;
	struct variable_table *t = &v->mount->variables;
	bool last = false;
	LOCKED(&t->lock) {
		last = --v->users == 0;
		if (last && v->listed)
			map_remove(&t->by_path, &v->by_path);
		t->opened -= last && v->array;
	}
	if (last && v->array)
		array_unref(v->array); /* a worker may hold it for a while: release frees v when all
					  are done */
	else if (last)
		release(v);
	return NULL;
}

void
variables_replaced(struct mount *m, const char *path, const struct node *now)
{
	struct variable_table *t = &m->variables;
	LOCKED(&t->lock) {
		for (struct variable *v = next_of(t, path, NULL); v; v = next_of(t, path, v))
			if (!v->node->array->chunks_of && !variable_lives_on(v->node, now))
				atomic_store(&v->rewritten, true);
	}
}

/* Measured, not counted: an open array with its codecs. */
enum { ARRAY_BYTES_ABOUT = 4096 };

size_t
variables_bytes(struct mount *m)
{
	size_t n = 0;
	LOCKED(&m->variables.lock)
		n = m->variables.opened * ARRAY_BYTES_ABOUT;
	return n;
}
