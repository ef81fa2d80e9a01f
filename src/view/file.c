/* Open files of a mount. */
#include "view/companions.h"
#include "view/kind.h"
#include "view/raw.h"
#include "view/special.h"
#include "view/state.h"

#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct file *
file_close(struct file *f)
{
	if (!f)
		return NULL;
	if (f->kind)
		f->kind->close(f);
	files_remove(f);
	if (f->counted)
		facts_close(&f->mount->facts, f->path);
	if (f->reader) {
		view_reader_free(f->reader);
		layouts_settle(f->mount);
	}
	raw_close(f->raw);
	buf_free(&f->text);
	free(f->path);
	free(f);
	return NULL;
}

static int
stale_entry(const char *path)
{
	return err_set(-ESTALE, "'%s' has changed since it was looked up", path);
}

/* The newest change that was noticed in any variable of the layout. */
static int64_t
noticed(struct mount *m, const struct layout *l, bool flat)
{
	int64_t newest = 0;
	for (size_t i = 0; i < l->nspans; i++) {
		const struct variable *v = l->span[i].variable;
		int64_t t = v ? facts_noticed(&m->facts, v->node->path, flat) : 0;
		newest = t > newest ? t : newest;
	}
	return newest;
}

/* Of a flat file that is not written. */
static bool
is_spread(const struct mount *m, const struct layout *l)
{
	struct array *a;
	for (size_t i = 0; i < l->nspans && !m->options.rw; i++)
		if (l->span[i].variable && variable_array(l->span[i].variable, &a) == 0)
			return array_is_spread(a);
	return false;
}

/* known: the layout, or NULL. */
static int
open_layout(struct file *f, const struct entry *e, const struct node *now, struct layout *known)
{
	struct mount *m = f->mount;
	CLEAN(layout_unrefp) struct layout *l = known ? layout_ref(known) : NULL;
	int r = l ? 0 : layouts_get(m, &(struct view_file){e->view, now, e->path}, &l);
	if (r == 0)
		r = view_reader_new(l, &f->reader);
	if (r < 0)
		return r;
	f->layout = l; /* the reader has a reference */
	if (l->version != e->version)
		return stale_entry(e->path); /* widths were measured again in between */
	f->size = l->size;
	f->noticed = noticed(m, l, e->view == m->views[0]);
	f->keep = facts_open(&m->facts, e->path, l->version, m->pages_ttl, f->noticed);
	f->counted = true;
	if (m->zmap->caps & ZMAP_REMOTE && e->view == m->views[0])
		f->spread = is_spread(m, l);
	files_add(f);
	return 0;
}

/* The flat file is opened to be read, mostly from its beginning: a far store is asked for that
 * while it is asked whether the metadata still hold. If they do not, it is of no use. */
static void
expect_reader(struct mount *m, const struct entry *e)
{
	CLEAN(variable_unrefp) struct variable *v = NULL;
	const struct node *n = e->node;
	if (!(m->zmap->caps & ZMAP_REMOTE) || e->view != m->views[0] || !n->array || n->error ||
		!n->array->dtype.size || !model_is_due(m->model, n->path))
		return;
	if (variable_get(m, n, 0, &v) == 0)
		array_expect(v->array);
}

/* By the own metadata of all its variables, not only of the one that it is named after: the kernel
 * looks up again only once. */
static int
check_others(struct mount *m, const struct entry *e, struct node **now, struct layout *l)
{
	if (!companions_look(m, *now, l))
		return 0;
	node_unref(MOVE(*now));
	return model_check(m->model, e->node->path, now);
}

/* The view that has a layout to look by, or NULL. A text or a picture has none; that of the netCDF
 * file is made instead if looking costs little, if all will be read, or if consolidated metadata
 * are in doubt. */
static const struct view_ops *
view_of_others(const struct mount *m, const struct entry *e)
{
	const bool cheap = !(m->zmap->caps & ZMAP_REMOTE) || m->options.read_whole;
	if (!e->view->measure)
		return e->view;
	return cheap || model_doubted(m->model, e->node->path) ? e->view->beside : NULL;
}

