/* A new archive of the old one and of what is pending. */
#include "backends/zip/write.h"

#include "backends/dir/dir.h"
#include "backends/zip/renewed.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a sync writes: the pending as they were when it began. */
struct zip_batch {
	struct zip_store *store;
	struct zip_renewed *of; /* NULL: the new archive has its name */
	uint64_t over;          /* archive.serial: what they were put over */
	uint8_t *stays;         /* by the number of an entry */
	size_t entries;
};

static void
batch_done(struct zip_batch *b)
{
	zip_renewed_free(b->of);
	free(b->stays);
}

static int
batch_begin(struct zip_store *p, struct zip_batch *b)
{
	const struct zip_writer *w = p->writer;
	b->store = p;
	LOCKED(&p->lock) {
		b->over = w->base;
		return zip_renewed_new(p, &b->of);
	}
	return 0;
}

enum { UNKNOWN, STAYS, GOES };

static int
choose(struct zip_batch *b)
{
	const struct zip_index *x = b->of->base->index;
	for (size_t i = 0; i < x->count; i++)
		if (x->member[i].order >= b->entries)
			b->entries = x->member[i].order + 1;
	b->stays = calloc(b->entries + 1, 1);
	if (!b->stays)
		return err_set(-ENOMEM, "no memory for a directory");
	for (size_t i = 0; i < x->count; i++) {
		const struct zip_member *m = &x->member[i];
		b->stays[m->order] = zip_pending_stays(&b->of->layer, x, m) ? STAYS : GOES;
	}
	return 0;
}

/* Entries that are no keys stay: they are other programs'. Older ones of a key go, as they would
 * come up again when it is deleted. */
static bool
entry_stays(void *arg, size_t number, const char *name, size_t len)
{
	const struct zip_batch *b = arg;
	unsigned known = number < b->entries ? b->stays[number] : UNKNOWN;
	CLEAN(clean_free) char *copy = strndup(name, len);
	if (known != UNKNOWN || !copy)
		return known == STAYS;
	return !len || name[len - 1] == '/' || strlen(copy) != len || !zip_is_key(copy);
}

static int
changed_beneath(const struct zip_store *p, const struct zip_batch *b)
{
	struct zmap_stat s;
	int r = zmap_stat(p->lower, p->key, &s);
	if (r < 0)
		return r;
	if (r == 0 && b->over == b->of->base->serial && zip_same_archive(&s, &b->of->base->stat) &&
		zip_writer_is_there(p->writer, p->writer->lock))
		return 0;
	return err_set(-EIO,
		"the archive '%s' was changed by another program while it was written; what was "
		"not in "
		"it yet is dropped",
		p->writer->path);
}

/* Owner and mode of the old one, as far as this user may give them. */
static void
like_old(int fd, int old)
{
	struct stat s;
	if (fstat(old, &s) != 0)
		return;
	mode_t mode = s.st_mode & 07777;
	if (fchown(fd, s.st_uid, s.st_gid) != 0 && fchown(fd, (uid_t)-1, s.st_gid) != 0)
		mode &= 0707;
	fchmod(fd, mode);
}

static int
make(struct zip_batch *b, int fd)
{
	struct zip_writer *w = b->store->writer;
	const struct zip_rewrite in = {.from = w->lock,
		.to = fd,
		.prefix = b->of->base->index->prefix,
		.layer = &b->of->layer,
		.stays = entry_stays,
		.arg = b};
	int r = zip_rewrite(&in);
	if (r < 0)
		return r;
	like_old(fd, w->lock);
	if (fsync(fd) != 0)
		return err_sys(errno, "fsync of the new archive");
	r = dir_lock_fd(fd, ZIP_LOCK_AT, 1);
	return r < 0 ? err_sys(-r, "lock the new archive") : 0;
}

/* 0, or the name that the new archive has may be undone by a crash: the next sync sees to it. */
static int
sync_folder(struct zip_writer *w, int folder)
{
	int r = dir_sync_fd(folder);
	atomic_store(&w->unsynced, r < 0);
	return r < 0 ? err_sys(-r, "fsync of the directory") : 0;
}

/* The new archive takes the place of the old one; no other thread looks for a newer archive
 * meanwhile. What is put is stored then, though the archive may have to be read later. */
