/* Where the elements of an image's variables are in the store, and how they get there. */
#include "view/image/images.h"

#include "base/check.h"
#include "base/path.h"

#include "model/edit.h"
#include "view/flat_share.h"
#include "view/flats.h"
#include "view/image/image_new.h"
#include "view/image/image_target.h"
#include "view/netcdf/nc_plan.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* What is left of an array that was made shorter is. */
static int
usable(struct open_image *o, struct image_target *t)
{
	const int r = t->variable ? variable_usable(t->variable) : 0;
	return r < 0 && image_target_was_cut(o, t) ? 0 : r;
}

static int
say_cut(const struct image_target *t)
{
	return err_set(-EIO, "'%s' was made shorter while it was open: it has %llu rows",
		t->node->path, (unsigned long long)t->node->array->shape[0]);
}

static bool
has(const struct image_target *t, uint64_t off, size_t len)
{
	const uint64_t end = array_bytes(t->array);
	return off <= end && len <= end - off;
}

static int
target_read(void *arg, void *target, const struct array_want *how, uint64_t off, size_t len,
	uint8_t *to)
{
	struct image_target *t = target;
	struct reply reply = {0};
	struct array_want w = *how;
	int r = usable(arg, t);
	if (r == 0 && !has(t, off, len))
		r = say_cut(t);
	if (r == 0 && !t->stream)
		r = stream_new(t->array, &t->stream);
	w.off = off;
	w.len = len;
	w.since = 0;
	if (r == 0)
		r = stream_read(t->stream, &w, &reply);
	if (r == 0 && reply.len != len)
		r = err_set(-EIO, "%zu bytes instead of %zu", reply.len, len);
	if (r == 0)
		reply_copy(&reply, to);
	reply_done(&reply);
	return r;
}

/* Are they whole elements, and nothing but the array's fill value? Where that is null, a chunk that
 * is not there is anything to other programs. */
static bool
is_fill(const struct image_target *t, uint64_t off, struct span bytes)
{
	const size_t item = array_dtype(t->array)->size;
	CLEAN(clean_free) uint8_t *fill = calloc(1, item + 1);
	if (!fill || !item || t->node->array->null_fill || off % item || bytes.len % item)
		return false;
	flat_fill_value(t->node->array, item, fill);
	return span_repeats(bytes, fill, item);
}

/* As far as there are such rows. */
static int
write_left(struct open_image *o, struct image_target *t, const struct array_want *how,
	struct span bytes)
{
	struct array_want w = *how;
	int r;
	do {
		const uint64_t end = array_bytes(t->array);
		w.len = w.off < end ? (size_t)min_u64(bytes.len, end - w.off) : 0;
		r = w.len ? array_write(t->array, &w, bytes.data) : 0;
	} while (r < 0 && image_target_was_cut(o, t));
	return r == 0 && w.len < bytes.len ? say_cut(t) : r;
}

static int
target_write(void *arg, void *target, const struct array_want *how, uint64_t off, struct span bytes)
{
	struct open_image *o = arg;
	struct image_target *t = target;
	struct array_want w = *how;
	int r = usable(o, t);
	w.off = off;
	if (w.under && is_fill(t, off, bytes)) /* of which rows are that others have not written */
		return r;
	if (r == 0 && t->round != 1 + atomic_load(&o->round)) {
		t->round = 1 + atomic_load(&o->round);
		r = images_touch(o, t->node->path);
	}
	return r < 0 ? r : write_left(o, t, &w, bytes);
}

struct neighbours {
	const struct image_source *source;
	size_t n;
};

/* An array of the group that the file has not. */
static int
is_other(const struct model_child *c, void *arg)
{
	const struct neighbours *all = arg;
	bool known = false;
	for (size_t i = 0; i < all->n; i++) {
		const struct image_target *t = all->source[i].target;
		known |= t && strcmp(t->node->name, c->name) == 0;
	}
	return c->kind == NODE_ARRAY && !known;
}

/* What goes with the variable goes with others, too: the file must not change it. */
static void
guard(struct open_image *o, const struct image_source *s, size_t n, bool *ret)
{
	CLEAN(clean_free) char *path = NULL;
	struct neighbours all = {s, n};
	*ret = o->own != NULL;
	if (!o->own && !o->of_group && image_group_path(o, &path) == 0)
		*ret = model_children(o->mount->model, path, is_other, &all) != 0;
}

/* --- the file as its plan has it --- */

