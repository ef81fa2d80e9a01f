/* What a directory lists: the nodes in it, the files that views make of the group, and those they
 * make of its variables. */
#include "base/path.h"
#include "view/tree.h"

#include "view/kind.h"
#include "view/roles.h"
#include "view/state.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

struct mount_listing {
	struct mount *mount;
	const char *path;
	mount_dir_fn *fn;
	void *arg;
	unsigned words; /* enum list_word: what is to be listed */
	struct buf
		text; /* of each node: DT_REG for an array, else another type; its name and a NUL */
	bool plain;   /* above stores: no group, so the nodes are not looked at again */
	unsigned char file; /* the type of what views make: DT_REG, and what is known of it */
	size_t nodes;
	const char **name; /* into text, sorted */
};

static unsigned
words_for(struct mount *m, const char *path)
{
	if (m->options.list)
		return m->options.list;
	bool consolidated = !atomic_load(&m->root_is_array) && model_consolidated(m->model, path);
	return LIST_FLAT | LIST_NC | (consolidated ? LIST_CDL : 0);
}

/* Why a name cannot be that of a file; NULL: it can. */
static const char *
unfit(const char *dir, const char *name)
{
	size_t len = strlen(name);
	if (!len || strchr(name, '/'))
		return "it is no file name";
	if (len > NAME_MAX)
		return "its name is longer than 255 bytes";
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return "its name means a directory";
	if (!*dir && (!strcmp(name, ".zarrfs") || !strcmp(name, ".store")))
		return "the mount has something else of that name";
	return NULL;
}

static int
emit(struct mount_listing *l, const char *name, unsigned char type)
{
	CLEAN(clean_free) char *path = path_in(l->path, name);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	return kinds_hide(l->mount, path) ? 0 : l->fn(l->arg, name, mount_ino(path), type);
}

static int
keep(struct mount_listing *l, const char *name, bool array)
{
	const unsigned char type = array ? DT_REG : DT_UNKNOWN;
	int r = buf_add(&l->text, &type, sizeof type);
	l->nodes++;
	return r < 0 ? r : buf_add(&l->text, name, strlen(name) + 1);
}

static bool
is_array(const char *name)
{
	return name[-1] == DT_REG;
}

