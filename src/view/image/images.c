#include "view/image/images_impl.h"

#include "view/image/viewed.h"
#include "view/kind.h"
#include "view/netcdf/nc_plan.h"
#include "view/netcdf/netcdf.h"
#include "view/state.h"

#include "base/path.h"

#include <errno.h>
#include <string.h>

static const size_t MOST =
	64 << 20; /* bytes that may wait in an image, where no option says more */

/* What failed of a file that is no longer open. */
struct failed {
	struct failed *next;
	char *path;
	struct err why;
};

struct images {
	struct viewed_all viewed;
	pthread_mutex_t lock; /* guards all below, and of each image what its header says */
	struct open_image *first;
	struct failed *failed;
};

struct viewed_all *
images_viewed(struct images *t)
{
	return &t->viewed;
}

int
images_new(struct images **ret)
{
	struct images *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a mount");
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

void
images_free_image(struct open_image *o)
{
	if (!o)
		return;
	image_free(o->image);
	node_unref(o->node);
	buf_free(&o->touched);
	free(o->path);
	free(o->own);
	free(o);
}

static void
free_failed(struct failed *f)
{
	for (struct failed *next; f; f = next) {
		next = f->next;
		free(f->path);
		free(f);
	}
}

struct images *
images_free(struct images *t)
{
	if (!t)
		return NULL;
	for (struct open_image *o = t->first, *next; o; o = next) {
		next = o->next;
		images_free_image(o);
	}
	free_failed(t->failed);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

/* With the lock held. */
static struct open_image *
find(struct images *t, const char *path)
{
	struct open_image *o = t->first;
	while (o && (o->given_up || strcmp(o->path, path) != 0))
		o = o->next;
	return o;
}

static struct failed *
find_failed(struct images *t, const char *path)
{
	struct failed *f = t->failed;
	while (f && strcmp(f->path, path) != 0)
		f = f->next;
	return f;
}

struct open_image *
images_find(struct mount *m, const char *path)
{
	struct open_image *o = NULL;
	if (!m->images)
		return NULL;
	LOCKED(&m->images->lock) {
		o = find(m->images, path);
		if (o)
			o->users++;
	}
	return o;
}

size_t
images_most(const struct mount *m)
{
	return m->options.image ? m->options.image : MOST;
}

int
images_make_form(struct mount *m, const struct node *now, const struct view_ops *view,
	struct open_image *o, struct image_start *ret, uint64_t *ret_version)
{
	const struct nc_want *want = netcdf_want(view);
	struct nc_plan p = {0};
	int r = nc_plan_make(m, now, want, &p);
	if (r)
		return r;
	*ret_version = p.version;
	if (p.file.format == NC_4)
		r = err_set(-EACCES, "'%s' is a netCDF-4 file", o->path);
	for (size_t i = 0; r == 0 && !want->of_group && i < p.file.nvars; i++)
		if (ret->own == CHANGE_NONE && p.source[i].variable &&
			strcmp(p.source[i].variable->node->path, now->path) == 0)
			ret->own = i;
	if (r == 0)
		r = image_form_of(o, &p, &ret->form);
	nc_plan_free(&p);
	return r;
}

int
images_start_image(struct image_start *start, struct open_image *o)
{
	int r = image_new(start, &o->image);
	if (r < 0)
		image_form_free(start->form, &image_mount_ops.store, o);
	return r;
}

/* An image of the file as its node now says. */
static int
make(struct mount *m, const struct entry *e, struct open_image *o)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	struct image_start start = {
		.own = CHANGE_NONE, .most = images_most(m), .ops = &image_mount_ops, .arg = o};
	uint64_t version = 0;
	int r = model_check(m->model, e->node->path, &now);
	if (r == 0)
		r = images_make_form(m, now, e->view, o, &start, &version);
	if (r == ZMAP_ABSENT)
		return err_set(-ESTALE, "'%s' is gone", e->path);
	/* A writer sees what there is now: nothing of an image stays in the kernel's pages, only
	 * its size does. */
	struct stale *s = atomic_load(&m->stale);
	if (r == 0 && version != e->version && s)
		stale_push(s, e->path, STALE_ATTRIBUTES);
	return r < 0 ? r : images_start_image(&start, o);
}

int
images_begin(struct mount *m, const struct entry *e, struct open_image **ret)
{
	struct open_image *o = calloc(1, sizeof *o), *there = NULL;
	if (!o || !(o->path = strdup(e->path))) {
		free(o);
		return err_set(-ENOMEM, "no memory for an open file");
	}
	o->mount = m;
	o->users = 1;
	o->view = e->view;
	o->node = node_ref(e->node);
	o->version = e->version;
	o->of_group = e->view->of_group;
	o->written = e->mtime;
	int r = make(m, e, o);
	if (r == 0)
		LOCKED(&m->images->lock) {
			there = find(m->images, e->path);
			if (there) {
				there->users++;
			} else {
				o->next = m->images->first;
				m->images->first = o;
			}
		}
	if (r == 0)
		*ret = there ? there : o;
	if (r == 0 && !there)
		atomic_fetch_add(&m->waiting, 1);
	if (r < 0 || there)
		images_free_image(o);
	return r;
}

void
images_put(struct open_image *o, bool writer)
{
	struct mount *m = o->mount;
	bool last = false;
	LOCKED(&m->images->lock) {
		o->writers -= writer;
		o->leaving -= writer && o->leaving;
		last = --o->users == 0;
		struct open_image **at = &m->images->first;
		while (last && *at != o)
			at = &(*at)->next;
		if (last)
			*at = o->next;
	}
	if (!last)
		return;
	atomic_fetch_sub(&m->waiting, 1);
	/* What the kernel knows of the file is what its writers saw. */
	struct stale *s = atomic_load(&m->stale);
	if (s)
		stale_push(s, o->path, STALE_RETIRED);
	images_free_image(o);
}

void
images_add_writer(struct open_image *o)
{
	LOCKED(&o->mount->images->lock) {
		o->writers++;
		o->opened++;
	}
}

bool
images_leave(struct open_image *o, unsigned *ret)
{
	bool last = false;
	LOCKED(&o->mount->images->lock) {
		last = ++o->leaving >= o->writers;
		*ret = o->opened;
	}
	return last;
}

unsigned
images_opened(struct open_image *o)
{
	unsigned n = 0;
	LOCKED(&o->mount->images->lock)
		n = o->opened;
	return n;
}

int
images_touch(struct open_image *o, const char *node_path)
{
	int r = 0;
	LOCKED(&o->mount->images->lock) {
		const struct buf *b = &o->touched;
		size_t at = 0;
		while (at < b->len && strcmp((char *)b->data + at, node_path) != 0)
			at += strlen((char *)b->data + at) + 1;
		if (at == b->len)
			r = buf_add(&o->touched, node_path, strlen(node_path) + 1);
	}
	return r;
}

struct buf
images_touched(struct open_image *o)
{
	struct buf was = {0};
	LOCKED(&o->mount->images->lock) {
		was = o->touched;
		o->touched = (struct buf){0};
		atomic_fetch_add(&o->round, 1);
	}
	return was;
}

int
images_all(struct mount *m, struct open_image ***ret)
{
	struct open_image **all = NULL;
	size_t n = 0;
	LOCKED(&m->images->lock) {
		for (struct open_image *o = m->images->first; o; o = o->next)
			n++;
		all = calloc(n + 1, sizeof *all);
		n = 0;
		for (struct open_image *o = m->images->first; all && o; o = o->next) {
			if (o->given_up)
				continue;
			o->users++;
			all[n++] = o;
		}
	}
	if (!all)
		return err_set(-ENOMEM, "no memory for a list of files");
	*ret = all;
	return 0;
}

static int
stick(struct images *t, const char *path, const struct open_image *by, int code)
{
	struct failed *fresh = calloc(1, sizeof *fresh);
	if (fresh)
		fresh->path = strdup(path);
	if (!fresh || !fresh->path) {
		free(fresh);
		return code;
	}
	err_save(code, &fresh->why);
	LOCKED(&t->lock) {
		if (!(by && by->given_up) && !find_failed(t, path)) {
			fresh->next = t->failed;
			t->failed = fresh;
			fresh = NULL;
		}
	}
	free_failed(fresh);
	return code;
}

int
images_stick(struct mount *m, const char *path, int code)
{
	return stick(m->images, path, NULL, code);
}

int
images_fail(struct open_image *o, int code)
{
	return stick(o->mount->images, o->path, o, code);
}

int
images_usable(struct open_image *o)
{
	bool given_up = false;
	LOCKED(&o->mount->images->lock)
		given_up = o->given_up;
	return given_up ? err_set(-ESTALE, "what was written to '%s' failed and was given up",
				  o->path)
			: images_stuck(o->mount, o->path);
}

void
images_give_up(struct open_image *o)
{
	struct stale *s = atomic_load(&o->mount->stale);
	LOCKED(&o->mount->images->lock)
		o->given_up = true;
	if (s)
		stale_push(s, o->path, STALE_RETIRED);
}

int
images_stuck(struct mount *m, const char *path)
{
	struct err e = {0};
	LOCKED(&m->images->lock) {
		const struct failed *f = find_failed(m->images, path);
		if (f)
			e = f->why;
	}
	return e.code ? err_restore(&e) : 0;
}

int
images_stuck_below(struct mount *m, const char *dir)
{
	struct err e = {0};
	CLEAN(clean_free) char *path = NULL;
	LOCKED(&m->images->lock)
		for (const struct failed *f = m->images->failed; f && !e.code; f = f->next)
			if (path_is_below(f->path, dir)) {
				e = f->why;
				path = strdup(f->path);
			}
	return e.code ? err_add(err_restore(&e), "'%s'", path ? path : dir) : 0;
}

int
images_lost(struct mount *m, struct buf *said)
{
	int r = 0;
	LOCKED(&m->images->lock)
		for (const struct failed *f = m->images->failed; f; f = f->next) {
			if (said)
				buf_addf(said, "'%s': %s\n", f->path, f->why.text);
			r = -EIO;
		}
	return r < 0 ? err_set(r, "a netCDF file could not be stored") : 0;
}

void
images_unstick(struct mount *m, const char *path, struct buf *said)
{
	struct failed *gone = NULL;
	LOCKED(&m->images->lock) {
		struct failed **all = &m->images->failed;
		while (path && *all && strcmp((*all)->path, path) != 0)
			all = &(*all)->next;
		gone = *all;
		*all = path && gone ? gone->next : NULL;
		if (path && gone)
			gone->next = NULL;
	}
	for (const struct failed *f = gone; f && said; f = f->next)
		if (buf_addf(said, "given up: '%s': %s\n", f->path, f->why.text) < 0)
			break;
	free_failed(gone);
}
