/* Before an array becomes shorter: which objects are stored behind the end that is to come. After
 * that only these go, so that rows which another writer appends as soon as the metadata are shorter
 * stay. Meanwhile this mount stores nothing of the array. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_US = 20000 };

/* No server takes requests of a clock that is as wrong as that. */
static const int64_t CLOCKS_DIFFER = 900 * SECOND;

int
staging_wait_stored(struct staging *s, uint64_t space, struct cancel *cancel)
{
	for (;;) {
		struct staged_object *o = s->storing.oldest;
		while (o && o->space->number != space)
			o = o->newer;
		if (!o)
			return 0;
		int r = staging_wait(s, 0, cancel);
		if (r < 0)
			return r;
	}
}

/* --- objects --- */

struct each {
	struct array_behind *behind;
	int (*fn)(struct array_behind *, size_t i);
};

static void
one(void *arg, size_t i)
{
	const struct each *e = arg;
	struct array_behind *b = e->behind;
	int r = 0;
	LOCKED(&b->lock)
		r = b->err.code;
	if (r < 0) /* a store that does not answer is not asked for each of them */
		return;
	r = cancelled(b->cancel) ? err_set(-EINTR, "interrupted") : e->fn(b, i);
	if (r < 0)
		LOCKED(&b->lock)
			if (!b->err.code)
				err_save(r, &b->err);
}

int
behind_each(struct array_behind *b, size_t n, int (*fn)(struct array_behind *, size_t i))
{
	struct each e = {b, fn};
	in_parallel(n, b->array->remote, one, &e);
	return b->err.code ? err_restore(&b->err) : 0;
}

/* --- before --- */

/* Chunk i of those that begin at the leading indices of objects. False: it is not the first one of
 * its object. */
static bool
chunk_at(const struct array_behind *b, size_t i, uint64_t *ret)
{
	const struct array *a = b->array;
	const uint64_t *row = (const uint64_t *)(const void *)b->rows_at.data,
		       per = behind_in_row(a);
	uint64_t index[RANK_MAX];
	*ret = row[i / per] * behind_step(a) * per + i % per;
	grid_index(&a->grid, *ret, index);
	for (unsigned d = 1; a->shard && d < a->grid.rank; d++)
		if (index[d] % a->in_shard[d])
			return false;
	return true;
}

static int
look_at(struct array_behind *b, size_t i)
{
	struct array *a = b->array;
	struct zmap_stat st = {0};
	char key[ARRAY_KEY_MAX];
	uint64_t chunk;
	if (!chunk_at(b, i, &chunk))
		return 0;
	int r = array_chunk_key(a, chunk, key);
	if (r == 0)
		r = zmap_stat_while(a->zmap, key, b->cancel, &st);
	if (r == ZMAP_ABSENT || (r == -EACCES && (a->data->options.missing_403 || a->remote)))
		return 0; /* so a bucket that may not be listed says that there is none */
	/* what metadata never counted may be of another writer that is about to do so */
	if (r == 0 && behind_first_row(a, chunk) >= b->before &&
		!staging_is_noted(a, chunk, st.version))
		return 0;
	return r < 0 ? r : behind_add(b, chunk, &st);
}

/* A bucket calls the same bytes by the same version, and its times are whole seconds: an object
 * that is put after the metadata are shorter shall have another one. */
static int
let_time_go_by(const struct array_behind *b, int64_t since)
{
	const int64_t near = clock_wall() - CLOCKS_DIFFER;
	bool wait = false;
	for (size_t i = 0; b->array->remote && i < b->n && !wait; i++)
		wait = b->found[i].mtime > near && b->found[i].mtime % SECOND == 0;
	int r = 0;
	while (wait && r == 0 && !clock_over(since + SECOND)) {
		usleep(PIECE_US);
		r = zmap_patience(0, b->cancel);
	}
	return r;
}

static int
look(struct array_behind *b)
{
	struct array *a = b->array;
	enum { MOST = 1 << 20 };
	const uint64_t unit = a->grid.chunk[0] * behind_step(a),
		       end = ceil_div(max_u64(b->before, b->noted), unit);
	const int64_t since = clock_now();
	int r = array_find_objects(a, b->rows / unit, end, MOST, b->cancel, &b->rows_at);
	if (r < 0)
		return err_add(
			r, "which chunks there are behind %" PRIu64 " rows is not known", b->rows);
	r = behind_each(b, b->rows_at.len / sizeof(uint64_t) * behind_in_row(a), look_at);
	behind_sort(b);
	return r < 0 ? r : let_time_go_by(b, since);
}

void
behind_release(struct array_behind *b)
{
	struct staging *s = b->array->data->staging;
	if (!b->holds)
		return;
	b->holds = false;
	b->space->held--;
	s->held--;
	staging_pump(s);
	pthread_cond_broadcast(&s->moved);
}

struct array_behind *
array_behind_free(struct array_behind *b)
{
	struct array *gone = NULL;
	if (!b)
		return NULL;
	LOCKED(&b->array->data->staging->lock) {
		behind_release(b);
		gone = staging_release_space(b->array->data->staging, b->space);
	}
	array_unref(gone);
	array_unref(b->array);
	pthread_mutex_destroy(&b->lock);
	buf_free(&b->rows_at);
	free(b->found);
	free(b);
	return NULL;
}

int
array_look_behind(struct array *a, uint64_t rows, uint64_t before, struct cancel *cancel,
	struct array_behind **ret)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL;
	CLEAN(array_behind_freep) struct array_behind *b = NULL;
	int r = array_writable(a);
	if (r == 0)
		r = array_resizable(a, before, rows, -EINVAL);
	if (r < 0)
		return r;
	b = calloc(1, sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "no memory for what lies behind the end");
	b->array = array_ref(a);
	b->rows = rows;
	b->before = before;
	b->cancel = cancel;
	pthread_mutex_init(&b->lock, NULL);
	LOCKED(&s->lock) {
		r = staging_hold_space(s, a, &b->space, &was);
		if (r < 0)
			break;
		b->space->held++;
		s->held++;
		b->holds = true;
		r = staging_wait_stored(s, a->space, cancel);
		if (r == 0)
			r = staged_error(s, b->space);
		b->noted = staging_noted_end(s, a->site);
	}
	array_unref(was);
	if (r == 0 && a->grid.bytes)
		r = look(b);
	if (r == 0)
		*ret = MOVE(b);
	return r;
}
