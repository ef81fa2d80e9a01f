#include "view/mount.h"

#include "base/hash.h"
#include "base/mem.h"
#include "view/flat.h"
#include "view/flats.h"
#include "view/kind.h"
#include "view/raw.h"
#include "view/special.h"
#include "view/state.h"
#include "view/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char STORE_DIR[] = ".store", OWN_DIR[] = ".zarrfs";

static struct node *
get_root(struct mount *m)
{
	struct node *n = NULL;
	LOCKED(&m->lock)
		n = node_ref(m->root);
	return n;
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
mount_flush_stale(struct mount *m, int64_t until)
{
	struct stale *s = atomic_load(&m->stale);
	if (s)
		stale_flush(s, until);
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