static int
list_child(const struct model_child *c, void *arg)
{
	struct mount_listing *l = arg;
	const char *why = unfit(l->path, c->name);
	if (why) {
		notes_add(&l->mount->notes, "left out '%s%s%s': %s", l->path, *l->path ? "/" : "",
			c->name, why);
		return 0;
	}
	bool array = c->known && c->kind == NODE_ARRAY;
	unsigned char asks = c->kind == NODE_OBJECT ? MOUNT_ASK_TO_SEE : 0;
	bool file = array || c->kind == NODE_ARRAY || c->kind == NODE_OBJECT;
	int r = l->plain ? 0 : keep(l, c->name, array);
	if (r == 0 && (!array || l->plain)) /* other arrays come behind their views */
		r = emit(l, c->name, !c->known ? DT_UNKNOWN : file ? DT_REG | asks : DT_DIR);
	return r;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int
sort_names(struct mount_listing *l)
{
	l->name = calloc(l->nodes + 1, sizeof *l->name);
	if (!l->name)
		return err_set(-ENOMEM, "no memory for %zu names", l->nodes);
	const char *p = (const char *)l->text.data;
	for (size_t i = 0; i < l->nodes; i++) {
		l->name[i] = ++p;
		p += strlen(p) + 1;
	}
	qsort(l->name, l->nodes, sizeof *l->name, by_name);
	return 0;
}

static bool
is_node(const struct mount_listing *l, const char *name)
{
	return bsearch(&name, l->name, l->nodes, sizeof *l->name, by_name) != NULL;
}

static void
lost(struct mount_listing *l, const char *name, const char *to)
{
	notes_add(&l->mount->notes, "left out the file '%s%s%s': %s has that name", l->path,
		*l->path ? "/" : "", name, to);
}

static int
list_group_views(struct mount_listing *l, const struct node *n)
{
	int r = 0;
	if (n->error)
		return 0;
	for (const struct view_ops *const *v = l->mount->views; *v && r == 0; v++) {
		if (!(*v)->of_group || !(l->words & (*v)->list) ||
			((*v)->applies && !(*v)->applies(l->mount, n)))
			continue;
		if (is_node(l, (*v)->suffix))
			lost(l, (*v)->suffix, "a node");
		else
			r = emit(l, (*v)->suffix, DT_REG);
	}
	return r;
}

static bool
is_group_view(const struct mount_listing *l, const char *name)
{
	for (const struct view_ops *const *v = l->mount->views; *v; v++)
		if ((*v)->of_group && strcmp((*v)->suffix, name) == 0)
			return true;
	return false;
}

/* name + suffix. False: longer than a name can be. */
static bool
view_name(const char *name, const char *suffix, char ret[NAME_MAX + 1])
{
	size_t n = strlen(name), k = strlen(suffix);
	if (n + k > NAME_MAX)
		return false;
	memcpy(ret, name, n);
	memcpy(ret + n, suffix, k + 1);
	return true;
}

/* views: bits of those that list a file of the variable. */
static int
list_views_of(struct mount_listing *l, const char *name, uint32_t views)
{
	const struct view_ops *const *there = l->mount->views;
	int r = 0;
	for (unsigned v = 0; there[v] && r == 0; v++) {
		char file[NAME_MAX + 1];
		if (!(views >> v & 1) || !view_name(name, there[v]->suffix, file))
			continue;
		if (is_node(l, file))
			lost(l, file, "a node");
		else if (is_group_view(l, file))
			lost(l, file, "a file of the group");
		else
			r = emit(l, file, l->file);
	}
	return r;
}

static int
list_variable_views(struct mount_listing *l)
{
	CLEAN(clean_free) const char **array = calloc(l->nodes + 1, sizeof *array);
	CLEAN(clean_free) uint32_t *views = calloc(l->nodes + 1, sizeof *views);
	size_t n = 0;
	if (!array || !views)
		return err_set(-ENOMEM, "no memory for %zu names", l->nodes);
	for (size_t i = 0; i < l->nodes; i++)
		if (is_array(l->name[i]))
			array[n++] = l->name[i];
	int r = roles_of_group(l->mount, l->path, array, n, views);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = list_views_of(l, array[i], views[i]);
		/* what goes with it has been removed when rm -r comes to it */
		if (r == 0 && l->words & LIST_FLAT)
			r = emit(l, array[i], DT_REG);
	}
	return r;
}

static int
list_views(struct mount_listing *l, const struct node *n)
{
	int r = sort_names(l);
	if (r == 0)
		r = list_group_views(l, n);
	if (r == 0)
		r = list_variable_views(l);
	free(l->name);
	return r;
}

/* Were the names of the group those of a listing just now? Consolidated metadata, and listings that
 * hold, say themselves what they lack. */
static bool
lists_store(struct mount *m, const char *path)
{
	const unsigned caps = m->zmap->caps & (ZMAP_LIST | ZMAP_REMOTE);
	return caps == ZMAP_LIST && !atomic_load(&m->root_is_array) &&
	       !model_consolidated(m->model, path);
}

int
tree_list(struct mount *m, const char *path, mount_dir_fn *fn, void *arg)
{
	struct mount_listing l = {m, path, fn, arg, .words = words_for(m, path)};
	l.file = lists_store(m, path) ? DT_REG | MOUNT_NO_NODE : DT_REG;
	CLEAN(node_unrefp) struct node *n = NULL;
	bool single = *path == 0 && atomic_load(&m->root_is_array);
	int r = model_lookup(m->model, path, &n);
	if (r)
		return r;
	if (n->kind == NODE_GROUP && n->error_code == -ENOTSUP)
		return err_set(-EIO, "%s", n->error); /* else it would look empty */
	if (n->kind == NODE_GROUP && n->error)
		notes_add(&m->notes, "'%s': %s", *path ? path : "/", n->error);
	l.plain = n->kind == NODE_PLAIN;
	if (single)
		r = list_child(&(struct model_child){m->single, NODE_ARRAY, true}, &l);
	else
		r = model_children(m->model, path, list_child, &l);
	if (r == 0 && (single || n->kind == NODE_GROUP))
		r = list_views(&l, n);
	buf_free(&l.text);
	return r;
}
