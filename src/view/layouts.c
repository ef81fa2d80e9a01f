#include "view/layouts.h"

#include "base/check.h"
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Measured, not counted: a node with its array, which stays as long as its layout does. */
enum { NODE_BYTES_ABOUT = 2400 };

/* What came of laying out. */
struct made_layout {
	struct view_facts facts;
	struct layout *layout; /* a reference, or NULL */
	bool refused;          /* it is too large for the format: opening it says so */
	uint64_t changes;      /* facts.changes, when the mtime was found */
	int64_t until;         /* clock_now(): to be made anew from then on */
};

/* A view of a node. */
struct kept_layout {
	struct map_entry by_path;
	struct kept_layout *next;          /* of those that are to be freed */
	struct kept_layout *newer, *older; /* in its list */
	const struct view_ops *view;
	struct node *node;
	struct made_layout made;
	enum layout_is is;
	size_t bytes; /* a layout that is lent belongs to its readers */
};

void
layouts_init(struct layouts *t)
{
	pthread_mutex_init(&t->lock, NULL);
}

/* Lock held. NULL: nothing is kept. */
static struct kept_layout *
find(struct layouts *t, const struct view_ops *view, const char *path)
{
	for (struct map_entry *e = map_first(&t->by_path, hash_name(path)); e; e = map_next(e)) {
		struct kept_layout *k = MAP_OF(e, struct kept_layout, by_path);
		if (k->view == view && !strcmp(k->node->path, path))
			return k;
	}
	return NULL;
}

static struct kept_list *
list_of(struct layouts *t, const struct kept_layout *k)
{
	return &t->list[k->is];
}

static void
link_newest(struct layouts *t, struct kept_layout *k)
{
	struct kept_list *l = list_of(t, k);
	k->newer = NULL;
	k->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = k;
	l->newest = k;
}

static void
unlink_aged(struct layouts *t, struct kept_layout *k)
{
	struct kept_list *l = list_of(t, k);
	*(k->older ? &k->older->newer : &l->oldest) = k->newer;
	*(k->newer ? &k->newer->older : &l->newest) = k->older;
}

/* Moves it to the list of what is to be freed, with no lock held. */
static void
take_out(struct layouts *t, struct kept_layout *k, struct kept_layout **out)
{
	map_remove(&t->by_path, &k->by_path);
	unlink_aged(t, k);
	t->bytes -= k->bytes;
	k->next = *out;
	*out = k;
}

static void
put_in(struct layouts *t, struct kept_layout *k)
{
	map_add(&t->by_path, &k->by_path, hash_name(k->node->path));
	link_newest(t, k);
	t->bytes += k->bytes;
}

static void
take_oldest_out(struct layouts *t, struct kept_list *l, struct kept_layout **out)
{
	take_out(t, l->oldest, out);
}

/* All but those that readers hold. Lock held. */
static void
take_kept_out(struct layouts *t, struct kept_layout **out)
{
	while (t->list[LAYOUT_WHOLE].oldest)
		take_oldest_out(t, &t->list[LAYOUT_WHOLE], out);
	while (t->list[LAYOUT_BARE].oldest)
		take_oldest_out(t, &t->list[LAYOUT_BARE], out);
}

/* Lock held. */
static void
take_all_out(struct layouts *t, struct kept_layout **out)
{
	take_kept_out(t, out);
	while (t->list[LAYOUT_LENT].oldest)
		take_oldest_out(t, &t->list[LAYOUT_LENT], out);
}

/* Only the facts stay: `ls -l` needs no more. Lock held. */
static void
strip(struct layouts *t, struct kept_layout *old, struct kept_layout **out)
{
	struct kept_layout *k = calloc(1, sizeof *k);
	take_out(t, old, out);
	if (!k)
		return;
	*k = (struct kept_layout){.view = old->view,
		.node = node_ref(old->node),
		.made = old->made,
		.is = LAYOUT_BARE};
	k->made.layout = NULL;
	k->bytes = sizeof *k + NODE_BYTES_ABOUT;
	put_in(t, k);
}

