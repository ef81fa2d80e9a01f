/* Attributes of files and directories, SEMANTICS "Attributes, stat, df". */
#include "view/describe.h"
#include "view/kind.h"
#include "view/state.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>

/* linux/limits.h: a value and a list have at most 64 KiB, a name with "user." 255 bytes. */
static const char PREFIX[] = "user.", OWN[] = "zarrfs.";
enum { PREFIX_LEN = sizeof PREFIX - 1, OWN_LEN = sizeof OWN - 1 };

static const char *
shown(const struct entry *e)
{
	return *e->path ? e->path : "/";
}

/* Why the variable, or its attributes, cannot be read. ZMAP_ABSENT: they can, as far as can be said
 * without reading. */
static int
error_text(struct mount *m, const struct entry *e, struct buf *ret)
{
	const struct node *n = e->node;
	int stuck = kinds_error(m, e->path, ret);
	if (stuck != ZMAP_ABSENT)
		return stuck;
	if (n->error)
		return buf_add(ret, n->error, strlen(n->error));
	if (!e->view)
		return ZMAP_ABSENT;
	if (n->array && n->array->fill_error)
		return buf_addf(
			ret, "chunks that are absent cannot be read: %s", n->array->fill_error);
	struct layout *l = NULL;
	int r = layouts_get(m, &(struct view_file){e->view, n, e->path}, &l);
	layouts_put(m, l);
	if (r >= 0)
		return n->flaw ? buf_add(ret, n->flaw, strlen(n->flaw)) : ZMAP_ABSENT;
	return r == -ENOMEM ? r : buf_add(ret, err_text(), strlen(err_text()));
}

/* Which codecs of the variable do not give back what is written. ZMAP_ABSENT: all do. */
static int
lossy_text(struct mount *m, const struct entry *e, struct buf *ret)
{
	const struct node *n = e->node;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	const struct view_file flat = {m->views[0], n, e->path};
	if (!m->options.rw || !e->view || n->error || !n->array || layouts_get(m, &flat, &l) < 0)
		return ZMAP_ABSENT;
	size_t before = ret->len;
	int r = array_lossy(l->span[0].variable->array, ret);
	return r < 0 ? r : ret->len > before ? 0 : ZMAP_ABSENT;
}

static int
own_value(struct mount *m, const struct entry *e, const char *name, struct buf *ret)
{
	if (strcmp(name, "error") == 0)
		return error_text(m, e, ret);
	if (strcmp(name, "lossy") == 0)
		return lossy_text(m, e, ret);
	return e->view ? describe(e->node, name, ret) : ZMAP_ABSENT;
}

/* What an entry shows of the store's attributes. *ret stays empty for what has none. */
static int
load(const struct entry *e, struct attrs *ret)
{
	bool has = e->view || (e->node->kind == NODE_GROUP && e->kind == ENTRY_DIR);
	return has ? node_attrs(e->node, ret) : 0;
}

static int
add_value(const struct attr *a, struct buf *ret)
{
	char *made = a->type == NC_TYPE_CHAR ? NULL : attr_text(a);
	const char *text = made ? made : a->data; /* which may have NULs in it */
	size_t len = made ? strlen(made) : a->count;
	int r;
	if (!made && a->type != NC_TYPE_CHAR)
		r = err_set(-ENOMEM, "no memory for an attribute");
	else if (len > XATTR_SIZE_MAX)
		r = err_set(
			-E2BIG, "attribute '%s' has %zu bytes; 64 KiB can be shown", a->name, len);
	else
		r = buf_add(ret, text, len);
	free(made);
	return r;
}

static int
stored_value(const struct entry *e, const char *name, struct buf *ret)
{
	struct attrs all = {0};
	int r = load(e, &all);
	if (r < 0)
		return r;
	const struct attr *a = attrs_find(&all, name);
	r = a ? add_value(a, ret) : ZMAP_ABSENT;
	attrs_free(&all);
	return r;
}

/* The root's entry is what was seen last, without asking the store; its attributes are those of
 * now, if the store answers. */
