/* A new archive of the old one and of what is pending. */
#include "backends/zip/write.h"

#include "backends/dir/dir.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a sync writes: the pending as they were when it began. */
struct batch {
	struct zip_store *store;
	struct archive *base;
	struct zip_layer layer;
	uint64_t over;  /* archive.serial: what they were put over */
	uint8_t *stays; /* by the number of an entry */
	size_t entries;
};

static void
batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->layer.count; i++)
		zip_pending_unref(b->layer.pending[i]);
	free(b->layer.pending);
	free(b->stays);
	archive_unref(b->base);
}

static int
batch_begin(struct zip_store *p, struct batch *b)
{
	const struct zip_writer *w = p->writer;
	b->store = p;
	LOCKED(&p->lock) {
		const struct zip_layer *l = &w->layer;
		b->base = archive_ref(p->now);
		b->over = w->base;
		b->layer.pending = calloc(l->count + 1, sizeof *l->pending);
		if (!b->layer.pending)
			return err_set(-ENOMEM, "no memory for %zu objects", l->count);
		for (size_t i = 0; i < l->count; i++) {
			atomic_fetch_add(&l->pending[i]->refs, 1);
			b->layer.pending[b->layer.count++] = l->pending[i];
		}
	}
	return 0;
}

enum { UNKNOWN, STAYS, GOES };

static int
choose(struct batch *b)
{
	const struct zip_index *x = b->base->index;
	for (size_t i = 0; i < x->count; i++)
		if (x->member[i].order >= b->entries)
			b->entries = x->member[i].order + 1;
	b->stays = calloc(b->entries + 1, 1);
	if (!b->stays)
		return err_set(-ENOMEM, "no memory for a directory");
	for (size_t i = 0; i < x->count; i++) {
		const struct zip_member *m = &x->member[i];
		b->stays[m->order] = zip_pending_stays(&b->layer, x, m) ? STAYS : GOES;
	}
	return 0;
}

/* Entries that are no keys stay: they are other programs'. Older ones of a key go, as they would
 * come up again when it is deleted. */
static bool
entry_stays(void *arg, size_t number, const char *name, size_t len)
{
	const struct batch *b = arg;
	unsigned known = number < b->entries ? b->stays[number] : UNKNOWN;
	CLEAN(clean_free) char *copy = strndup(name, len);
	if (known != UNKNOWN || !copy)
		return known == STAYS;
	return !len || name[len - 1] == '/' || strlen(copy) != len || !zip_is_key(copy);
}

