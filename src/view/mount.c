#include "view/mount.h"

#include "base/hash.h"
#include "base/mem.h"
#include "view/advice.h"
#include "view/flat.h"
#include "view/flats.h"
#include "view/kind.h"
#include "view/raw.h"
#include "view/special.h"
#include "view/state.h"
#include "view/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char STORE_DIR[] = ".store", OWN_DIR[] = ".zarrfs";
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

static struct node *
get_root(struct mount *m)
{
	struct node *n = NULL;
	LOCKED(&m->lock)
		n = node_ref(m->root);
	return n;
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
	bool pages = !group && !(old && variable_lives_on(old, now));
	mount_stale(m, path, pages ? STALE_PAGES : group ? STALE_ATTRIBUTES : STALE_NAME);
	if (!group)
		views_stale(m, path, NULL, STALE_NAME);
}

/* Whether this version can show anything of it: not of Zarr V3, nor of an array of unknown shape. */
static bool
shows(const struct node *n)
{
	return !n->error || n->array || (n->kind == NODE_GROUP && n->error_code != -ENOTSUP);
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
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->variables.lock, NULL);
	pthread_mutex_init(&m->files.lock, NULL);
	facts_init(&m->facts);
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
	roles_free(&m->roles);
	cdl_texts_free(&m->cdl);
	pictures_free(&m->pictures);
	pthread_mutex_destroy(&m->files.lock);
	notes_free(&m->notes);
	pthread_mutex_destroy(&m->variables.lock);
	pthread_mutex_destroy(&m->lock);
	free(m->single);
	free(m);
	return NULL;
}

const char *
mount_shown(struct mount *m)
{
	return m->url.shown;
}

const struct mount_options *
mount_options(struct mount *m)
{
	return &m->options;
}

struct data *
mount_data(struct mount *m)
{
	return m->data;
}

static uint64_t
object_version(const struct node *n)
{
	return hash_end(
		hash_number(hash_text(hash_number(HASH_START, n->kind), n->version), n->size));
}

static mode_t
mode_of(struct mount *m, const struct view_ops *view, bool file)
{
	bool writable = file ? view && kinds_take(m, view) : m->options.rw;
	return (file ? 0444 : 0555) | (writable ? 0200 : 0);
}

/* Takes the node's reference over. */
static int
node_entry(struct mount *m, const char *path, struct node *n, const struct view_ops *view,
	struct entry *ret)
{
	CLEAN(node_unrefp) struct node *node = n;
	bool file = view || n->kind == NODE_OBJECT;
	struct view_facts facts = {.size = n->size, .version = object_version(n)};
	int r = view ? layouts_facts(m, &(struct view_file){view, n, path}, &facts) : 0;
	if (view && n->error && !facts.size)
		facts.size = SIZE_OF_UNREADABLE;
	if (r == 0)
		r = mount_entry(
			m, path, file ? ENTRY_FILE : ENTRY_DIR, mode_of(m, view, file), ret);
	if (r)
		return r;
	int64_t changed = view ? facts_mtime(&m->facts, n->path) : 0;
	ret->mtime = changed > n->mtime ? changed : n->mtime;
	ret->mtime = facts.mtime > ret->mtime ? facts.mtime : ret->mtime;
	if (file) {
		ret->size = facts.size;
		ret->version = facts.version;
	}
	ret->view = view;
	ret->node = MOVE(node);
	return 0;
}

/* path is dir, or below it. */
static bool
below(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	return strncmp(path, dir, len) == 0 && (path[len] == 0 || path[len] == '/');
}

/* Models make room when what is held in them, or listed, outgrows their share of the memory. */
static void
tend(struct mount *m)
{
	long long last = atomic_load_explicit(&m->tended, memory_order_relaxed), now = clock_now();
	if (now - last < SECOND || !atomic_compare_exchange_strong(&m->tended, &last, now))
		return;
	if (model_loose_bytes(m->model) > m->options.model.nodes_max) {
		layouts_drop(m); /* which hold nodes */
		model_trim(m->model);
	}
	size_t dropped = model_dropped(m->model);
	if (dropped - atomic_load(&m->trimmed) > m->options.model.nodes_max) {
		atomic_store(&m->trimmed, dropped);
		mem_trim_holes();
	}
	mount_count_memory(m);
}