static void
free_all(struct kept_layout *k)
{
	for (struct kept_layout *next; k; k = next) {
		next = k->next;
		layout_unref(k->made.layout);
		node_unref(k->node);
		free(k);
	}
}

void
layouts_free(struct layouts *t)
{
	struct kept_layout *out = NULL;
	take_all_out(t, &out);
	free_all(out);
	map_done(&t->by_path);
	pthread_mutex_destroy(&t->lock);
}

void
layouts_drop(struct mount *m)
{
	struct kept_layout *out = NULL;
	LOCKED(&m->layouts.lock)
		take_kept_out(&m->layouts, &out);
	free_all(out);
}

/* A number that is another one once any node, consolidated metadata or a width is. */
static uint64_t
moment_of(struct mount *m)
{
	uint64_t h = hash_number(HASH_START, atomic_load(&m->changes));
	h = hash_number(h, atomic_load(&m->facts.forgotten));
	return hash_end(hash_number(h, model_moment(m->model)));
}

/* The newest of a layout's variables and their chunks. */
static int64_t
mtime_of(struct mount *m, const struct layout *l)
{
	int64_t newest = 0;
	for (size_t i = 0; l && i < l->nspans; i++) {
		const struct variable *v = l->span[i].variable;
		int64_t t = v ? facts_mtime(&m->facts, v->node->path) : 0;
		if (v && v->node->mtime > t)
			t = v->node->mtime;
		newest = t > newest ? t : newest;
	}
	return newest;
}

/* How much may be kept. */
static size_t
room(struct mount *m)
{
	enum { SHARE = 32, MOST = 128 << 20 };
	return min_u64(data_memory(m->data) / SHARE, MOST);
}

/* False: what is kept does not hold, or nothing is. What no longer holds goes. */
static bool
recall(struct mount *m, const struct view_ops *view, const struct node *n, bool whole,
	struct made_layout *ret)
{
	struct layouts *t = &m->layouts;
	struct kept_layout *out = NULL;
	uint64_t moment = moment_of(m);
	bool known = false;
	LOCKED(&t->lock) {
		if (t->moment != moment)
			take_all_out(t, &out);
		t->moment = moment;
		struct kept_layout *k = find(t, view, n->path);
		if (k && (k->node != n || clock_now() >= k->made.until))
			take_out(t, k, &out);
		else if (k && !(k->is == LAYOUT_BARE && whole)) {
			known = true;
			unlink_aged(t, k);
			link_newest(t, k);
			*ret = k->made;
			ret->layout = ret->layout ? layout_ref(ret->layout) : NULL;
			t->reused++;
		}
	}
	free_all(out);
	return known;
}

/* Takes it over. */
static void
keep(struct mount *m, uint64_t moment, struct kept_layout *k)
{
	struct layouts *t = &m->layouts;
	struct kept_layout *out = NULL;
	size_t most = room(m);
	LOCKED(&t->lock) {
		struct kept_layout *old = find(t, k->view, k->node->path);
		if (old)
			take_out(t, old, &out);
		if (t->moment != moment || k->bytes > most) {
			k->next = out;
			out = k;
			break;
		}
		put_in(t, k);
		struct kept_list *with = &t->list[LAYOUT_WHOLE], *bare = &t->list[LAYOUT_BARE];
		while (t->bytes > most && with->oldest && with->oldest != k)
			strip(t, with->oldest, &out);
		while (t->bytes > most && bare->oldest && bare->oldest != k)
			take_oldest_out(t, bare, &out);
	}
	free_all(out);
}

