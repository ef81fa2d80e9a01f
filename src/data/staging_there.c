/* Rows that were put here are about to be counted, and another program has stored the metadata of
 * their array since: it may have made the array shorter, and as long again, and what was put is
 * gone. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Objects that are looked at: copies of what is noted. */
struct seeking {
	struct array *array;
	struct noted *at;
	size_t n;
	struct cancel *cancel;
	pthread_mutex_t lock; /* guards the rest */
	struct err err;       /* why one could not be looked at */
};

static bool
is_sought(const struct array *a, const struct noted *n, uint64_t rows, uint64_t document)
{
	return n->site == a->site && n->document != document && n->witnesses &&
	       n->witness[0].row < rows;
}

/* Copies of them. The lock is held. */
static int
collect(const struct staging *s, uint64_t rows, uint64_t document, struct seeking *l)
{
	size_t most = 0;
	for (size_t i = 0; i < s->n_noted; i++)
		most += is_sought(l->array, s->noted[i], rows, document);
	l->at = most ? malloc(most * sizeof *l->at) : NULL;
	if (most && !l->at)
		return err_set(-ENOMEM, "no memory for rows that are looked for");
	for (size_t i = 0; i < s->n_noted && l->n < most; i++)
		if (is_sought(l->array, s->noted[i], rows, document))
			l->at[l->n++] = *s->noted[i];
	return 0;
}

/* The object is another version, into which other writers may have taken the rows over. */
static int
read_witnesses(const struct seeking *l, struct noted *n)
{
	struct array *a = l->array;
	const size_t item = a->grid.item;
	const struct array_want want = {
		.deadline = clock_now() + a->data->options.timeout, .cancel = l->cancel};
	struct sieve sieve[WITNESSES];
	CLEAN(clean_free) uint8_t *got = malloc(n->witnesses * item);
	struct stream *s = NULL;
	for (unsigned i = 0; got && i < n->witnesses; i++)
		sieve[i] = (struct sieve){.chunk = n->witness[i].chunk,
			.first = n->witness[i].element * item,
			.rows = 1,
			.columns = 1,
			.bytes = item,
			.to = got + i * item};
	int r = got ? stream_new(a, &s) : err_set(-ENOMEM, "no memory for elements");
	if (r == 0)
		r = stream_sift(s, &want, sieve, n->witnesses);
	for (unsigned i = n->witnesses; r == 0 && i-- > 0;)
		if (memcmp(sieve[i].to, a->fill, item) == 0)
			n->gone = n->witness[i].row;
	stream_free(s);
	return r;
}

/* Elements that are not fill may be by now what these codecs have made of them: fill. */
static bool
is_lossy(const struct array *a)
{
	CLEAN(buf_free) struct buf names = {0};
	return array_lossy(a, &names) < 0 || names.len;
}

static void
seek(void *arg, size_t i)
{
	struct seeking *l = arg;
	struct array *a = l->array;
	struct noted *n = &l->at[i];
	struct zmap_stat now;
	char key[ARRAY_KEY_MAX];
	int r = array_chunk_key(a, n->chunk, key);
	if (r == 0)
		r = zmap_stat_while(a->zmap, key, l->cancel, &now);
	if (r == -EACCES && a->data->options.missing_403)
		r = ZMAP_ABSENT;
	n->gone = r == ZMAP_ABSENT ? n->witness[0].row : UINT64_MAX;
	if (r == 0 && (n->merged || strcmp(now.version, n->version) != 0) && !is_lossy(a))
		r = read_witnesses(l, n);
	if (r < 0)
		LOCKED(&l->lock)
			err_save(r, &l->err);
}

/* What was found need not be looked at again. Returns the first row that is gone; UINT64_MAX: none
 * is. The lock is held. */
static uint64_t
conclude(struct staging *s, const struct seeking *l, uint64_t document)
{
	uint64_t gone = UINT64_MAX;
	for (size_t i = 0; i < l->n; i++) {
		const struct noted *was = &l->at[i];
		struct noted *n = staging_noted(s, was->site, was->object);
		gone = min_u64(gone, was->gone);
		if (!n || n->document != was->document || strcmp(n->version, was->version) != 0)
			continue;
		n->gone = was->gone;
		if (n->gone == UINT64_MAX)
			n->document = document;
	}
	return gone;
}

static int
seek_all(struct seeking *l, uint64_t document)
{
	struct array *a = l->array;
	struct staging *s = a->data->staging;
	uint64_t gone = 0;
	a->grown = clock_now(); /* what is cached may be from before */
	in_parallel(l->n, a->remote, seek, l);
	if (l->err.code)
		return err_add(err_restore(&l->err), "rows that were written to '%s'", a->path);
	LOCKED(&s->lock)
		gone = conclude(s, l, document);
	if (gone == UINT64_MAX)
		return 0;
	return err_set(-EIO,
		"row %" PRIu64
		" that was written to '%s' is lost: another program has changed the array, and "
		"removed it before it was counted",
		gone, a->path);
}

int
array_find_rows(struct array *a, uint64_t rows, uint64_t document, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct seeking l = {.array = a, .cancel = cancel, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = 0;
	LOCKED(&s->lock)
		r = collect(s, rows, document, &l);
	if (r == 0 && l.n)
		r = seek_all(&l, document);
	pthread_mutex_destroy(&l.lock);
	free(l.at);
	return r;
}

bool
data_has_rows(const struct data *d)
{
	bool has = false;
	LOCKED(&d->staging->lock)
		has = d->staging->n_noted > 0;
	return has;
}

bool
array_has_rows(const struct array *a)
{
	struct staging *s = a->data->staging;
	bool has = false;
	LOCKED(&s->lock)
		has = staging_noted_end(s, a->site) > 0;
	return has;
}

void
data_give_up_rows(struct data *d)
{
	struct staging *s = d->staging;
	LOCKED(&s->lock)
		for (size_t i = 0; i < s->n_noted; i++)
			if (s->noted[i]->gone != UINT64_MAX)
				s->noted[i]->witnesses = 0;
}
