/* What a variable of a file that is written goes to. */
#include "view/image/image_new.h"
#include "view/image/image_target.h"
#include "view/flats.h"
#include "view/state.h"

#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Takes over the reference to the variable, also when it fails. */
int
image_target_new(struct variable *v, struct image_target **ret)
{
	struct image_target *t = calloc(1, sizeof *t);
	if (!t) {
		variable_unref(v);
		return err_set(-ENOMEM, "no memory for a variable");
	}
	t->variable = v;
	t->node = v->node;
	int r = variable_array(v, &t->array);
	if (r == 0)
		*ret = t;
	else
		image_target_free(NULL, t);
	return r;
}

void
image_target_free(void *arg, void *target)
{
	struct image_target *t = target;
	stream_free(t->stream);
	if (!t->variable) {
		if (t->array)
			array_unref(t->array);
		node_unref(t->node);
	}
	variable_unref(t->variable);
	image_new_free(t->new);
	free(t);
}

int
image_target_take(struct open_image *o, struct image_target *t, const struct node *now)
{
	struct variable *v = NULL;
	int r = variable_get(o->mount, now, array_width(t->array), &v);
	if (r < 0)
		return r;
	t->stream = stream_free(t->stream);
	if (!t->variable) {
		array_unref(t->array);
		node_unref(t->node);
	}
	variable_unref(t->variable);
	t->variable = v;
	t->array = v->array;
	t->node = v->node;
	return 0;
}

int
image_target_follow(struct open_image *o, struct image_target *t, const char *path)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = model_lookup(o->mount->model, path, &n);
	if (r == ZMAP_ABSENT || (r == 0 && !n->array))
		return err_set(-EIO, "'%s' is no longer in the store", path);
	return r < 0 ? r : image_target_take(o, t, n);
}

bool
image_target_was_cut(struct open_image *o, struct image_target *t)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	const struct array_meta *was = t->node->array, *is = NULL;
	struct err why;
	if (!t->variable)
		return false;
	err_save(-EIO, &why);
	if (model_look_again(o->mount->model, t->node->path, &now) == 0 && !now->error &&
		now->serial > t->node->serial)
		is = now->array;
	const bool cut = is && is->rank && flat_is_same(was, is) && is->shape[0] < was->shape[0] &&
			 image_target_take(o, t, now) == 0;
	/* What waits behind an end of this mount's own goes with the rows. */
	if (cut && !model_is_own(o->mount->model, now->path, now))
		array_cut(t->array);
	err_restore(&why);
	return cut;
}

/* The path of the file's group. */
int
image_group_path(const struct open_image *o, char **ret)
{
	const char *path = o->node->path;
	if (o->node->kind == NODE_ARRAY && !*path)
		return err_set(-EINVAL, "the store is an array: it has no group for anything else");
	*ret = o->node->kind == NODE_GROUP ? strdup(path) : path_above(path);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for a path");
}

/* Is the variable one that goes with what the file is for? */
bool
image_is_companion(const struct open_image *o, const struct image_target *t)
{
	if (o->own)
		return strcmp(t->node->name, o->own) != 0;
	return !o->of_group && strcmp(t->node->path, o->node->path) != 0;
}