/* Lays the node out, and says what came of it. */
static int
make(struct mount *m, const struct view_file *f, struct made_layout *ret)
{
	LOCKED(&m->layouts.lock)
		m->layouts.made++;
	int r = f->view->lay_out(m, f->node, f->path, &ret->layout);
	if (r == -EFBIG) {
		ret->refused = true;
		ret->facts.size = SIZE_OF_UNREADABLE;
		ret->facts.version = hash_end(hash_text(HASH_START, err_text()));
		return 0;
	}
	if (r)
		return r;
	ret->facts.size = ret->layout->size;
	ret->facts.version = ret->layout->version;
	ret->facts.mtime = mtime_of(m, ret->layout);
	return 0;
}

/* Without memory nothing is kept. */
static int
make_and_keep(struct mount *m, const struct view_file *f, struct made_layout *ret)
{
	uint64_t moment = moment_of(m);
	struct made_layout made = {.changes = atomic_load(&m->facts.changes)};
	model_watch(&made.until);
	int r = make(m, f, &made);
	model_watch(NULL);
	if (r)
		return r;
	*ret = made;
	struct kept_layout *k = calloc(1, sizeof *k);
	if (!k)
		return 0;
	*k = (struct kept_layout){
		.view = f->view, .node = node_ref((struct node *)f->node), .made = made};
	k->bytes = sizeof *k + NODE_BYTES_ABOUT;
	if (made.layout) {
		const size_t bytes = layout_bytes(layout_ref(made.layout));
		if (k->bytes + bytes > room(m))
			k->is = LAYOUT_LENT;
		else
			k->bytes += bytes;
	}
	keep(m, moment, k);
	return 0;
}

void
layouts_settle(struct mount *m)
{
	struct layouts *t = &m->layouts;
	struct kept_layout *out = NULL;
	LOCKED(&t->lock) {
		for (struct kept_layout *k = t->list[LAYOUT_LENT].oldest, *next; k; k = next) {
			next = k->newer;
			if (atomic_load(&k->made.layout->refs) == 1)
				strip(t, k, &out);
		}
	}
	free_all(out);
}

void
layouts_put(struct mount *m, struct layout *l)
{
	layout_unref(l);
	if (l)
		layouts_settle(m);
}

int
layouts_facts(struct mount *m, const struct view_file *f, struct view_facts *ret)
{
	struct made_layout made;
	if (f->view->measure)
		return f->view->measure(m, f->node, f->path, ret);
	bool known = recall(m, f->view, f->node, false, &made);
	/* Chunks have changed: the time of whose layout is not kept is found by making it. */
	if (known && made.changes != atomic_load(&m->facts.changes)) {
		known = made.layout;
		made.facts.mtime = mtime_of(m, made.layout);
	}
	int r = known ? 0 : make_and_keep(m, f, &made);
	if (r)
		return r;
	layouts_put(m, made.layout);
	*ret = made.facts;
	return 0;
}

int
layouts_get(struct mount *m, const struct view_file *f, struct layout **ret)
{
	struct made_layout made;
	if (f->view->measure)
		return f->view->lay_out(m, f->node, f->path, ret);
	int r = recall(m, f->view, f->node, true, &made) ? 0 : make_and_keep(m, f, &made);
	if (r == 0 && made.refused) /* once more, for its message */
		r = f->view->lay_out(m, f->node, f->path, &made.layout);
	if (r == ZMAP_ABSENT)
		return err_add(-EIO, "there is no such file");
	if (r == 0)
		*ret = made.layout;
	return r;
}

size_t
layouts_bytes(struct mount *m)
{
	size_t n = 0;
	LOCKED(&m->layouts.lock)
		n = m->layouts.bytes;
	return n;
}

int
layouts_stats(struct mount *m, struct buf *ret)
{
	uint64_t made = 0, reused = 0;
	LOCKED(&m->layouts.lock) {
		made = m->layouts.made;
		reused = m->layouts.reused;
	}
	return buf_addf(ret,
		"zarrfs_layouts_made_total %" PRIu64 "\nzarrfs_layouts_reused_total %" PRIu64
		"\nzarrfs_layouts_bytes %zu\n",
		made, reused, layouts_bytes(m));
}