int
image_form_of(struct open_image *o, struct nc_plan *p, struct image_form **ret)
{
	struct image_source *s = calloc(p->file.nvars + 1, sizeof *s);
	int r = s ? 0 : err_set(-ENOMEM, "no memory for an image");
	for (size_t i = 0; i < p->file.nvars && r == 0; i++) {
		struct variable *v = p->source[i].variable;
		struct image_target *t = NULL;
		if (v)
			r = image_target_new(variable_ref(v), &t);
		s[i] = (struct image_source){
			.target = t, .axis = p->source[i].axis, .convert = p->source[i].convert};
		p->source[i].convert = (struct convert){0};
	}
	const struct span header = buf_span(&p->file.header);
	const size_t n = p->file.nvars;
	if (r == 0)
		guard(o, s, n, &o->shares);
	for (size_t i = 0; i < n && r == 0; i++)
		s[i].guarded = o->shares && s[i].target && image_is_companion(o, s[i].target);
	struct buf kept = p->file.header;
	p->file.header = (struct buf){0};
	if (r == 0) {
		/* The sources of a plan are as many as its variables. */
		free(p->source);
		p->source = NULL;
		r = image_form_new(&p->file, header, s, ret);
	}
	buf_free(&kept);
	for (size_t i = 0; r < 0 && s && i < n; i++) {
		if (s[i].target)
			image_target_free(o, s[i].target);
		convert_free(&s[i].convert);
	}
	if (r < 0)
		free(s);
	return r;
}

/* --- under a new header --- */

static int
flush(void *arg, const struct image_form *form, const struct array_want *how)
{
	int r = image_flush(arg, form, how);
	return image_confirm(arg, form, r, how);
}

/* Does the second variable get longer with the first? Dimensions of NCZarr are shared by all that
 * have them, those of pure Zarr in one group: a coordinate may be in one above. */
static bool
grow_together(const struct change *c, size_t i, size_t k)
{
	const struct image_target *a = c->now->source[i].target, *b = c->now->source[k].target;
	if (!a || !b || !change_grown(c, i) || !change_grown(c, k) ||
		c->was->file.var[c->var[i]].dim[0] != c->was->file.var[c->var[k]].dim[0])
		return false;
	const char *one = a->node->path, *other = b->node->path;
	const size_t len = (size_t)(path_name(one) - one);
	return a->node->array->dim[0].fqn ||
	       (len == (size_t)(path_name(other) - other) && memcmp(one, other, len) == 0);
}

/* Metadata count the rows of all variables that get longer with that one. */
static void
set_counted(const struct change *c, size_t var)
{
	for (size_t i = 0; i < c->now->file.nvars; i++)
		if (grow_together(c, var, i))
			((struct image_target *)c->now->source[i].target)->counted = true;
}

static void
set_done(const struct change *c, size_t var, bool *done)
{
	for (size_t i = var; i < c->now->file.nvars; i++)
		done[i] |= grow_together(c, var, i);
}

/* Each dimension that has grown, by one of the variables that lead with it and share it. */
static int
share_rows(struct open_image *o, const struct change *c, const struct array_want *how, bool commits)
{
	CLEAN(clean_free) bool *done = calloc(c->now->file.nvars + 1, sizeof *done);
	int r = done ? 0 : err_set(-ENOMEM, "no memory for variables");
	for (size_t i = 0; i < c->now->file.nvars && r == 0; i++) {
		const uint64_t rows = change_grown(c, i);
		const struct image_target *t = c->now->source[i].target;
		CLEAN(node_unrefp) struct node *n = NULL;
		if (!t || !rows || done[i])
			continue;
		r = model_lookup(o->mount->model, t->node->path, &n);
		if (r == ZMAP_ABSENT || (r == 0 && !n->array))
			r = err_set(
				-EIO, "'%s' is no longer in the store", t->variable->node->path);
		if (r < 0 || n->array->shape[0] >= rows) {
			if (r == 0 && commits)
				r = flat_find_counted(o->mount, t->array, n, rows, how->cancel);
			continue;
		}
		set_done(c, i, done);
		r = commits ? flat_share_commit(o->mount, n, t->least, rows, how->cancel)
			    : flat_share_clear(o->mount, n, rows, how->cancel);
		if (r == 0 && commits)
			set_counted(c, i);
	}
	return r == -ENOTSUP ? -EINVAL : r;
}

/* The array that has grown to so many rows. What is known of it may be from before this mount
 * counted them: only the store tells that they are fewer again. */
static int
look_at_rows(struct open_image *o, const struct image_target *t, uint64_t rows, struct node **ret)
{
	int r = model_lookup(o->mount->model, t->node->path, ret);
	const bool fewer = r == 0 && (*ret)->array && (*ret)->array->shape[0] < rows;
	if (!fewer || !t->counted)
		return r;
	node_unref(*ret);
	*ret = NULL;
	return model_look_again(o->mount->model, t->node->path, ret);
}

/* Where metadata count the rows, what becomes of the array is seen by these; they may be fewer
 * again by now. Another writer may still be about to count those of this one. */
