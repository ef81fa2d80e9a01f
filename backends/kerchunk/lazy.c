/* kerchunk references in parquet: a folder with a .zmetadata that says how many references a file
 * has, and files ARRAY/refs.N.parq (fsspec's LazyReferenceMapper). Files are fetched when a chunk
 * of theirs is asked for, and kept, the last used ones, until .zmetadata is another. */
#include "backends/kerchunk/kerchunk.h"
#include "backends/kerchunk/array.h"
#include "backends/kerchunk/parquet.h"

#include "base/check.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_lex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	FILE_SHARE = 4, /* of what tables may have: a file as it is stored, beside its table and a
			   page */
	DOCUMENTS_MOST = 64 << 20, /* bytes of .zmetadata */
	PARTS_MOST = 1000,         /* files that are known, and be it that they are not there */
};

/* One file of references. */
struct kerchunk_part {
	struct kerchunk_part *next;
	char *key;   /* in the store */
	bool busy;   /* a thread fetches it */
	int64_t due; /* clock_now(): of one that is not there, when to look again */
	struct kerchunk_table *table; /* NULL: it is not there, or not yet */
};

static void
part_free(struct kerchunk_part *p)
{
	kerchunk_table_free(p->table);
	free(p->key);
	free(p);
}

void
kerchunk_parts_free(struct kerchunk_set *s)
{
	for (struct kerchunk_part *p; (p = s->parts);) {
		s->parts = p->next;
		part_free(p);
	}
}

/* --- .zmetadata --- */

struct documents {
	struct kerchunk_table *table;
	struct buf key, text;
};

static int
add_document(const struct json_slice *m, void *arg)
{
	struct documents *d = arg;
	struct lexer l = lex_open(m->value, m->value_len);
	struct lexeme s;
	struct kerchunk_ref ref = {
		.kind = KERCHUNK_BYTES, .bytes = {(const uint8_t *)m->value, m->value_len}};
	d->key.len = d->text.len = 0;
	int r = lex_unescape_key((struct lexeme){m->key, m->key_len, m->has_escapes}, &d->key);
	if (r == 0)
		r = buf_terminate(&d->key);
	if (r == 0 && *m->value == '"') {
		r = lex_string(&l, &s);
		if (r == 0)
			r = lex_unescape(s, &d->text);
		ref.bytes = buf_span(&d->text);
	}
	return r < 0 ? r : kerchunk_table_add(d->table, (const char *)d->key.data, &ref, false);
}

static int
find_record_size(const struct json_slice *m, void *arg)
{
	static const char name[] = "record_size";
	if (m->key_len != sizeof name - 1 || memcmp(m->key, name, m->key_len))
		return 0;
	uint64_t n = 0;
	for (size_t i = 0; i < m->value_len; i++)
		if (m->value[i] < '0' || m->value[i] > '9' || mul_over(n, 10, &n) ||
			add_over(n, (uint64_t)(m->value[i] - '0'), &n))
			return 0;
	*(uint64_t *)arg = n;
	return 0;
}

static int
read_documents(const struct buf *text, struct kerchunk_set *s)
{
	struct documents d = {.table = kerchunk_table_new(s->most)};
	if (!d.table)
		return err_set(-ENOMEM, "no memory for references");
	s->table = d.table;
	int r = json_scan((const char *)text->data, text->len, "metadata", add_document, &d);
	buf_free(&d.key);
	buf_free(&d.text);
	if (r == 0)
		kerchunk_table_close(d.table);
	return r;
}

/* -ENOENT: it is no such file. */
static int
load(const struct kerchunk *k, struct kerchunk_set *s)
{
	CLEAN(buf_free) struct buf text = {0};
	const struct zmap_get g = {.key = k->object,
		.revalidate = true,
		.into = &text,
		.max = min_u64(DOCUMENTS_MOST, k->most)};
	int r = zmap_get(k->lower, &g, &s->stat);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no '%s'", k->object);
	if (r < 0)
		return r;
	r = text.len ? json_scan((const char *)text.data, text.len, NULL, find_record_size,
			       &s->record_size)
		     : -EINVAL;
	if (r == -EINVAL || (r == 0 && !s->record_size))
		return err_set(-ENOENT, "'%s' says nothing of references", k->object);
	if (r == 0)
		r = read_documents(&text, s);
	return r < 0 ? err_add(r, "references '%s'", k->object) : 0;
}

static int
lazy_open(const struct container_env *env, struct container **ret)
{
	CLEAN(clean_free) char *object = NULL;
	struct kerchunk *k;
	if (env->object)
		return ZMAP_ABSENT;
	if (asprintf(&object, "%s.zmetadata", env->root) < 0) {
		object = NULL;
		return err_set(-ENOMEM, "no memory for a store");
	}
	int r = kerchunk_open(env, object, env->root, &container_kerchunk_lazy, load, &k);
	if (r == -ENOENT || r == -EACCES) /* a user that may not see it cannot tell, either */
		return ZMAP_ABSENT;
	if (r == 0)
		*ret = &k->c;
	return r;
}

/* --- files of references --- */

/* Lock held. The part, first in the list, with busy set if it is to be fetched now; NULL: no
 * memory. */
static struct kerchunk_part *
take_part(struct kerchunk_set *s, const char *key)
{
	for (;;) {
		struct kerchunk_part **at = &s->parts, *p;
		while ((p = *at) && strcmp(p->key, key))
			at = &p->next;
		if (p && p->busy) {
			pthread_cond_wait(&s->loaded,
				&s->lock); /* the thread that fetches it has a deadline */
			continue;
		}
		if (p)
			*at = p->next;
		else if ((p = calloc(1, sizeof *p)) && !(p->key = strdup(key))) {
			free(p);
			p = NULL;
		}
		if (!p)
			return NULL;
		p->next = s->parts;
		s->parts = p;
		p->busy = !p->table && clock_now() >= p->due;
		return p;
	}
}

