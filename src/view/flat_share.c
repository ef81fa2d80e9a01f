#include "view/flat_share.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit.h"
#include "view/flat.h"
#include "view/flats.h"
#include "view/shared_rows.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* --- the variables --- */

static size_t
dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) : 0;
}

static bool
same_group(const struct node *a, const struct node *b)
{
	size_t n = dir_len(a->path);
	return n == dir_len(b->path) && strncmp(a->path, b->path, n) == 0;
}

/* By its full name; of pure Zarr, which has none, by the simple one in a group. */
static bool
same_name(const struct shared_rows *s, const struct node *n, const struct dim *d)
{
	const struct dim *of = &s->of->array->dim[0];
	if (of->fqn && d->fqn)
		return strcmp(of->fqn, d->fqn) == 0;
	return of->name && d->name && !of->fqn == !d->fqn && strcmp(of->name, d->name) == 0 &&
	       same_group(s->of, n);
}

static int
add_path(struct buf *to, const struct node *n)
{
	return buf_add(to, n->path, strlen(n->path) + 1);
}

/* Of pure Zarr: it shares the dimension if it is as long, or was once. */
static int
take_named(struct shared_rows *s, const struct node *n, uint64_t length)
{
	struct facts *f = &s->mount->facts;
	const uint64_t rows = n->array->shape[0];
	enum kin kin = facts_kin(f, s->of->path, n->path);
	if (rows == length && kin != KIN_SAME)
		facts_set_kin(f, s->of->path, n->path, true);
	else if (rows != length && kin != KIN_SAME)
		return kin == KIN_UNKNOWN ? add_path(&s->unequal, n) : 0;
	if (s->fewer && rows <= s->rows)
		return 0;
	s->was = max_u64(s->was, rows);
	if (rows > s->rows && !s->fewer) {
		s->rows = rows;
		s->more = true;
	}
	return add_path(&s->paths, n);
}

/* Another writer may have appended rows since the array was looked at: they go with the others. */
static int
take_now(struct shared_rows *s, const struct node *seen)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct dim *of = &s->of->array->dim[0];
	int r = model_look_again(s->mount->model, seen->path, &n);
	if (r || !n->array || !n->array->rank)
		return r < 0 ? r : 0;
	if (!of->fqn)
		return take_named(s, n, of->size);
	s->was = max_u64(s->was, n->array->shape[0]);
	return add_path(&s->paths, n);
}

static int
take(struct shared_rows *s, const struct node *n)
{
	const struct array_meta *a = n->array;
	const struct dim *of = &s->of->array->dim[0];
	if (!a || !strcmp(n->path, s->of->path))
		return 0;
	for (unsigned i = 1; i < a->rank; i++)
		if (same_name(s, n, &a->dim[i]) && (of->fqn || a->dim[i].size == of->size))
			return err_set(-ENOTSUP,
				"the dimension '%s' grows, which is not the first one of '%s'",
				a->dim[i].name, n->path);
	if (!a->rank || !same_name(s, n, &a->dim[0]))
		return 0;
	if (s->fewer)
		return take_now(s, n);
	return of->fqn ? add_path(&s->paths, n) : take_named(s, n, of->size);
}

static int
add_name(const struct model_child *c, void *arg)
{
	return c->kind == NODE_ARRAY || c->kind == NODE_GROUP || !c->known
		       ? buf_add(arg, c->name, strlen(c->name) + 1)
		       : 0;
}

/* Below a group; where dimensions have no full names, in it. */
static int
find(struct shared_rows *s, const char *group)
{
	CLEAN(buf_free) struct buf names = {0};
	struct model *model = s->mount->model;
	int r = model_children(model, group, add_name, &names);
	for (size_t at = 0; r == 0 && at < names.len;) {
		const char *name = (const char *)names.data + at;
		CLEAN(clean_free) char *path = path_in(group, name);
		CLEAN(node_unrefp) struct node *n = NULL;
		at += strlen(name) + 1;
		if (!path)
			return err_set(-ENOMEM, "no memory for a path");
		r = model_lookup(model, path, &n);
		if (r == ZMAP_ABSENT)
			r = 0;
		else if (r == 0 && n->kind == NODE_ARRAY)
			r = take(s, n);
		else if (r == 0 && n->kind == NODE_GROUP && s->of->array->dim[0].fqn)
			r = find(s, path);
	}
	return r;
}

/* --- arrays of another length, of which is not known whether they share the dimension --- */

/* ns. Another writer has stored all lengths after so long; one that looks at them pauses so long at
 * first, and at most. */
