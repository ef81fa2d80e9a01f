/* The open files of a mount, and which files are told that a node has changed. */
#include "view/kind.h"
#include "view/state.h"

#include <stdio.h>
#include <string.h>

/* A program that wrote waits so long at most until other views of that have been dropped. */
static const int64_t TOLD_WITHIN = 5 * SECOND, RENAMED_WITHIN = SECOND / 10;

void
files_add(struct file *f)
{
	struct open_files *o = &f->mount->files;
	LOCKED(&o->lock) {
		f->next = o->first;
		f->link = &o->first;
		if (f->next)
			f->next->link = &f->next;
		o->first = f;
	}
}

void
files_remove(struct file *f)
{
	LOCKED(&f->mount->files.lock) {
		if (!f->link)
			return;
		*f->link = f->next;
		if (f->next)
			f->next->link = f->link;
	}
}

/* Does it show elements of the node? */
static bool
shows(const struct file *f, const char *node_path)
{
	const struct layout *l = f->layout;
	for (size_t i = 0; i < l->nspans; i++) {
		const struct variable *v = l->span[i].variable;
		if (v && strcmp(v->node->path, node_path) == 0)
			return true;
	}
	return false;
}

void
files_stale(struct mount *m, const char *node_path, const char *except, enum stale_what what)
{
	struct stale *s = atomic_load(&m->stale);
	CLEAN(buf_free) struct buf paths = {0};
	LOCKED(&m->files.lock) {
		for (const struct file *f = m->files.first; f; f = f->next)
			if (shows(f, node_path) && !(except && strcmp(f->path, except) == 0) &&
				buf_add(&paths, f->path, strlen(f->path) + 1) < 0)
				break; /* versions and the TTL still hold */
	}
	for (size_t i = 0; s && i < paths.len; i += strlen((char *)paths.data + i) + 1)
		stale_push(s, (char *)paths.data + i, what);
}

void
views_stale(struct mount *m, const char *node_path, const char *except, enum stale_what what)
{
	struct stale *s = atomic_load(&m->stale);
	const char *path = mount_path(m, node_path), *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash + 1 - path) : 0;
	for (const struct view_ops *const *v = m->views; s && *v; v++) {
		char *file = NULL;
		bool group = (*v)->of_group;
		if ((group || *(*v)->suffix) &&
			asprintf(&file, "%.*s%s", group ? dir : (int)strlen(path), path,
				(*v)->suffix) >= 0 &&
			!(except && strcmp(file, except) == 0))
			stale_push(s, file, what);
		free(file);
	}
}

void
mount_stale(struct mount *m, const char *node_path, enum stale_what what)
{
	struct stale *s = atomic_load(&m->stale);
	if (!s)
		return;
	const char *flat = mount_path(m, node_path);
	stale_push(s, flat, what);
	files_stale(m, node_path, flat, what);
}

void
kinds_wrote(struct mount *m, const char *node_path, const char *except)
{
	struct stale *s = atomic_load(&m->stale);
	const char *flat = mount_path(m, node_path);
	bool by_flat = except && strcmp(except, flat) == 0;
	if (by_flat)
		facts_written(&m->facts, node_path, clock_wall());
	else
		facts_changed(&m->facts, node_path, clock_wall());
	if (s)
		stale_push(s, flat, by_flat ? STALE_WRITTEN : STALE_ATTRIBUTES);
	files_stale(m, node_path, except, STALE_PAGES);
	views_stale(m, node_path, except, STALE_ATTRIBUTES);
}

void
kinds_told(struct mount *m, enum settle_why why)
{
	struct stale *s = atomic_load(&m->stale);
	if (s)
		stale_flush(s, clock_now() + (why == SETTLE_RENAME ? RENAMED_WITHIN : TOLD_WITHIN));
}
