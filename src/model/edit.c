#include "base/err.h"
#include "model/attr_edit.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct edit {
	struct model *model;
	struct node *node; /* as it was when the edit began */
	struct edit_change *change;
	size_t changes;
	bool fills;
	uint8_t *fill; /* fills: what missing chunks hold; NULL: nothing */
	bool resizes;
	uint64_t lead;
	char **with;
	size_t nwith;
	struct edit_child {
		char *name;
		const struct new_array *array;
	} * child;
	size_t children;
	bool again; /* some of it may be stored */
};

/* --- a commit --- */

static void
forget(struct commit *c)
{
	parts_forget(c);
	docs_forget(c);
}

void
commit_done(struct commit *c)
{
	forget(c);
	for (size_t i = 0; i < c->nconsolidated; i++)
		free(c->consolidated[i]);
	free(c->consolidated);
	*c = (struct commit){0};
}

enum { PAUSE_FIRST = 1000, PAUSE_LAST = 64000 }; /* us */

/* Another thread stores just now. */
static int
wait_turn(struct commit *c, unsigned attempt)
{
	unsigned pause = attempt < 6 ? PAUSE_FIRST << attempt : PAUSE_LAST;
	usleep(pause + (unsigned)(clock_now() >> 8) % pause);
	return zmap_patience(c->deadline, c->cancel);
}

enum { LOOK_EVERY = 100 * 1000 * 1000 }; /* ns */

/* Threads of one mount do not get in each other's way, which a store without conditions could not tell. */
static int
begin_storing(struct commit *c)
{
	struct model *m = c->model;
	int r = 0;
	LOCKED(&m->lock) {
		while (m->committing && r == 0) {
			const int64_t at = clock_now() + LOOK_EVERY;
			const struct timespec until = {at / SECOND, at % SECOND};
			pthread_cond_timedwait(&m->idle, &m->lock, &until);
			r = zmap_patience(c->deadline, c->cancel);
		}
		m->committing |= r == 0;
	}
	return r;
}

static void
end_storing(struct commit *c)
{
	LOCKED(&c->model->lock) {
		c->model->committing = false;
		pthread_cond_broadcast(&c->model->idle);
	}
}

static int
attempt(struct commit *c, commit_fn *fn, void *arg)
{
	forget(c);
	int r = fn(c, arg);
	if (r == 0)
		r = commit_check(c);
	if (r < 0)
		return r;
	commit_note_own(c);
	return commit_store(c);
}

int
commit_run(struct commit *c, commit_fn *fn, void *arg)
{
	struct err err = {0};
	unsigned n = 0;
	int r;
	if (!(c->model->zmap->caps & ZMAP_WRITE))
		return err_set(-EROFS, "the store cannot be written");
	if (!c->deadline)
		c->deadline = clock_now() + c->model->opt.timeout;
	r = begin_storing(c);
	if (r < 0)
		return r;
	while ((r = attempt(c, fn, arg)) == ZMAP_CHANGED)
		if ((r = wait_turn(c, n++)) < 0)
			break;
	if (r == 0)
		r = commit_consolidate(c);
	if (r < 0)
		err_save(r, &err);
	end_storing(c);
	if (c->stored)
		commit_renew(c);
	return r < 0 ? err_restore(&err) : r;
}

/* --- an edit --- */

struct edit *
edit_free(struct edit *e)
{
	if (!e)
		return NULL;
	for (size_t i = 0; i < e->changes; i++)
		attr_clear(&e->change[i].attr);
	free(e->change);
	for (size_t i = 0; i < e->nwith; i++)
		free(e->with[i]);
	free(e->with);
	free(e->fill);
	for (size_t i = 0; i < e->children; i++)
		free(e->child[i].name);
	free(e->child);
	node_unref(e->node);
	free(e);
	return NULL;
}

static int
begin(struct model *m, const char *path, struct edit *e)
{
	CLEAN(commit_done)
	struct commit c = {.model = m, .deadline = clock_now() + m->opt.timeout};
	struct edit_part *p;
	int r = commit_part(&c, path, &p);
	if (r == 0)
		e->node = node_ref(p->before);
	return r;
}

int
model_edit(struct model *m, const char *path, struct edit **ret)
{
	CLEAN(edit_freep) struct edit *e = calloc(1, sizeof *e);
	if (!e)
		return err_set(-ENOMEM, "no memory for a change");
	e->model = m;
	int r = begin(m, path, e);
	if (r == 0 && e->node->array && e->node->array->rank)
		e->lead = e->node->array->shape[0];
	if (r == 0)
		*ret = MOVE(e);
	return r;
}

const struct node *
edit_node(const struct edit *e)
{
	return e->node;
}

