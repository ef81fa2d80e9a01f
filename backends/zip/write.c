/* What is put into an archive, or deleted: it is pending. */
#include "backends/zip/write.h"

#include "backends/dir/dir.h"
#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <unistd.h>

static int
spill_new(const struct zip_writer *w, struct zip_spill **ret)
{
	char temp[DIR_TEMPORARY_SIZE];
	CLEAN(dir_clean_fd) int folder = zip_writer_folder(w);
	if (folder < 0)
		return folder;
	struct zip_spill *s = calloc(1, sizeof *s);
	int fd = s ? dir_temporary(folder, temp) : err_set(-ENOMEM, "no memory for an object");
	if (fd < 0) {
		free(s);
		return fd;
	}
	unlinkat(folder, temp, 0);
	s->fd = fd;
	s->refs = 1;
	*ret = s;
	return 0;
}

/* Room for the bytes, in a spill that there may not be yet. *ret: the caller's reference. */
static int
reserve(struct zip_store *p, uint64_t len, struct zip_spill **ret, uint64_t *ret_off)
{
	struct zip_writer *w = p->writer;
	CLEAN(zip_spill_unrefp) struct zip_spill *new = NULL;
	int r = 0;
	for (bool done = false; !done && r == 0;) {
		LOCKED(&p->lock) {
			if (!w->spill)
				w->spill = MOVE(new);
			if (w->spill) {
				atomic_fetch_add(&w->spill->refs, 1);
				*ret = w->spill;
				*ret_off = w->spill->end;
				w->spill->end += len;
				done = true;
			}
		}
		if (!done)
			r = spill_new(w, &new);
	}
	return r;
}

static int
write_spill(const struct zip_pending *q, const struct zmap_put *put)
{
	const struct span b = put->bytes;
	for (size_t done = 0; done < b.len;) {
		ssize_t n =
			pwrite(q->spill->fd, b.data + done, b.len - done, (off_t)(q->off + done));
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "write beside the archive");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int
pending_new(const char *key, struct zip_pending **ret)
{
	CLEAN(zip_pending_unrefp) struct zip_pending *q = calloc(1, sizeof *q);
	if (!q)
		return err_set(-ENOMEM, "no memory for an object");
	q->refs = 1;
	q->put = clock_wall();
	q->key = strdup(key);
	if (!q->key)
		return err_set(-ENOMEM, "no memory for a key");
	*ret = MOVE(q);
	return 0;
}

/* Lock held. What is there: 0 or ZMAP_ABSENT. */
static int
present(const struct zip_store *p, const char *key, struct zmap_stat *ret)
{
	const struct zip_pending *q = zip_pending_at(&p->writer->layer, key);
	const struct zip_member *m = q ? NULL : zip_index_member(p->now->index, key);
	if (q ? q->gone : !m)
		return ZMAP_ABSENT;
	if (q)
		zip_pending_say(p->writer, q, ret);
	else
		zip_say_stat(p->now, m, ret);
	return 0;
}

/* Lock held. *ret_old: what had its place, for the caller. */
static int
insert(struct zip_writer *w, struct zip_pending *q, struct zip_pending **ret_old)
{
	struct zip_layer *l = &w->layer;
	size_t i = zip_pending_place(l, q->key);
	if (i < l->count && !strcmp(l->pending[i]->key, q->key)) {
		*ret_old = l->pending[i];
		l->pending[i] = q;
		return 0;
	}
	return LIST_INSERT(l->pending, l->count, i, "objects", q);
}

/* Takes *q over, if it returns 0. */
static int
take_in(struct zip_store *p, struct zip_pending **q, const char *if_match, bool if_absent,
	struct zmap_stat *ret)
{
	CLEAN(zip_pending_unrefp) struct zip_pending *old = NULL;
	struct zip_writer *w = p->writer;
	LOCKED(&p->lock) {
		struct zmap_stat s = {0};
		int r = present(p, (*q)->key, &s);
		if ((*q)->gone && r)
			return r;
		if (if_absent ? r == 0 : if_match && (r || strcmp(if_match, s.version) != 0))
			return ZMAP_CHANGED;
		if (!w->layer.count)
			w->base = p->now->serial;
		(*q)->serial = ++w->serial;
		r = insert(w, *q, &old);
		if (r < 0)
			return r;
		if (ret)
			zip_pending_say(w, *q, ret);
		*q = NULL;
		atomic_store_explicit(&w->any, true, memory_order_release);
	}
	return 0;
}

int
zip_put(struct zmap *z, const struct zmap_put *put, struct zmap_stat *ret)
{
	struct zip_store *p = (struct zip_store *)z;
	CLEAN(zip_pending_unrefp) struct zip_pending *q = NULL;
	int r = pending_new(put->key, &q);
	if (r == 0)
		r = reserve(p, put->bytes.len, &q->spill, &q->off);
	if (r < 0)
		return r;
	q->len = put->bytes.len;
	q->crc = q->len ? libdeflate_crc32(0, put->bytes.data, put->bytes.len) : 0;
	r = write_spill(q, put);
	return r < 0 ? r : take_in(p, &q, put->if_match, put->if_absent, ret);
}

int
zip_del(struct zmap *z, const struct zmap_del *del)
{
	CLEAN(zip_pending_unrefp) struct zip_pending *q = NULL;
	int r = pending_new(del->key, &q);
	if (r < 0)
		return r;
	q->gone = true;
	return take_in((struct zip_store *)z, &q, del->if_match, false, NULL);
}