/* Is the entry what the file is now? ret_layout: that of *now, where it is known by now. */
static int
check_entry(struct mount *m, const struct entry *e, struct node **now, struct layout **ret_layout)
{
	struct view_facts facts;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = model_check(m->model, e->node->path, now);
	const struct view_ops *others = view_of_others(m, e);
	if (r == 0 && !(*now)->error && others &&
		layouts_get(m, &(struct view_file){others, *now, e->path}, &l) == 0)
		r = check_others(m, e, now, l);
	if (r == 0 && (*now)->kind == e->node->kind)
		r = layouts_facts(m, &(struct view_file){e->view, *now, e->path}, &facts);
	if (r == ZMAP_ABSENT ||
		(r == 0 && ((*now)->kind != e->node->kind || facts.version != e->version)))
		return stale_entry(e->path);
	if (r == 0 && l && others == e->view && l->version == e->version)
		*ret_layout = MOVE(l);
	return r;
}

void
file_look(struct mount *m, const struct entry *e)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	struct layout *l = NULL;
	if (!e->view)
		return;
	check_entry(m, e, &now, &l);
	layout_unref(l);
	layouts_settle(m);
}

int
file_view_open(struct file *f, const struct entry *e)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	expect_reader(f->mount, e);
	int r = check_entry(f->mount, e, &now, &l);
	if (r < 0)
		return r;
	if (now->error)
		r = err_set(now->error_code == -EACCES ? -EACCES : -EIO, "%s", now->error);
	else
		r = open_layout(f, e, now, l);
	if (r < 0 && r != -ESTALE && now->made_of)
		err_add(r, "'%s%s%s'", now->path, *now->path ? "/" : "", now->made_of);
	return r;
}

/* The next one to ask sees what there is now. */
static int
look_again(struct mount *m, const struct entry *e)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	int r = model_look_again(m->model, e->node->path, &now);
	return r < 0 ? r : stale_entry(e->path);
}

/* An object that belongs to no Zarr hierarchy: looked up by the model, read as a key. */
static int
open_object(struct file *f, const struct entry *e)
{
	struct entry now;
	int r = raw_open(f->mount, e->node->path, &f->raw);
	if (r == ZMAP_ABSENT || (r == 0 && (raw_size(f->raw) != e->size ||
						   strcmp(raw_tag(f->raw), e->node->version))))
		return look_again(f->mount, e);
	if (r == 0)
		r = mount_lookup(f->mount, e->path, &now);
	if (r)
		return r < 0 ? r : stale_entry(e->path);
	bool same = now.version == e->version;
	entry_free(&now);
	f->size = e->size;
	f->keep = true; /* the node of another version is another node for the kernel */
	return same ? 0 : stale_entry(e->path);
}

static int
open_key(struct file *f, const struct entry *e)
{
	const char *slash = strchr(e->path, '/');
	int r = raw_open(f->mount, slash ? slash + 1 : "", &f->raw);
	if (r == ZMAP_ABSENT || (r == 0 && raw_version(f->raw) != e->version))
		return stale_entry(e->path);
	f->size = e->size;
	f->keep = true;
	return r;
}

static int
open_text(struct file *f, const struct entry *e)
{
	int r = special_text(f->mount, e->special, &f->text);
	f->size = f->text.len;
	return r;
}

static int
open_entry(struct file *f, const struct entry *e)
{
	if (e->kind == ENTRY_DIR)
		return err_set(-EISDIR, "'%s' is a directory", e->path);
	if (e->special == SPECIAL_STORE)
		return open_key(f, e);
	if (e->special)
		return open_text(f, e);
	return e->view ? file_view_open(f, e) : open_object(f, e);
}

/* Only kinds of files write; and only they have anything to say in a writable mount. */
static int
open_by_kind(struct file *f, const struct entry *e)
{
	int r = e->kind == ENTRY_DIR ? ZMAP_ABSENT : kinds_open(f, e, f->flags);
	if (r != ZMAP_ABSENT)
		return r;
	if (file_writes(f) || f->flags & O_TRUNC)
		return err_set(
			f->mount->options.rw ? -EACCES : -EROFS, "'%s' cannot be written", e->path);
	return open_entry(f, e);
}

int
file_open(struct mount *m, const struct entry *e, struct file **ret)
{
	return file_open_for(m, e, O_RDONLY, ret);
}

