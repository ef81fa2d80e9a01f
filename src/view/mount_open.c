/* A mount from its beginning to its end. */
#include "view/mount.h"

#include "view/advice.h"
#include "view/flats.h"
#include "view/kind.h"
#include "view/state.h"

#include <errno.h>

static void
set_root(struct mount *m, struct node *now)
{
	struct node *old = node_ref(now);
	atomic_store(&m->root_is_array, now->kind == NODE_ARRAY);
	LOCKED(&m->lock) {
		struct node *kept = m->root;
		m->root = old;
		old = kept;
	}
	node_unref(old);
}

/* The model has replaced a node, or it has vanished. */
static void
node_changed(void *arg, struct node *old, struct node *now)
{
	struct mount *m = arg;
	const char *path = old ? old->path : now->path;
	atomic_fetch_add(&m->changes, 1);
	if (!*path && now)
		set_root(m, now);
	variables_replaced(m, path, now);
	flats_changed(m, path, now);
	bool group = old && now && old->kind == now->kind &&
		     (now->kind == NODE_GROUP || now->kind == NODE_PLAIN);
	const bool lives = old && variable_lives_on(old, now);
	if (!lives)
		facts_forget_kin(&m->facts, path);
	bool pages = !group && !lives;
	mount_stale(m, path, pages ? STALE_PAGES : group ? STALE_ATTRIBUTES : STALE_NAME);
	if (!group)
		views_stale(m, path, NULL, STALE_NAME);
}

/* Whether this version can show anything of it: not of Zarr V3, nor of an array of unknown
 * shape. */
static bool
shows(const struct node *n)
{
	return !n->error || n->array || (n->kind == NODE_GROUP && n->error_code != -ENOTSUP);
}

/* Groups and arrays are of one version from the root on. Above stores each has its own. */
static int
may_shard(const struct mount *m, const struct node *root)
{
	const bool v2 = (root->kind == NODE_GROUP && !root->group->v3) ||
			(root->kind == NODE_ARRAY && root->array && root->array->zarr_format == 2);
	if (!m->options.rw || !m->options.shard || !v2)
		return 0;
	return err_set(-EINVAL, "option 'shard': '%s' is a store of Zarr V2, which has no shards",
		m->url.shown);
}

/* Did the store answer, and is there anything? */
static int
look_at_root(struct mount *m)
{
	CLEAN(node_unrefp) struct node *root = NULL;
	int r = model_lookup(m->model, "", &root);
	if (r == ZMAP_ABSENT)
		return advice_absent(m);
	if (r < 0)
		return err_add(r, "cannot open store '%s'", m->url.shown);
	if (root->kind == NODE_OBJECT)
		return err_set(
			-EINVAL, "'%s' is one object that belongs to no Zarr store", m->url.shown);
	if (!shows(root))
		return err_set(-EINVAL, "cannot open store '%s': %s", m->url.shown, root->error);
	r = may_shard(m, root);
	if (r < 0)
		return r;
	advice_on_root(m, root);
	set_root(m, root);
	m->single = url_name(&m->url);
	return m->single ? 0 : err_set(-ENOMEM, "no memory for a name");
}

int
mount_open(const char *store, const struct mount_options *o, struct mount **ret)
{
	struct mount *m = calloc(1, sizeof *m);
	if (!m)
		return err_set(-ENOMEM, "no memory for a mount");
	m->views = view_table;
	m->kinds = kind_table;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->variables.lock, NULL);
	pthread_mutex_init(&m->files.lock, NULL);
	facts_init(&m->facts);
	growth_init(&m->growth);
	roles_init(&m->roles);
	layouts_init(&m->layouts);
	pictures_init(&m->pictures);
	cdl_texts_init(&m->cdl);
	notes_init(&m->notes);
	int r = url_parse(store, &m->url);
	if (r == 0) {
		mount_set_options(m, o);
		r = zmap_open(&m->url, &m->options.zmap, &m->zmap);
		r = r < 0 ? advice_unopened(&m->url, store, r) : r;
	}
	if (r == 0)
		r = kinds_may_write(m);
	if (r == 0)
		r = model_open(m->zmap, &m->options.model, &m->model);
	if (r == 0) {
		m->zmap->list_max = mount_list_max(m);
		m->options.data.remote = m->zmap->caps & ZMAP_REMOTE && !o->zmap.cache_dir;
		r = data_new(&m->options.data, &m->data);
	}
	if (r == 0) {
		model_on_change(m->model, node_changed, m);
		r = look_at_root(m);
	}
	if (r == 0)
		r = kinds_begin(m);
	if (r < 0) {
		mount_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct mount *
mount_close(struct mount *m)
{
	if (!m)
		return NULL;
	kinds_end(m);
	layouts_free(&m->layouts);
	data_free(m->data); /* its workers call back until they have ended */
	stale_free(m->stale);
	node_unref(m->root);
	model_close(m->model);
	zmap_close(m->zmap);
	url_free(&m->url);
	facts_free(&m->facts);
	growth_free(&m->growth);
	roles_free(&m->roles);
	cdl_texts_free(&m->cdl);
	pictures_free(&m->pictures);
	pthread_mutex_destroy(&m->files.lock);
	notes_free(&m->notes);
	map_done(&m->variables.by_path);
	pthread_mutex_destroy(&m->variables.lock);
	pthread_mutex_destroy(&m->lock);
	free(m->single);
	free(m);
	return NULL;
}
