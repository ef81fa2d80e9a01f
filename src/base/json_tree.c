#include "base/json_tree.h"

#include "base/err.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The head of a piece of memory. */
struct piece {
	struct piece *next;
	size_t size; /* bytes behind it */
};

struct json_doc {
	atomic_size_t owners;
	struct piece *newest;
	char *at; /* what is free of it */
	size_t left;
	struct piece first; /* the last member: its bytes lie behind the document */
};

enum { ALIGN = _Alignof(struct json), PIECE_LEAST = 1024, PIECE_MOST = 1 << 20 };

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for JSON");
}

static size_t
rounded(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

struct json_doc *
json_doc_new(size_t room)
{
	room = rounded(room < PIECE_MOST ? room : PIECE_MOST);
	struct json_doc *d = malloc(sizeof *d + room);
	if (!d) {
		no_memory();
		return NULL;
	}
	atomic_init(&d->owners, 1);
	d->first = (struct piece){NULL, room};
	d->newest = &d->first;
	d->at = (char *)(&d->first + 1);
	d->left = room;
	return d;
}

void
json_doc_unref(struct json_doc *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->owners, 1, memory_order_acq_rel) != 1)
		return;
	for (struct piece *p = d->newest, *next; p != &d->first; p = next) {
		next = p->next;
		free(p);
	}
	free(d);
}

static bool
add_piece(struct json_doc *d, size_t n)
{
	size_t size = 2 * d->newest->size;
	size = size < PIECE_LEAST ? PIECE_LEAST : size > PIECE_MOST ? PIECE_MOST : size;
	size = size < n ? n : size;
	struct piece *p = size < SIZE_MAX / 2 ? malloc(sizeof *p + size) : NULL;
	if (!p)
		return false;
	*p = (struct piece){d->newest, size};
	d->newest = p;
	d->at = (char *)(p + 1);
	d->left = size;
	return true;
}

static void *
get(struct json_doc *d, size_t n)
{
	n = rounded(n);
	if (n > d->left && !add_piece(d, n)) {
		no_memory();
		return NULL;
	}
	char *p = d->at;
	d->at += n;
	d->left -= n;
	return p;
}

struct json *
json_doc_value(struct json_doc *d, enum json_type type)
{
	struct json *v = get(d, sizeof *v);
	if (v)
		*v = (struct json){.doc = d, .type = type};
	return v;
}

const char *
json_doc_text(struct json_doc *d, const char *text, size_t len)
{
	char *copy = get(d, len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

int
json_doc_list(struct json *list, const struct json_member *m, size_t n)
{
	const struct json **at = get(list->doc, n * sizeof *at);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		at[i] = m[i].value;
	list->at = at;
	list->n = n;
	return 0;
}

/* In dicts of more members keys are looked for by halves, in an order of their own that lies behind
 * them. */
enum { FEW = 32 };

static int
compare(const char *a, size_t na, const char *b, size_t nb)
{
	return na != nb ? (na < nb ? -1 : 1) : memcmp(a, b, na);
}

/* Pointers to members by key; of equal ones the first in the text comes first. */
static int
by_key(const void *a, const void *b)
{
	const struct json_member *x = *(const struct json_member *const *)a,
				 *y = *(const struct json_member *const *)b;
	int order = compare(x->key, x->key_len, y->key, y->key_len);
	return order ? order : (x > y) - (x < y);
}

static struct json_member **
order_of(const struct json *dict)
{
	return (struct json_member **)(dict->member + dict->n);
}

static void
sort(const struct json *dict)
{
	struct json_member **order = order_of(dict);
	for (size_t i = 0; i < dict->n; i++)
		order[i] = &dict->member[i];
	qsort(order, dict->n, sizeof *order, by_key);
}

/* Takes out what is marked by having no value. */
static bool
close_gaps(struct json *dict)
{
	size_t n = 0;
	for (size_t i = 0; i < dict->n; i++)
		if (dict->member[i].value)
			dict->member[n++] = dict->member[i];
	bool gaps = n != dict->n;
	dict->n = n;
	return gaps;
}

static void
unite_many(struct json *dict)
{
	struct json_member **order = order_of(dict);
	sort(dict);
	for (size_t i = 0, k; i < dict->n; i = k)
		for (k = i + 1; k < dict->n && compare(order[i]->key, order[i]->key_len,
						       order[k]->key, order[k]->key_len) == 0;
			k++) {
			order[i]->value = order[k]->value;
			order[k]->value = NULL;
		}
	if (close_gaps(dict))
		sort(dict);
}

static struct json_member *
find_few(struct json_member *m, size_t n, const char *key, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].key_len == len && memcmp(m[i].key, key, len) == 0)
			return &m[i];
	return NULL;
}