static int
changed_beneath(const struct zip_store *p, const struct batch *b)
{
	struct zmap_stat s;
	int r = zmap_stat(p->lower, p->key, &s);
	if (r < 0)
		return r;
	if (r == 0 && b->over == b->base->serial && zip_same_archive(&s, &b->base->stat) &&
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
make(struct batch *b, int fd)
{
	struct zip_writer *w = b->store->writer;
	const struct zip_rewrite in = {.from = w->lock,
		.to = fd,
		.prefix = b->base->index->prefix,
		.layer = &b->layer,
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

/* Versions stay what they were: of members that were copied, and of those that were put. */
static int
keep_versions(const struct batch *b, struct archive *new)
{
	const struct zip_index *x = new->index;
	const struct zip_layer *l = &b->layer;
	new->origin = calloc(x->count + 1, sizeof *new->origin);
	if (!new->origin)
		return err_set(-ENOMEM, "no memory for an archive");
	size_t j = 0;
	for (size_t i = 0; i < x->count; i++) {
		const char *key = x->member[i].key;
		while (j < l->count && strcmp(l->pending[j]->key, key) < 0)
			j++;
		bool put = j < l->count && !strcmp(l->pending[j]->key, key);
		const struct zip_member *m = put ? NULL : zip_index_member(b->base->index, key);
		new->origin[i] =
			put ? (struct zip_origin){b->store->writer->mark, l->pending[j]->serial}
			: m ? zip_origin_of(b->base, m)
			    : zip_origin_of(new, &x->member[i]);
	}
	return 0;
}

/* Lock held. What is in the archive now is not pending any more, unless it was put again
 * meanwhile. */
static void
forget(struct batch *b, struct zip_spill **ret_spill)
{
	struct zip_writer *w = b->store->writer;
	struct zip_layer *now = &w->layer;
	const struct zip_layer *done = &b->layer;
	size_t kept = 0;
	for (size_t i = 0, j = 0; i < now->count; i++) {
		while (j < done->count && strcmp(done->pending[j]->key, now->pending[i]->key) < 0)
			j++;
		if (j < done->count && done->pending[j] == now->pending[i])
			zip_pending_unref(now->pending[i]); /* the batch has another reference */
		else
			now->pending[kept++] = now->pending[i];
	}
	now->count = kept;
	w->base = b->store->now->serial;
	atomic_store(&w->any, kept > 0);
	*ret_spill = MOVE(w->spill); /* what is left in it keeps it */
}

/* What has the name of the archive is the store from now on. *ret_old, *ret_spill: to be let go
 * of. */
static int
take_over(struct batch *b, struct archive **ret_old, struct zip_spill **ret_spill)
{
	CLEAN(archive_unrefp) struct archive *new = NULL;
	struct zip_store *p = b->store;
	int r = archive_open(p, &new);
	if (r == 0)
		r = keep_versions(b, new);
	if (r < 0)
		return r;
	LOCKED(&p->lock) {
		*ret_old = p->now;
		p->now = MOVE(new);
		p->failure = (struct err){0};
		forget(b, ret_spill);
	}
	return 0;
}

/* The new archive takes the place of the old one; no other thread looks for a newer archive
 * meanwhile. */
static int
replace(struct batch *b, int folder, const char *temp, int *fd)
{
	CLEAN(archive_unrefp) struct archive *old = NULL;
	CLEAN(zip_spill_unrefp) struct zip_spill *spill = NULL;
	struct zip_store *p = b->store;
	struct zip_writer *w = p->writer;
	zip_look_begin(p);
	int r = changed_beneath(p, b);
	bool renamed = r == 0 && renameat(folder, temp, folder, strrchr(w->path, '/') + 1) == 0;
	if (r == 0 && !renamed)
		r = err_sys(errno, "rename the new archive");
	int synced = r == 0 ? dir_sync_fd(folder) : 0;
	if (synced < 0)
		r = err_sys(-synced, "fsync of the directory");
	if (renamed) {
		close(w->lock);
		w->lock = *fd;
		*fd = -1;
		int r2 = take_over(b, &old, &spill);
		r = r == 0 ? r2 : r;
	}
	zip_look_end(p);
	return r;
}

/* Puts into an archive that is another one now are lost, and programs that made them are told so;
 * what is put from now on goes there. */
static void
drop(struct batch *b)
{
	CLEAN(zip_spill_unrefp) struct zip_spill *spill = NULL;
	struct zip_store *p = b->store;
	LOCKED(&p->lock)
		forget(b, &spill);
	dir_clean_fd(&p->writer->lock);
	p->writer->lock = -1;
	if (zip_writer_lock(p->writer) == 0)
		zip_look_again(p);
}

static int
write_batch(struct batch *b)
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
lock_again(struct zip_store *p, const struct batch *b)
{
	struct zip_writer *w = p->writer;
	struct zmap_stat s;
	if (b->over != b->base->serial || zip_writer_is_there(w, w->lock) ||
		zmap_stat(p->lower, p->key, &s) != 0 || !zip_same_archive(&s, &b->base->stat))
		return 0;
	dir_clean_fd(&w->lock);
	w->lock = -1;
	int r = zip_writer_lock(w);
	return r < 0 ? err_add(r, "'%s'", w->path) : 0;
}

int
zip_sync(struct zmap *z)
{
	struct zip_store *p = (struct zip_store *)z;
	struct zip_writer *w = p->writer;
	if (!w || !atomic_load(&w->any))
		return 0;
	LOCKED(&w->syncing) {
		CLEAN(batch_done) struct batch b = {0};
		int r = batch_begin(p, &b);
		if (r < 0 || !b.layer.count)
			return r;
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
