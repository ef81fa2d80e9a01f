#include "base/err.h"
#include "base/list.h"
#include "base/path.h"
#include "model/attr_edit.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct edit {
	struct model *model;
	struct node *node;     /* as it was when the edit began */
	struct edit_doc **doc; /* what that was made of, for the first attempt */
	size_t docs;
	int64_t read_at;  /* clock_now() before they were read */
	unsigned commits; /* of the model, then */
	struct edit_change *change;
	size_t changes;
	bool fills;
	uint8_t *fill; /* fills: what missing chunks hold; NULL: nothing */
	bool resizes, grows, overtaken;
	uint64_t least; /* elements that it has before */
	edit_check_fn *check;
	void *check_arg;
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

struct edit *
edit_free(struct edit *e)
{
	if (!e)
		return NULL;
	for (size_t i = 0; i < e->changes; i++)
		attr_clear(&e->change[i].attr);
	free(e->change);
	LIST_FREE(e->with, e->nwith);
	free(e->fill);
	for (size_t i = 0; i < e->children; i++)
		free(e->child[i].name);
	free(e->child);
	node_unref(e->node);
	struct commit c = {.doc = e->doc, .docs = e->docs};
	docs_forget(&c);
	free(e);
	return NULL;
}

static int
begin(struct model *m, const char *path, struct edit *e)
{
	CLEAN(commit_done)
	struct commit c = {.model = m, .deadline = clock_now() + m->opt.timeout};
	struct edit_part *p;
	e->read_at = clock_now();
	e->commits = commits_so_far(m);
	int r = commit_part(&c, path, &p);
	if (r < 0 || r == ZMAP_ABSENT)
		return r;
	e->node = node_ref(p->before);
	e->doc = MOVE(c.doc);
	e->docs = c.docs;
	c.docs = 0;
	return 0;
}

static void
hand_over(struct edit *e, struct commit *c)
{
	c->doc = MOVE(e->doc);
	c->docs = e->docs;
	c->read_at = e->read_at;
	c->commits = e->commits;
	e->docs = 0;
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
	int r = LIST_MORE(e->change, e->changes, "a change");
	if (r < 0)
		return r;
	*ret = &e->change[e->changes];
	**ret = (struct edit_change){.del = true, .attr.name = strdup(name)};
	if (!(*ret)->attr.name)
		return list_no_memory("a change");
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
edit_grow(struct edit *e, uint64_t lead)
{
	e->grows = true;
	return edit_resize(e, lead);
}

void
edit_expect(struct edit *e, uint64_t lead)
{
	e->least = lead;
}

void
edit_check(struct edit *e, edit_check_fn *fn, void *arg)
{
	e->check = fn;
	e->check_arg = arg;
}

int
edit_resize_with(struct edit *e, const char *path)
{
	return LIST_TAKE(e->with, e->nwith, "a change", strdup(path));
}

int
edit_new_array(struct edit *e, const char *name, const struct new_array *a)
{
	if (e->node->kind != NODE_GROUP)
		return err_set(-ENOTDIR, "'%s' is no group", e->node->path);
	int r = LIST_MORE(e->child, e->children, "a change");
	if (r < 0)
		return r;
	if (!(e->child[e->children].name = strdup(name)))
		return list_no_memory("a change");
	e->child[e->children++].array = a;
	return 0;
}

bool
edit_was_overtaken(const struct edit *e)
{
	return e->overtaken;
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

/* The part of the edit's node, as the documents now are. */
static int
own_part(struct commit *c, const struct edit *e, struct edit_part **ret)
{
	int r = commit_part(c, e->node->path, ret);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "'%s' was removed meanwhile", e->node->path);
	if (r == 0)
		r = same_kind(e, *ret);
	if (r == 0 && (e->changes || e->children) && !(*ret)->array)
		r = part_need_group(c, *ret);
	return r;
}

static int
apply(struct commit *c, void *arg)
{
	struct edit *e = arg;
	struct edit_part *p;
	int r = own_part(c, e, &p);
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
		.seen = e->grows ? 0 : e->node->array->shape[0],
		.least = e->least,
		.check = e->check,
		.check_arg = e->check_arg,
		.with = e->with,
		.nwith = e->nwith};
	r = commit_resize(c, &size);
	e->overtaken = size.overtaken;
	if (r == 0)
		e->lead = size.ret;
	return r;
}

int
edit_plan(struct edit *e, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = e->model,
		.deadline = clock_now() + e->model->opt.timeout,
		.cancel = cancel,
		.plan = true};
	struct edit_part *p;
	if (!e->changes)
		return 0;
	hand_over(e, &c);
	int r = own_part(&c, e, &p);
	if (r == 0)
		r = part_change_attrs(&c, p, e->change, e->changes);
	return r < 0 ? r : commit_check(&c);
}

int
edit_commit(struct edit *e, int64_t deadline, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = e->model, .deadline = deadline, .cancel = cancel};
	if (!e->changes && !e->fills && !e->resizes && !e->children)
		return 0;
	if (!e->changes && !e->children) /* what says that it is the same array is stored */
		hand_over(e, &c);
	return commit_run(&c, apply, e);
}

int
model_new_array(struct model *m, const char *path, const struct new_array *a, int64_t deadline,
	struct cancel *cancel)
{
	CLEAN(edit_freep) struct edit *e = NULL;
	CLEAN(clean_free) char *group = path_above(path);
	if (!group)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_edit(m, group, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no group '%s'", group);
	if (r == 0)
		r = edit_new_array(e, path_name(path), a);
	return r < 0 ? r : edit_commit(e, deadline, cancel);
}