int
file_open_for(struct mount *m, const struct entry *e, int flags, struct file **ret)
{
	struct file *f = calloc(1, sizeof *f);
	int r = -ENOMEM;
	if (f) {
		f->mount = m;
		f->flags = flags;
		f->path = strdup(e->path);
	}
	if (f && f->path)
		r = open_by_kind(f, e);
	else
		err_set(r, "no memory for an open file");
	if (r < 0) {
		file_close(f);
		layouts_settle(m);
		return mount_write_error(r);
	}
	*ret = f;
	return 0;
}

static int
read_text(struct file *f, const struct array_want *want, struct reply *ret)
{
	if (want->off >= f->text.len || !want->len)
		return 0;
	ret->len = min_u64(want->len, f->text.len - want->off);
	ret->part[0] = (struct iovec){f->text.data + want->off, ret->len};
	ret->parts = 1;
	return 0;
}

/* An element that was longer than the width, perhaps: the next open measures anew. */
static void
forget_widths(struct file *f)
{
	const struct layout *l = f->layout;
	for (size_t i = 0; i < l->nspans; i++)
		if (l->span[i].variable)
			facts_forget_width(&f->mount->facts, l->span[i].variable->node->path);
}

/* The kernel asks again, page by page, for what its reading ahead did not get: that must not double
 * the time that read() takes. So what is asked for again at once has time for what is here by now,
 * and no more. */
enum { AGAIN_NS = 500 * 1000 * 1000, AGAIN_PATIENCE_NS = 200 * 1000 * 1000 };

static bool
is_again(const struct file *f, const struct array_want *want)
{
	int64_t late = atomic_load_explicit(&f->late_at, memory_order_relaxed);
	return late && want->deadline && clock_now() - late <= AGAIN_NS &&
	       want->off < f->late_end && want->off + want->len > f->late_off;
}

void
file_late(struct file *f, uint64_t off, size_t len)
{
	f->late_off = off;
	f->late_end = off + len;
	f->late_at = clock_now();
}

/* Bytes of a key itself fail together, and the store may be given up before the time is over: after
 * half of it. */
static void
note_late(struct file *f, const struct array_want *want, int64_t begun)
{
	int64_t from = f->raw ? begun + (want->deadline - begun) / 2 : want->deadline - AGAIN_NS;
	if (want->deadline && clock_now() >= from)
		file_late(f, want->off, want->len);
}

int
file_read(struct file *f, const struct array_want *want, struct reply *ret)
{
	struct array_want w = *want;
	const bool again = is_again(f, want);
	const int64_t begun = again || f->raw ? clock_now() : 0;
	int r;
	if (again && begun + AGAIN_PATIENCE_NS < w.deadline)
		w.deadline = begun + AGAIN_PATIENCE_NS;
	if (atomic_load_explicit(&f->mount->waiting, memory_order_relaxed))
		kinds_other_read(f);
	if (f->kind)
		r = f->kind->read(f, &w, ret);
	else if (f->reader)
		r = view_read(f->reader, &w, ret);
	else if (f->raw)
		r = again ? err_set(-EIO, "no answer in time") : raw_read(f->raw, &w, ret);
	else
		r = read_text(f, &w, ret);
	if (r >= 0)
		return 0;
	reply_done(ret);
	note_late(f, want, begun);
	if (f->reader)
		forget_widths(f);
	return mount_error(r);
}

int
file_view_read(struct file *f, const struct array_want *want, struct reply *ret)
{
	return view_read(f->reader, want, ret);
}

void
file_guard(struct file *f)
{
	if (f->reader)
		view_guard(f->reader);
}

bool
file_goes_whole(const struct file *f)
{
	return f->reader && f->layout->direct;
}

bool
file_islands(const struct file *f)
{
	return f->reader && view_islands(f->reader);
}

uint64_t
file_size(struct file *f)
{
	return f->size;
}

bool
file_move(struct file *f, struct array_move *m)
{
	return !f->reader || view_move(f->reader, m);
}

bool
file_own_size(struct file *f, uint64_t *ret)
{
	const bool own = f->kind && f->kind->size;
	if (own)
		*ret = f->kind->size(f);
	return own;
}

bool
file_keep_cache(struct file *f)
{
	return f->keep;
}

int64_t
file_noticed(const struct file *f)
{
	return f->noticed;
}