static void
unite_few(struct json *dict)
{
	for (size_t i = 1; i < dict->n; i++) {
		struct json_member *m = &dict->member[i];
		struct json_member *same = find_few(dict->member, i, m->key, m->key_len);
		if (!same)
			continue;
		same->value = m->value;
		memmove(m, m + 1, (dict->n-- - i - 1) * sizeof *m);
		i--;
	}
}

int
json_doc_dict(struct json *dict, const struct json_member *m, size_t n)
{
	const size_t order = n > FEW ? n * sizeof(struct json_member *) : 0;
	dict->member = get(dict->doc, n * sizeof *m + order);
	if (!dict->member)
		return -ENOMEM;
	if (n)
		memcpy(dict->member, m, n * sizeof *m);
	dict->n = n;
	if (n > FEW)
		unite_many(dict);
	else
		unite_few(dict);
	return 0;
}

struct json *
json_free(struct json *v)
{
	json_doc_unref(v ? v->doc : NULL);
	return NULL;
}

struct json *
json_ref(const struct json *v)
{
	if (v)
		atomic_fetch_add_explicit(&v->doc->owners, 1, memory_order_relaxed);
	return (struct json *)v;
}

enum json_type
json_type(const struct json *v)
{
	return v ? v->type : JSON_TYPE_NULL;
}

const char *
json_type_name(const struct json *v)
{
	static const char *const name[] = {
		[JSON_TYPE_NULL] = "null",
		[JSON_TYPE_BOOL] = "a boolean",
		[JSON_TYPE_WORD] = "a number",
		[JSON_TYPE_TEXT] = "text",
		[JSON_TYPE_LIST] = "a list",
		[JSON_TYPE_DICT] = "a dict",
	};
	return v ? name[v->type] : "nothing";
}

const char *
json_text(const struct json *v, size_t *len)
{
	if (!v || (v->type != JSON_TYPE_TEXT && v->type != JSON_TYPE_WORD))
		return NULL;
	if (len)
		*len = v->n;
	return v->text;
}

bool
json_is(const struct json *v, const char *text)
{
	return v && v->type == JSON_TYPE_TEXT && v->n == strlen(text) &&
	       !memcmp(v->text, text, v->n);
}

bool
json_bool(const struct json *v)
{
	return v && v->is_true;
}

size_t
json_count(const struct json *v)
{
	return v && (v->type == JSON_TYPE_LIST || v->type == JSON_TYPE_DICT) ? v->n : 0;
}

const struct json *
json_at(const struct json *list, size_t i)
{
	return list && list->type == JSON_TYPE_LIST && i < list->n ? list->at[i] : NULL;
}

const struct json *
json_get(const struct json *dict, const char *key)
{
	if (!dict || dict->type != JSON_TYPE_DICT)
		return NULL;
	const struct json_member wanted = {key, strlen(key), NULL};
	const struct json_member *m = NULL;
	if (dict->n <= FEW) {
		m = find_few(dict->member, dict->n, key, wanted.key_len);
		return m ? m->value : NULL;
	}
	struct json_member **order = order_of(dict);
	for (size_t low = 0, high = dict->n; low < high;) {
		const size_t mid = low + (high - low) / 2;
		m = order[mid];
		int c = compare(m->key, m->key_len, wanted.key, wanted.key_len);
		if (c == 0)
			return m->value;
		*(c < 0 ? &low : &high) = c < 0 ? mid + 1 : mid;
	}
	return NULL;
}

void *
json_first(const struct json *dict)
{
	return dict && dict->type == JSON_TYPE_DICT && dict->n ? dict->member : NULL;
}

void *
json_next(const struct json *dict, void *iter)
{
	struct json_member *next = (struct json_member *)iter + 1;
	return next < dict->member + dict->n ? next : NULL;
}

const char *
json_key(void *iter)
{
	return ((struct json_member *)iter)->key;
}

const struct json *
json_value(void *iter)
{
	return ((struct json_member *)iter)->value;
}
