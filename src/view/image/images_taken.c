/* Files that are written elsewhere and become those of a path. */
#include "view/image/images_impl.h"

#include "base/path.h"

#include "view/kind.h"
#include "view/netcdf/nc_plan.h"
#include "view/netcdf/netcdf.h"
#include "view/state.h"
#include "view/tree.h"

#include <errno.h>
#include <string.h>

/* The group that a new file lies in, and what that holds so far: its variables are known by
 * name. */
static int
make_new(struct mount *m, const char *path, struct open_image *o, struct image_start *start)
{
	static const char suffix[] = ".nc", of_group[] = "dataset.nc";
	const char *name = path_name(path);
	CLEAN(clean_free) char *dir = path_above(path);
	uint64_t version;
	o->view = netcdf_new_view();
	o->of_group = strcmp(name, of_group) == 0;
	if (!o->of_group)
		o->own = strndup(name, strlen(name) - (sizeof suffix - 1));
	if (!dir || (!o->of_group && !o->own))
		return err_set(-ENOMEM, "no memory for a name");
	start->keep = o->adds = true;
	int r = model_lookup(m->model, dir, &o->node);
	if (r == ZMAP_ABSENT || (r == 0 && o->node->kind != NODE_GROUP))
		return err_set(-EACCES, "'%s' is no group", dir);
	if (r == 0)
		r = images_make_form(m, o->node, o->view, o, start, &version);
	return r == ZMAP_ABSENT ? 0 : r; /* a group without variables */
}

static int
make_known(struct mount *m, const struct node *n, const struct view_ops *v, struct open_image *o,
	struct image_start *start)
{
	uint64_t version;
	const struct nc_want *want = netcdf_want(v);
	if (!want || want->format == NC_4)
		return err_set(-EACCES, "'%s' is only read", o->path);
	o->view = v;
	o->of_group = v->of_group;
	o->node = node_ref((struct node *)n);
	int r = images_make_form(m, n, v, o, start, &version);
	return r == ZMAP_ABSENT ? err_set(-ESTALE, "'%s' is gone", o->path) : r;
}

void
images_tell(struct open_image *o)
{
	CLEAN(buf_free) struct buf paths = images_touched(o);
	for (size_t at = 0; at < paths.len; at += strlen((char *)paths.data + at) + 1)
		kinds_wrote(o->mount, (char *)paths.data + at, NULL);
}

void
images_end(struct open_image *o)
{
	images_free_image(o);
}

/* Of what is in the spill, under the name that it is to have. */
static int
make_of(struct mount *m, const char *path, struct spill *bytes, struct open_image **ret)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct view_ops *v = NULL;
	struct open_image *o = calloc(1, sizeof *o);
	struct image_start start = {.own = CHANGE_NONE,
		.most = images_most(m),
		.ops = &image_mount_ops,
		.arg = o,
		.instead = bytes};
	if (!o || !(o->path = strdup(path))) {
		free(o);
		return err_set(-ENOMEM, "no memory for a file");
	}
	o->mount = m;
	int r = tree_find(m, path, &n, &v);
	if (r == 0)
		r = make_known(m, n, v, o, &start);
	else if (r == ZMAP_ABSENT)
		r = make_new(m, path, o, &start);
	if (r == 0)
		r = images_start_image(&start, o);
	if (r == 0)
		*ret = o;
	else
		images_free_image(o);
	return r;
}

int
images_take_in(struct mount *m, const char *path, struct spill *bytes, const struct array_want *how)
{
	struct open_image *o = NULL;
	int r = make_of(m, path, bytes, &o);
	if (r == 0)
		r = image_settle(o->image, IMAGE_FLUSH, how);
	if (o)
		images_tell(o);
	images_end(o);
	return r;
}

int
images_stream(struct mount *m, const char *path, struct spill *bytes, const struct array_want *how,
	struct open_image **ret)
{
	struct open_image *o = NULL;
	if (!image_would_flow(bytes, images_most(m), 0))
		return ZMAP_ABSENT;
	int r = make_of(m, path, bytes, &o);
	if (r == 0)
		r = image_flow(o->image, how);
	if (r == 0)
		*ret = o;
	else
		images_end(o);
	return r < 0 ? ZMAP_ABSENT : r;
}