/* Room for a change of that attribute; an earlier one does not count any more. */
static int
add_change(struct edit *e, const char *name, struct edit_change **ret)
{
	if (!name || !*name)
		return err_set(-EINVAL, "an attribute without a name");
	if (attr_is_hidden(name))
		return err_set(-EPERM, "attribute '%s' is the format's own", name);
	for (size_t i = 0; i < e->changes; i++)
		if (!strcmp(e->change[i].attr.name, name)) {
			*ret = &e->change[i];
			return 0;
		}
	struct edit_change *more = realloc(e->change, (e->changes + 1) * sizeof *more);
	if (!more)
		return err_set(-ENOMEM, "no memory for a change");
	e->change = more;
	*ret = &e->change[e->changes];
	**ret = (struct edit_change){.del = true, .attr.name = strdup(name)};
	if (!(*ret)->attr.name)
		return err_set(-ENOMEM, "no memory for a change");
	e->changes++;
	return 0;
}

int
edit_set_attr(struct edit *e, const struct attr *a)
{
	struct edit_change *to;
	struct attr copy = {0};
	if (a->type != NC_TYPE_CHAR && a->type != NC_TYPE_STRING && !nc_type_size(a->type))
		return err_set(-EINVAL, "an attribute of no type");
	int r = add_change(e, a->name, &to);
	if (r == 0)
		r = attr_copy(a, &copy);
	if (r < 0)
		return r;
	attr_clear(&to->attr);
	*to = (struct edit_change){.attr = copy};
	return 0;
}

int
edit_del_attr(struct edit *e, const char *name)
{
	struct edit_change *to;
	int r = add_change(e, name, &to);
	if (r == 0)
		to->del = true;
	return r;
}

int
edit_set_fill(struct edit *e, const uint8_t *fill)
{
	const struct array_meta *a = e->node->array;
	if (!a || a->zarr_format != 2 || !a->fill)
		return err_set(-EINVAL, "'%s' has no fill value that could change", e->node->path);
	uint8_t *copy = fill ? malloc(a->dtype.size) : NULL;
	if (fill && !copy)
		return err_set(-ENOMEM, "no memory for a fill value");
	if (fill)
		memcpy(copy, fill, a->dtype.size);
	free(e->fill);
	e->fill = copy;
	e->fills = true;
	return fill_is_free(e->model, e->node);
}

int
edit_resize(struct edit *e, uint64_t lead)
{
	const struct array_meta *a = e->node->array;
	if (!a || !a->rank)
		return err_set(-EINVAL, "'%s' has no dimension that could change", e->node->path);
	if (lead > INT64_MAX)
		return err_set(-EFBIG, "%" PRIu64 " is more than a dimension can have", lead);
	e->resizes = true;
	e->lead = lead;
	return 0;
}

int
edit_resize_with(struct edit *e, const char *path)
{
	char **more = realloc(e->with, (e->nwith + 1) * sizeof *more);
	if (more)
		e->with = more;
	if (!more || !(more[e->nwith] = strdup(path)))
		return err_set(-ENOMEM, "no memory for a change");
	e->nwith++;
	return 0;
}

int
edit_new_array(struct edit *e, const char *name, const struct new_array *a)
{
	if (e->node->kind != NODE_GROUP)
		return err_set(-ENOTDIR, "'%s' is no group", e->node->path);
	struct edit_child *more = realloc(e->child, (e->children + 1) * sizeof *more);
	if (more)
		e->child = more;
	if (!more || !(more[e->children].name = strdup(name)))
		return err_set(-ENOMEM, "no memory for a change");
	more[e->children++].array = a;
	return 0;
}

uint64_t
edit_lead(const struct edit *e)
{
	return e->lead;
}

/* Is the node still what the edit is about? */
static int
same_kind(const struct edit *e, const struct edit_part *p)
{
	const struct node *old = e->node, *now = p->before;
	if (old->kind != now->kind || !old->array != !now->array)
		return err_set(-EIO, "'%s' became something else meanwhile", p->path);
	if (old->array &&
		(old->array->layout != now->array->layout || old->array->rank != now->array->rank))
		return err_set(-EIO, "array '%s' was rewritten meanwhile", p->path);
	return 0;
}

static int
apply(struct commit *c, void *arg)
{
	struct edit *e = arg;
	struct edit_part *p;
	int r = commit_part(c, e->node->path, &p);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "'%s' was removed meanwhile", e->node->path);
	if (r == 0)
		r = same_kind(e, p);
	if (r == 0 && (e->changes || e->children) && !p->array)
		r = part_need_group(c, p);
	for (size_t i = 0; r == 0 && i < e->children; i++) {
		struct edit_part *child;
		r = commit_new_array(c, p, e->child[i].name, e->child[i].array, e->again, &child);
	}
	if (r == 0)
		r = part_change_attrs(c, p, e->change, e->changes);
	if (r == 0 && e->fills)
		r = part_set_fill(c, p, e->fill);
	e->again |= r == 0;
	if (r < 0 || !e->resizes)
		return r;
	struct edit_size size = {.path = e->node->path,
		.lead = e->lead,
		.seen = e->node->array->shape[0],
		.with = e->with,
		.nwith = e->nwith};
	r = commit_resize(c, &size);
	if (r == 0)
		e->lead = size.ret;
	return r;
}

int
edit_commit(struct edit *e, int64_t deadline, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = e->model, .deadline = deadline, .cancel = cancel};
	return e->changes || e->fills || e->resizes || e->children ? commit_run(&c, apply, e) : 0;
}