static int
replace(struct zip_batch *b, int folder, const char *temp, int *fd)
{
	struct zip_store *p = b->store;
	struct zip_writer *w = p->writer;
	zip_look_begin(p);
	int r = changed_beneath(p, b);
	if (r == 0 && renameat(folder, temp, folder, strrchr(w->path, '/') + 1) != 0)
		r = err_sys(errno, "rename the new archive");
	if (r < 0) {
		zip_look_end(p);
		return r;
	}
	atomic_store(&w->unsynced, true); /* before a reader takes it over and nothing is pending */
	zip_renewed_named(p, MOVE(b->of), *fd);
	close(w->lock);
	w->lock = *fd;
	*fd = -1;
	zip_look_end(p);
	r = sync_folder(w, folder);
	struct err why;
	err_save(r, &why);
	zip_look_again(p);
	return err_restore(&why);
}

/* Puts into an archive that is another one now are lost, and programs that made them are told so;
 * what is put from now on goes there. */
static void
drop(struct zip_batch *b)
{
	CLEAN(zip_spill_unrefp) struct zip_spill *spill = NULL;
	struct zip_store *p = b->store;
	LOCKED(&p->lock) {
		zip_renewed_forget(p, b->of, &spill);
		p->writer->base = p->now->serial;
	}
	dir_clean_fd(&p->writer->lock);
	p->writer->lock = -1;
	if (zip_writer_lock(p->writer) == 0)
		zip_look_again(p);
}

static int
write_batch(struct zip_batch *b)
{
	struct zip_writer *w = b->store->writer;
	char temp[DIR_TEMPORARY_SIZE];
	CLEAN(dir_clean_fd) int folder = zip_writer_folder(w);
	if (folder < 0)
		return folder;
	int fd = dir_temporary(folder, temp);
	if (fd < 0)
		return fd;
	int r = make(b, fd);
	if (r == 0)
		r = replace(b, folder, temp, &fd);
	if (fd >= 0) {
		unlinkat(folder, temp, 0);
		close(fd);
	}
	return r;
}

/* Another program has replaced the archive, and this was known before anything was put: the lock is
 * that of an archive which is there no more. */
static int
lock_again(struct zip_store *p, const struct zip_batch *b)
{
	struct zip_writer *w = p->writer;
	struct zmap_stat s;
	if (b->over != b->of->base->serial || zip_writer_is_there(w, w->lock) ||
		zmap_stat(p->lower, p->key, &s) != 0 || !zip_same_archive(&s, &b->of->base->stat))
		return 0;
	dir_clean_fd(&w->lock);
	w->lock = -1;
	int r = zip_writer_lock(w);
	return r < 0 ? err_add(r, "'%s'", w->path) : 0;
}

/* 0: no archive that was written here is yet to be read, or it was read now; -errno: why it cannot
 * be. ZMAP_ABSENT: it cannot be, and nothing was put since it was written. */
static int
read_renewed(struct zip_store *p)
{
	CLEAN(archive_unrefp) struct archive *a = NULL;
	const struct zip_writer *w = p->writer;
	bool unread = false;
	LOCKED(&p->lock)
		unread = w->renewed;
	int r = unread ? zip_look(p, NULL, true, &a) : 0;
	LOCKED(&p->lock)
		if (r < 0 && w->renewed && w->renewed->last == w->serial)
			r = ZMAP_ABSENT;
	return r;
}

/* What a sync may have left to be done where nothing is to be written. */
static int
sync_name(struct zip_writer *w)
{
	if (!atomic_load(&w->unsynced))
		return 0;
	CLEAN(dir_clean_fd) int folder = zip_writer_folder(w);
	return folder < 0 ? folder : sync_folder(w, folder);
}

int
zip_sync(struct zmap *z)
{
	struct zip_store *p = (struct zip_store *)z;
	struct zip_writer *w = p->writer;
	if (!w || (!atomic_load(&w->any) && !atomic_load(&w->unsynced)))
		return 0;
	LOCKED(&w->syncing) {
		CLEAN(batch_done) struct zip_batch b = {0};
		int r = read_renewed(p);
		if (r == 0)
			r = batch_begin(p, &b);
		if (r < 0)
			return r;
		if (r == ZMAP_ABSENT || !b.of->layer.count)
			return sync_name(w);
		r = lock_again(p, &b);
		if (r < 0)
			return r;
		r = changed_beneath(p, &b);
		if (r < 0) {
			struct err why;
			err_save(r, &why);
			drop(&b);
			return err_restore(&why);
		}
		r = choose(&b);
		return r == 0 ? write_batch(&b) : r;
	}
	return 0;
}
