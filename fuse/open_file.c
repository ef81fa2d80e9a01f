#include "fuse/open_file.h"

#include "fuse/inode.h"
#include "fuse/shown.h"

#include "view/mount.h"

/* Most programs that open a file read it once, in order, and perhaps from pages that the kernel
 * has: for so long (ns) it is not known how far they are. */
static const int64_t YOUNG = 2 * SECOND;

struct open_file *
open_file_of(struct handle *h)
{
	return (struct open_file *)(void *)h;
}

bool
open_file_end_pause(struct open_file *f)
{
	bool paused = atomic_exchange(&f->paused, false);
	if (paused)
		atomic_fetch_sub(&f->inode->paused, 1);
	return paused;
}

bool
open_file_move(struct handle *h, const struct array_move *m)
{
	struct open_file *f = open_file_of(h);
	struct array_move mine = *m;
	mine.looked = atomic_load(&f->looks) ? m->to : atomic_load(&f->looked);
	bool may = m->to - f->opened > YOUNG && file_move(f->file, &mine);
	if (may && f->paged && !f->direct && mine.paused && !atomic_exchange(&f->paused, true))
		atomic_fetch_add(&f->inode->paused, 1);
	return may;
}

void
open_file_heard(struct open_file *f)
{
	if (atomic_load_explicit(&f->drops, memory_order_relaxed) &&
		atomic_exchange(&f->drops, false))
		shown_open_end(f->inode);
}

bool
open_file_paused(struct handle *h)
{
	return h && atomic_load(&open_file_of(h)->paused);
}

void
open_file_look(struct handle *h)
{
	atomic_fetch_add(&open_file_of(h)->looks, 1);
}

void
open_file_looked(struct handle *h)
{
	atomic_store(&open_file_of(h)->looked, clock_now());
	atomic_fetch_sub(&open_file_of(h)->looks, 1);
}