static void
page_stale(void *arg, const char *path)
{
	struct stale *s = atomic_load(&((struct mount *)arg)->stale);
	if (s)
		stale_push(s, path, STALE_PAGES);
}

static int
look_up(struct mount *m, const char *path, struct entry *ret)
{
	if (below(path, OWN_DIR))
		return special_lookup(m, path, ret);
	if (below(path, STORE_DIR))
		return raw_lookup(m, path, ret);
	if (!*path)
		return node_entry(m, path, get_root(m), NULL, ret);
	struct node *n = NULL;
	const struct view_ops *view = NULL;
	tend(m);
	int r = kinds_lookup(m, path, ret);
	if (r != ZMAP_ABSENT)
		return r == -ENOENT ? ZMAP_ABSENT : r;
	r = tree_find(m, path, &n, &view);
	if (r == 0)
		r = node_entry(m, path, n, view, ret);
	if (r == 0 && view && facts_outlived(&m->facts, path, m->pages_ttl))
		page_stale(m, path);
	return r;
}

int
mount_lookup(struct mount *m, const char *path, struct entry *ret)
{
	return mount_error(look_up(m, path, ret));
}

int
mount_lookup_listed(struct mount *m, const char *path, int64_t lacking, struct entry *ret)
{
	if (lacking)
		model_unlisted(m->model, path, lacking);
	flat_may_measure(false);
	int r = look_up(m, path, ret);
	flat_may_measure(true);
	return r == -EAGAIN ? r : mount_error(r);
}

int
mount_list(struct mount *m, const char *path, mount_dir_fn *fn, void *arg)
{
	if (below(path, OWN_DIR))
		return special_list(m, path, fn, arg);
	if (below(path, STORE_DIR))
		return mount_error(raw_list(m, path, fn, arg));
	tend(m);
	int r = tree_list(m, path, fn, arg);
	return mount_error(r ? r : kinds_list(m, path, fn, arg));
}

int
mount_preload(struct mount *m, const char *path)
{
	if (below(path, OWN_DIR) || below(path, STORE_DIR) || atomic_load(&m->root_is_array))
		return 0;
	return mount_error(model_preload(m->model, path));
}

void
mount_age(struct mount *m)
{
	facts_age(&m->facts, m->pages_ttl, page_stale, m);
}

int
mount_refresh(struct mount *m, struct buf *ret)
{
	size_t before = ret ? ret->len : 0;
	kinds_retry(m, ret);
	data_expire(m->data);
	pictures_expire(m);
	zmap_alive(m->zmap); /* what it says, those that look next will say */
	int r = model_refresh(m->model, ret);
	atomic_fetch_add(
		&m->changes, 1); /* what was made of answers that no longer count is not kept */
	facts_expire(&m->facts, page_stale, m);
	if (r == 0 && ret && ret->len == before)
		r = buf_addf(ret, "nothing changed\n");
	return mount_error(r);
}

void
mount_on_stale(struct mount *m, mount_stale_fn *fn, void *arg)
{
	struct stale *s = NULL;
	if (!fn)
		stale_stop(atomic_load(&m->stale)); /* workers push to it until they have ended */
	else if (stale_new(fn, arg, &s) == 0)
		atomic_store(&m->stale, s);
}

void
mount_on_note(struct mount *m, mount_note_fn *fn, void *arg)
{
	notes_set(&m->notes, fn, arg);
}

void
mount_on_stats(struct mount *m, mount_stats_fn *fn, void *arg)
{
	LOCKED(&m->lock) {
		m->stats = fn;
		m->stats_arg = arg;
	}
}
