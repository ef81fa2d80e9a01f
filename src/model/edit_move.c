/* An array that gets another name in its group: its objects are copied, then one commit makes the
 * new documents and takes the old ones away, then the old objects go. */
#include "base/err.h"
#include "base/path.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct move {
	const char *from, *to, *group;
	const char *from_name, *to_name;
	struct edit_part kind;
	struct buf main, attrs; /* documents as they were */
	bool has_attrs, again;
};

static void
move_done(struct move *m)
{
	buf_free(&m->main);
	buf_free(&m->attrs);
}

static int
keep_text(const struct edit_doc *d, struct buf *ret)
{
	buf_free(ret);
	return buf_add(ret, d->text.data, d->text.len);
}

static int
take_old(struct commit *c, struct move *m)
{
	struct edit_part *p;
	int r = commit_part(c, m->from, &p);
	if (r == ZMAP_ABSENT)
		return m->again ? 0 : err_set(-ENOENT, "there is no '%s'", m->from);
	if (r == 0 && !p->array)
		r = err_set(-EINVAL, "'%s' is no array", m->from);
	if (r < 0)
		return r;
	m->kind = (struct edit_part){
		.v3 = p->v3, .array = true, .nczarr = p->nczarr, .reals = p->reals};
	m->has_attrs = p->attrs != p->main && p->attrs->there;
	r = keep_text(p->main, &m->main);
	if (r == 0 && m->has_attrs)
		r = keep_text(p->attrs, &m->attrs);
	return r;
}

static int
set_new(struct commit *c, struct move *m, struct edit_part *group)
{
	struct edit_part *p;
	int r = commit_open_part(c, group, m->to, &m->kind, &p);
	if (r == 0)
		r = commit_check_free(c, p, &m->main, m->again);
	if (r == 0 && m->has_attrs)
		r = commit_set_text(c, p->attrs, &m->attrs);
	return r < 0 ? r : commit_set_text(c, p->main, &m->main);
}

static int
drop_old(struct commit *c, const struct move *m)
{
	struct edit_part *p;
	int r = commit_part(c, m->from, &p);
	if (r < 0 || r == ZMAP_ABSENT)
		return r < 0 ? r : 0;
	commit_drop_doc(c, p->main);
	if (p->attrs != p->main)
		commit_drop_doc(c, p->attrs);
	return 0;
}

static int
move_node(struct commit *c, void *arg)
{
	struct move *m = arg;
	struct edit_part *group;
	int r = take_old(c, m);
	if (r == 0)
		r = commit_part(c, m->group, &group);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no group '%s'", m->group);
	if (r == 0)
		r = part_check_pure(c, group);
	if (r == 0 && group->nczarr)
		r = part_need_nczarr(c, group);
	if (r == 0)
		r = set_new(c, m, group);
	if (r == 0 && group->nczarr)
		r = part_add_name(c, group, true, m->to_name);
	if (r == 0 && !m->kind.v3)
		r = part_drop_name(c, group, true, m->from_name);
	if (r == 0)
		r = drop_old(c, m);
	m->again |= r == 0;
	return r;
}

int
model_move_array(struct model *model, const char *from, const char *name, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = model, .cancel = cancel, .emptying = true};
	CLEAN(clean_free) char *group = path_above(from);
	CLEAN(clean_free) char *to = group ? path_in(group, name) : NULL;
	CLEAN(move_done)
	struct move m = {
		.from = from, .group = group, .from_name = path_name(from), .to_name = name};
	if (!to)
		return err_set(-ENOMEM, "no memory for a path");
	m.to = to;
	if (!(model->zmap->caps & ZMAP_LIST))
		return err_set(-ENOTSUP, "a store that does not list what it has");
	int r = commit_check_name(to, name);
	if (r == 0)
		r = commit_copy_below(&c, from, to);
	c.deadline = clock_now() + model->opt.timeout;
	if (r == 0)
		r = commit_run(&c, move_node, &m);
	if (r < 0)
		return err_add(r, "cannot rename '%s'", from);
	c.deadline = 0; /* as long as it takes */
	return commit_empty(&c, from);
}