/* Lock held. Have the parts too many bytes, or are they too many, for this last one to stay? */
static bool
too_much(const struct kerchunk_set *s, const struct kerchunk_part *p, size_t count)
{
	return !p->busy && (count > PARTS_MOST || (p->table && s->parts_bytes > s->most / 2));
}

/* Lock held. The least used ones go until the rest is no more than may be; those that are being
 * fetched, and the first, stay. */
static void
trim_parts(struct kerchunk_set *s)
{
	for (;;) {
		struct kerchunk_part **last = NULL;
		size_t count = 0;
		for (struct kerchunk_part **at = &s->parts; *at; at = &(*at)->next)
			if (count++ && too_much(s, *at, count))
				last = at;
		if (!last)
			return;
		struct kerchunk_part *p = *last;
		*last = p->next;
		s->parts_bytes -= p->table ? kerchunk_table_bytes(p->table) : 0;
		part_free(p);
	}
}

/* 0, ZMAP_ABSENT, -errno. */
static int
fetch_part(const struct kerchunk *k, const char *key, size_t most, int64_t deadline,
	struct cancel *cancel, struct kerchunk_table **ret)
{
	CLEAN(buf_free) struct buf file = {0};
	const struct zmap_get g = {.key = key,
		.revalidate = true,
		.into = &file,
		.max = most / FILE_SHARE,
		.deadline = deadline,
		.cancel = cancel};
	int r = zmap_get(k->lower, &g, NULL);
	if (r == 0)
		r = kerchunk_parquet_read(buf_span(&file), most / 2, ret);
	if (r == -EFBIG)
		err_add(r, "option memory says how much");
	return r < 0 ? err_add(r, "references '%s'", key) : r;
}

/* What row of a part says, with its text copied out: parts come and go. */
static int
copy_row(const struct kerchunk *k, const char *folder, const struct kerchunk_table *t, uint64_t row,
	struct chunk_place *ret)
{
	struct kerchunk_ref ref;
	int r = kerchunk_table_row(t, row, &ref);
	if (r == 0)
		r = kerchunk_place(k, folder, &ref, ret);
	if (r || ret->kind != PLACE_BYTES)
		return r;
	void *copy = malloc(ret->bytes.len + 1);
	if (!copy)
		return err_set(-ENOMEM, "no memory for a chunk");
	memcpy(copy, ret->bytes.data, ret->bytes.len);
	ret->bytes.data = ret->hold = copy;
	ret->release = free;
	return 0;
}

static int
ask_part(const struct kerchunk *k, struct kerchunk_set *s, const char *key, const char *folder,
	uint64_t row, const struct zmap_get *patience, struct chunk_place *ret)
{
	struct kerchunk_table *table = NULL;
	struct kerchunk_part *p = NULL;
	LOCKED(&s->lock) {
		p = take_part(s, key);
		if (p && !p->busy)
			return p->table ? copy_row(k, folder, p->table, row, ret) : ZMAP_ABSENT;
	}
	if (!p)
		return err_set(-ENOMEM, "no memory for references");
	int r = fetch_part(k, key, s->most, patience->deadline, patience->cancel, &table);
	LOCKED(&s->lock) {
		p->busy = false;
		p->table = table;
		p->due = r == ZMAP_ABSENT ? clock_now() + min_u64((uint64_t)k->ttl, INT64_MAX / 2)
					  : 0;
		if (table)
			s->parts_bytes += kerchunk_table_bytes(table);
		pthread_cond_broadcast(&s->loaded);
		if (r == 0)
			r = copy_row(k, folder, table, row, ret);
		trim_parts(s);
	}
	return r;
}

static int
lazy_locate(struct container *c, const struct zmap_chunk *chunk, int64_t deadline,
	struct cancel *cancel, struct chunk_place *ret)
{
	struct kerchunk *k = (struct kerchunk *)c;
	CLEAN(kerchunk_set_unrefp) struct kerchunk_set *s = NULL;
	CLEAN(clean_free) char *folder = NULL, *key = NULL;
	struct kerchunk_array a;
	uint64_t n;
	int r = kerchunk_array_of(k, chunk, &s, &a);
	if (r < 0)
		return r;
	if (!kerchunk_array_number(&a, chunk->index, &n))
		return ZMAP_ABSENT;
	if (asprintf(&folder, "%s%s%s", k->root, chunk->array, *chunk->array ? "/" : "") < 0 ||
		asprintf(&key, "%srefs.%" PRIu64 ".parq", folder, n / s->record_size) < 0)
		return err_set(-ENOMEM, "no memory for a key");
	const struct zmap_get patience = {.deadline = deadline, .cancel = cancel};
	r = ask_part(k, s, key, folder, n % s->record_size, &patience, ret);
	if (r == 0 && ret->kind == PLACE_BYTES)
		memcpy(ret->version, s->version, sizeof s->version);
	return r;
}

const struct container_ops container_kerchunk_lazy = {
	.name = "folder of kerchunk references",
	.signs = (const char *const[]){".zmetadata", NULL},
	.consolidated = true,
	.open = lazy_open,
	.close = kerchunk_close,
	.document = kerchunk_document,
	.list = kerchunk_list,
	.locate = lazy_locate,
	.refresh = kerchunk_refresh,
	.held = kerchunk_held,
};