static const int64_t LATELY = 600 * SECOND, STILL = 6 * SECOND;
enum { PAUSE_FIRST = 50000, PAUSE_LAST = 400000 }; /* us */

struct shared_lengths {
	uint64_t print; /* of them all */
	bool lately;    /* some were stored lately, as far as is known */
};

static int
length_of(struct shared_rows *s, const char *path, struct shared_lengths *l, struct node **ret)
{
	int r = model_look_again(s->mount->model, path, ret);
	if (r == 0 && !((*ret)->array && (*ret)->array->rank))
		r = ZMAP_ABSENT;
	if (r)
		return r;
	l->print = hash_number(l->print, (*ret)->array->shape[0]);
	l->lately |= !(*ret)->mtime || clock_wall() - (*ret)->mtime < LATELY;
	return 0;
}

/* Those that are as long by now do. */
static int
look_at_unequal(struct shared_rows *s, struct shared_lengths *ret)
{
	CLEAN(buf_free) struct buf all = s->unequal;
	CLEAN(node_unrefp) struct node *of = NULL;
	s->unequal = (struct buf){0};
	int r = length_of(s, s->of->path, ret, &of);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "array '%s' is no longer in the store", s->of->path);
	if (r == 0)
		s->was = max_u64(s->was, of->array->shape[0]);
	for (size_t at = 0; r == 0 && at < all.len;) {
		const char *path = (const char *)all.data + at;
		CLEAN(node_unrefp) struct node *n = NULL;
		at += strlen(path) + 1;
		r = length_of(s, path, ret, &n);
		if (r == 0)
			r = take_named(s, n, of->array->shape[0]);
		else if (r == ZMAP_ABSENT)
			r = 0;
	}
	return r;
}

/* Another writer may be storing the lengths, one after the other. Those that stay unequal are of
 * another dimension. */
static int
watch_unequal(struct shared_rows *s, struct cancel *cancel)
{
	struct shared_lengths was = {0};
	unsigned pause = PAUSE_FIRST;
	const int64_t timeout = s->mount->options.data.timeout;
	const int64_t still = timeout / 2 < STILL ? timeout / 2 : STILL;
	int64_t until = 0, end = clock_now() + timeout;
	int r = 0;
	while (r == 0 && s->unequal.len) {
		struct shared_lengths now = {0};
		if (clock_over(end)) /* they change all the time: for now they are others' */
			return 0;
		r = look_at_unequal(s, &now);
		if (r < 0 || !now.lately || (now.print == was.print && clock_over(until)))
			break;
		if (now.print != was.print) {
			until = clock_now() + still;
			pause = PAUSE_FIRST;
		}
		was = now;
		usleep(pause);
		pause = pause < PAUSE_LAST ? 2 * pause : PAUSE_LAST;
		r = zmap_patience(0, cancel);
	}
	for (size_t at = 0; r == 0 && at < s->unequal.len;) {
		const char *path = (const char *)s->unequal.data + at;
		facts_set_kin(&s->mount->facts, s->of->path, path, false);
		at += strlen(path) + 1;
	}
	return r;
}

/* The group at the top of the store that a node lies in, which may be in folders of stores.
 * ZMAP_ABSENT: it is the top itself. */
static int
top_of(struct model *m, const struct node *n, char **ret)
{
	for (const char *at = n->path, *slash; at; at = slash ? slash + 1 : NULL) {
		const size_t len = at > n->path ? (size_t)(at - n->path) - 1 : 0;
		CLEAN(clean_free) char *above = strndup(n->path, len);
		CLEAN(node_unrefp) struct node *g = NULL;
		slash = strchr(at, '/');
		int r = above ? model_lookup(m, above, &g)
			      : err_set(-ENOMEM, "no memory for a path");
		if (r < 0)
			return r;
		if (r == 0 && g->kind == NODE_GROUP) {
			*ret = MOVE(above);
			return 0;
		}
	}
	return ZMAP_ABSENT;
}

/* The group that declares the dimension. ZMAP_ABSENT: the array is the top of its store. */
static int
group_of(struct model *m, const struct node *n, char **ret)
{
	CLEAN(clean_free) char *top = NULL;
	CLEAN(clean_free) char *below = NULL;
	const char *fqn = n->array->dim[0].fqn;
	int r = top_of(m, n, &top);
	if (r)
		return r;
	if (!fqn || *fqn != '/')
		*ret = strndup(n->path, dir_len(n->path));
	else if ((below = strndup(fqn + 1, dir_len(fqn + 1))))
		*ret = *below ? path_in(top, below) : MOVE(top);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for a path");
}