static struct entry
fresh(struct mount *m, const struct entry *e)
{
	struct entry now = *e;
	struct node *n = NULL;
	if (*e->path || model_lookup(m->model, "", &n) != 0)
		n = node_ref(e->node);
	now.node = n;
	return now;
}

static int
get(struct mount *m, const struct entry *e, const char *name, struct buf *ret)
{
	if (strncmp(name, OWN, OWN_LEN) == 0) {
		int r = own_value(m, e, name + OWN_LEN, ret);
		if (r != ZMAP_ABSENT)
			return mount_error(r);
	}
	int r = stored_value(e, name, ret);
	return r == -E2BIG ? r : mount_error(r);
}

int
mount_getxattr(struct mount *m, const struct entry *e, const char *name, struct buf *ret)
{
	if (!e->node)
		return ZMAP_ABSENT;
	struct entry now = fresh(m, e);
	int r = get(m, &now, name, ret);
	node_unref(now.node);
	return r;
}

static int
add_name(struct buf *ret, const char *kind, const char *name)
{
	int r = buf_add(ret, PREFIX, PREFIX_LEN);
	if (r == 0)
		r = buf_add(ret, kind, strlen(kind));
	return r < 0 ? r : buf_add(ret, name, strlen(name) + 1);
}

static int
add_own(struct mount *m, const struct entry *e, struct buf *ret)
{
	struct buf value = {0};
	int r = 0;
	for (unsigned i = 0; e->view && describe_names[i] && r >= 0; i++) {
		r = describe(e->node, describe_names[i], &value);
		if (r == 0)
			r = add_name(ret, OWN, describe_names[i]);
	}
	if (r >= 0)
		r = error_text(m, e, &value);
	if (r == 0)
		r = add_name(ret, OWN, "error");
	if (r >= 0 && lossy_text(m, e, &value) == 0)
		r = add_name(ret, OWN, "lossy");
	buf_free(&value);
	return r < 0 ? r : 0;
}

/* rsync -X copies nothing where one of the list cannot be had. */
static const char *
unfit(const struct attr *a)
{
	CLEAN(buf_free) struct buf value = {0};
	if (!*a->name)
		return "it has no name";
	if (strlen(a->name) + PREFIX_LEN > XATTR_NAME_MAX)
		return "its name is too long";
	return add_value(a, &value) == -E2BIG ? "its value is longer than 64 KiB" : NULL;
}

static bool
is_own(const char *name)
{
	if (strncmp(name, OWN, OWN_LEN) != 0)
		return false;
	for (unsigned i = 0; describe_names[i]; i++)
		if (strcmp(name + OWN_LEN, describe_names[i]) == 0)
			return true;
	return strcmp(name + OWN_LEN, "error") == 0 || strcmp(name + OWN_LEN, "lossy") == 0;
}

static int
add_stored(struct mount *m, const struct entry *e, size_t from, struct buf *ret)
{
	struct attrs all = {0};
	size_t left = 0;
	int r = load(e, &all);
	for (size_t i = 0; r == 0 && i < all.count; i++) {
		const char *name = all.attr[i].name, *why = unfit(&all.attr[i]);
		if (why)
			notes_add(&m->notes, "attribute '%s' of '%s' is not listed: %s", name,
				shown(e), why);
		else if (ret->len - from + PREFIX_LEN + strlen(name) + 1 > XATTR_LIST_MAX)
			left++;
		else if (!e->view || !is_own(name))
			r = add_name(ret, "", name);
	}
	if (left)
		notes_add(&m->notes,
			"%zu attributes of '%s' are not listed: the names of all have more than 64 "
			"KiB",
			left, shown(e));
	for (size_t i = 0; r == 0 && i < all.nproblems; i++)
		notes_add(&m->notes, "'%s': %s", shown(e), all.problem[i]);
	attrs_free(&all);
	return r;
}

int
mount_listxattr(struct mount *m, const struct entry *e, struct buf *ret)
{
	size_t from = ret->len;
	if (!e->node)
		return 0;
	struct entry now = fresh(m, e);
	int r = add_own(m, &now, ret);
	if (r == 0)
		r = add_stored(m, &now, from, ret);
	node_unref(now.node);
	return mount_error(r);
}