static int
follow_grown(struct open_image *o, const struct change *c)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->now->file.nvars; i++) {
		struct image_target *t = c->now->source[i].target;
		const uint64_t rows = t ? change_grown(c, i) : 0;
		CLEAN(node_unrefp) struct node *now = NULL;
		if (rows && look_at_rows(o, t, rows, &now) == 0 && now->array &&
			(t->counted || now->array->shape[0] >= rows))
			r = image_target_take(o, t, now);
	}
	return r;
}

/* What comes next begins with what other programs have left. */
static void
look_again(struct open_image *o, const struct image_form *now)
{
	for (size_t i = 0; i < now->file.nvars; i++)
		if (now->source[i].target)
			image_target_was_cut(o, now->source[i].target);
}

static int
commit(void *arg, const struct change *c, const struct array_want *how)
{
	struct open_image *o = arg;
	const bool drops =
		o->of_group && c->rewritten && o->mount->options.allow_delete && !o->adds;
	if (o->of_group && c->missing && !drops)
		notes_add(&o->mount->notes,
			"'%s' was written without %zu of its variables: they stay in the store",
			o->path, c->missing);
	int r = image_flush(o, c->now, how);
	if (r == 0)
		r = share_rows(o, c, how, true);
	if (r == 0)
		r = image_edit_all(o, c, true, how);
	if (r == 0)
		r = image_move_late(o, c);
	if (r == 0)
		image_new_made(c->now);
	if (r == 0 && drops)
		r = image_move_drop(o, c);
	r = image_confirm(o, c->now, r, how);
	if (r < 0)
		look_again(o, c->now);
	else
		r = follow_grown(o, c);
	return r < 0 ? r : data_sync(o->mount->data, o->mount->zmap);
}

static int
no_own(const struct open_image *o)
{
	if (!o->own)
		return err_set(-EINVAL, "the variable that the file is for is no longer in it");
	return err_set(-EINVAL,
		"there is no variable '%s' in it: only dataset.nc takes in any variables", o->own);
}

/* From here on until `done` rows that come are not taken for what lies behind a new end. */
static int
begin_growth(struct open_image *o, const struct change *c, const struct image_form *now,
	const struct array_want *how)
{
	bool any = false;
	for (size_t i = 0; i < now->file.nvars; i++)
		any |= change_grown(c, i) > 0;
	const int r = any ? growth_begin(&o->mount->growth, how->cancel) : 0;
	o->grows = any && r == 0;
	return r;
}

static void
done(void *arg)
{
	struct open_image *o = arg;
	if (o->grows)
		growth_end(&o->mount->growth);
	o->grows = false;
}

static int
bind(void *arg, const struct change *c, struct image_form *now, const struct array_want *how)
{
	struct open_image *o = arg;
	bool found = o->of_group;
	CLEAN(clean_free) bool *with = NULL;
	int r = begin_growth(o, c, now, how);
	if (r == 0 && o->own)
		r = image_bind_with(&now->file, o->own, &with);
	for (size_t i = 0; i < now->file.nvars && r == 0; i++) {
		if (c->var[i] == CHANGE_NONE && with && !with[i])
			notes_add(&o->mount->notes,
				"'%s': variable '%s' does not go with it and is left out "
				"(dataset.nc takes all)",
				o->path, now->file.var[i].name);
		else if (c->var[i] == CHANGE_NONE && image_move_awaited(o, c, i))
			r = image_bind_later(o, c, i);
		else if (c->var[i] == CHANGE_NONE)
			r = image_bind_new(o, c, i, now);
		else
			r = image_bind_known(o, c, i, now);
		if (r == 0 && change_renames(c, i))
			r = image_move_check(o, c, i);
		found |= r == 0 && image_is_own(o, now, i);
	}
	if (r == 0 && !found)
		r = no_own(o);
	if (r == 0)
		r = image_edit_all(o, c, false, how);
	if (r == 0)
		r = image_move_check_dims(o, c);
	return r < 0 ? r : share_rows(o, c, how, false);
}

/* Where an array is now another one may have been. */
static int
give_names(void *arg, const struct change *c, struct image_form *was, const struct array_want *how)
{
	struct open_image *o = arg;
	int r = image_move(o, c, was, how);
	for (size_t i = 0; r == 0 && i < c->now->file.nvars; i++)
		if (change_renames(c, i)) {
			const struct image_target *t = was->source[c->var[i]].target;
			r = images_touch(o, t->node->path);
		}
	return r;
}

static void
expire(void *arg)
{
	data_expire(((struct open_image *)arg)->mount->data);
}

const struct image_ops image_mount_ops = {
	.store = {.read = target_read, .write = target_write, .let_go = image_target_free},
	.bind = bind,
	.rename = give_names,
	.begin = image_new_begin,
	.undo = image_new_undo,
	.commit = commit,
	.done = done,
	.expire = expire,
	.flush = flush,
	.know = image_form_know,
	.hear = image_form_hear,
};