/* --- what --- */

int
shared_rows_look(
	const struct shared_rows *s, const char *path, struct node **ret_node, struct layout **ret)
{
	uint32_t width = 0;
	int r = model_lookup(s->mount->model, path, ret_node);
	if (r == 0 && !(*ret_node)->array)
		r = ZMAP_ABSENT;
	if (r == 0)
		r = flat_file_width(s->mount, *ret_node, &width);
	if (r == 0)
		r = flat_lay_out(s->mount, *ret_node, width, (struct span){0}, ret);
	return r;
}

static int
prepare(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	struct flat *w = NULL;
	int r = shared_rows_look(s, path, &n, &l);
	if (r == 0)
		r = flats_get(s->mount, n, l, &w);
	if (r == 0) {
		r = flat_clear_tail(w, s->rows, cancel);
		flat_put(w);
	}
	return r == ZMAP_ABSENT ? err_set(-EIO, "'%s' is gone", path)
	       : r < 0          ? err_add(r, "'%s', which shares its first dimension", path)
				: r;
}

int
shared_rows_commit(
	struct shared_rows *s, int (*resize)(struct edit *, uint64_t), struct cancel *cancel)
{
	CLEAN(edit_freep) struct edit *e = NULL;
	int r = model_edit(s->mount->model, s->of->path, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-EIO, "array '%s' is no longer in the store", s->of->path);
	else if (r == 0 && !flat_is_same(s->of->array, edit_node(e)->array))
		r = variable_say_rewritten(s->of->path);
	s->overtaken = false;
	if (r == 0) {
		edit_expect(e, s->least);
		r = resize(e, s->rows);
	}
	for (size_t at = 0; r == 0 && !s->of->nczarr && at < s->paths.len;) {
		const char *path = (const char *)s->paths.data + at;
		r = edit_resize_with(e, path);
		at += strlen(path) + 1;
	}
	if (r == 0 && !s->fewer)
		return flat_commit_rows(s->mount, e, s->rows, cancel);
	if (r == 0) {
		r = edit_commit(e, clock_now() + s->mount->options.data.timeout, cancel);
		s->overtaken = edit_was_overtaken(e);
	}
	return r;
}

/* Others may have appended more by now, and theirs stays. */
static int
commit(struct shared_rows *s, struct cancel *cancel)
{
	return shared_rows_commit(s, edit_grow, cancel);
}

int
shared_rows_each(struct shared_rows *s, shared_each_fn *fn, struct cancel *cancel)
{
	int r = 0;
	for (size_t at = 0; r == 0 && at < s->paths.len;) {
		const char *path = (const char *)s->paths.data + at;
		r = fn(s, path, cancel);
		at += strlen(path) + 1;
	}
	return r;
}

/* Rows that come are fill in the node itself and in the others. */
static int
clear(struct shared_rows *s, struct cancel *cancel)
{
	int r = prepare(s, s->of->path, cancel);
	return r ? r : shared_rows_each(s, prepare, cancel);
}

static int
grow(struct shared_rows *s, struct cancel *cancel)
{
	int r = s->more ? clear(s, cancel) : shared_rows_each(s, prepare, cancel);
	return r ? r : commit(s, cancel);
}

int
shared_rows_with(struct shared_rows s, shared_fn *fn, struct cancel *cancel)
{
	CLEAN(clean_free) char *group = NULL;
	int r = group_of(s.mount->model, s.of, &group);
	s.was = s.of->array->shape[0];
	r = r == 0 ? find(&s, group) : r < 0 ? r : 0;
	if (r > 0)
		r = err_set(-EIO, "group '%s' is no longer in the store", group);
	if (r == 0)
		r = watch_unequal(&s, cancel);
	if (r == 0)
		r = fn(&s, cancel);
	buf_free(&s.paths);
	buf_free(&s.unequal);
	return r;
}

int
flat_share_clear(struct mount *m, const struct node *n, uint64_t rows, struct cancel *cancel)
{
	return shared_rows_with((struct shared_rows){m, n, rows}, clear, cancel);
}

int
flat_share_commit(
	struct mount *m, const struct node *n, uint64_t least, uint64_t rows, struct cancel *cancel)
{
	return shared_rows_with((struct shared_rows){m, n, rows, .least = least}, commit, cancel);
}

int
flat_share_rows(
	struct mount *m, const struct node *n, uint64_t least, uint64_t rows, struct cancel *cancel)
{
	return shared_rows_with((struct shared_rows){m, n, rows, .least = least}, grow, cancel);
}
