#include "backends/zip/renewed.h"

#include "backends/dir/dir.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

struct zip_renewed *
zip_renewed_free(struct zip_renewed *n)
{
	if (!n)
		return NULL;
	zip_layer_free(&n->layer);
	archive_unref(n->base);
	free(n);
	return NULL;
}

int
zip_renewed_new(struct zip_store *p, struct zip_renewed **ret)
{
	CLEAN(zip_renewed_freep) struct zip_renewed *n = calloc(1, sizeof *n);
	if (!n)
		return err_set(-ENOMEM, "no memory for an archive");
	int r = zip_layer_copy(&p->writer->layer, "", &n->layer);
	if (r < 0)
		return r;
	n->base = archive_ref(p->now);
	n->last = p->writer->serial;
	*ret = MOVE(n);
	return 0;
}

void
zip_renewed_named(struct zip_store *p, struct zip_renewed *n, int fd)
{
	struct stat s;
	if (fstat(fd, &s) == 0)
		dir_say_stat(&s, &n->stat);
	LOCKED(&p->lock)
		p->writer->renewed = n;
}

void
zip_renewed_forget(struct zip_store *p, const struct zip_renewed *n, struct zip_spill **ret_spill)
{
	struct zip_writer *w = p->writer;
	struct zip_layer *now = &w->layer;
	const struct zip_layer *done = &n->layer;
	size_t kept = 0;
	for (size_t i = 0, j = 0; i < now->count; i++) {
		while (j < done->count && strcmp(done->pending[j]->key, now->pending[i]->key) < 0)
			j++;
		if (j < done->count && done->pending[j] == now->pending[i])
			zip_pending_unref(now->pending[i]); /* n has another reference */
		else
			now->pending[kept++] = now->pending[i];
	}
	now->count = kept;
	atomic_store(&w->any, kept > 0);
	*ret_spill = MOVE(w->spill); /* what is left in it keeps it */
}

int
zip_renewed_versions(const struct zip_store *p, struct archive *a)
{
	const struct zip_renewed *n = p->writer ? p->writer->renewed : NULL;
	const struct zip_index *x = a->index;
	if (!n || !zip_same_archive(&n->stat, &a->stat))
		return 0;
	struct zip_origin *origin = calloc(x->count + 1, sizeof *origin);
	if (!origin)
		return err_set(-ENOMEM, "no memory for an archive");
	size_t j = 0;
	for (size_t i = 0; i < x->count; i++) {
		const char *key = x->member[i].key;
		while (j < n->layer.count && strcmp(n->layer.pending[j]->key, key) < 0)
			j++;
		bool put = j < n->layer.count && !strcmp(n->layer.pending[j]->key, key);
		const struct zip_member *m = put ? NULL : zip_index_member(n->base->index, key);
		origin[i] = put ? zip_pending_origin(p->writer, n->layer.pending[j])
			    : m ? zip_origin_of(n->base, m)
				: zip_origin_of(a, &x->member[i]);
	}
	a->origin = origin;
	return 0;
}

struct zip_renewed *
zip_renewed_taken(struct zip_store *p, const struct archive *a, struct zip_spill **ret_spill)
{
	struct zip_writer *w = p->writer;
	struct zip_renewed *n = w ? MOVE(w->renewed) : NULL;
	if (!n)
		return NULL;
	zip_renewed_forget(p, n, ret_spill);
	if (zip_same_archive(&n->stat, &a->stat)) /* else what is left lies over one that is gone */
		w->base = a->serial;
	return n;
}
