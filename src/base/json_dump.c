/* Values as text, as a number, and by themselves. */
#include "base/json_tree.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As JSON writes it, or NULL: it stands for itself. */
static const char *
escape_of(char c, char room[8])
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	if ((unsigned char)c >= ' ' && c != '"' && c != '\\')
		return NULL;
	const char *known = c ? strchr(from, c) : NULL;
	if (known)
		snprintf(room, 8, "\\%c", to[known - from]);
	else
		snprintf(room, 8, "\\u%04x", (unsigned)c);
	return room;
}

static int
dump_string(const char *s, size_t len, struct buf *ret)
{
	char room[8];
	size_t from = 0;
	int r = buf_add(ret, "\"", 1);
	for (size_t i = 0; i < len && r == 0; i++) {
		const char *escape = escape_of(s[i], room);
		if (!escape)
			continue;
		r = buf_add(ret, s + from, i - from);
		if (r == 0)
			r = buf_add(ret, escape, strlen(escape));
		from = i + 1;
	}
	if (r == 0)
		r = buf_add(ret, s + from, len - from);
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

static int dump(const struct json *, struct buf *ret);

static int
dump_list(const struct json *v, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (size_t i = 0; i < v->n && r == 0; i++) {
		if (i)
			r = buf_add(ret, ", ", 2);
		if (r == 0)
			r = dump(v->at[i], ret);
	}
	return r < 0 ? r : buf_add(ret, "]", 1);
}

static int
dump_dict(const struct json *v, struct buf *ret)
{
	int r = buf_add(ret, "{", 1);
	for (size_t i = 0; i < v->n && r == 0; i++) {
		const struct json_member *m = &v->member[i];
		if (i)
			r = buf_add(ret, ", ", 2);
		if (r == 0)
			r = dump_string(m->key, m->key_len, ret);
		if (r == 0)
			r = buf_add(ret, ": ", 2);
		if (r == 0)
			r = dump(m->value, ret);
	}
	return r < 0 ? r : buf_add(ret, "}", 1);
}

static int
dump(const struct json *v, struct buf *ret)
{
	switch (v->type) {
	case JSON_TYPE_DICT: return dump_dict(v, ret);
	case JSON_TYPE_LIST: return dump_list(v, ret);
	case JSON_TYPE_TEXT: return dump_string(v->text, v->n, ret);
	case JSON_TYPE_WORD: return buf_add(ret, v->text, v->n);
	case JSON_TYPE_BOOL: return v->is_true ? buf_add(ret, "true", 4) : buf_add(ret, "false", 5);
	default: return buf_add(ret, "null", 4);
	}
}

char *
json_dump(const struct json *v)
{
	CLEAN(buf_free) struct buf text = {0};
	if (dump(v, &text) < 0)
		return NULL;
	return strndup((char *)text.data, text.len);
}

uint64_t
json_hash(uint64_t h, const struct json *v)
{
	const uint8_t type = (uint8_t)v->type;
	h = hash_bytes(h, &type, 1);
	switch (v->type) {
	case JSON_TYPE_DICT:
		h = hash_number(h, v->n);
		for (size_t i = 0; i < v->n; i++)
			h = json_hash(hash_text(h, v->member[i].key), v->member[i].value);
		return h;
	case JSON_TYPE_LIST:
		h = hash_number(h, v->n);
		for (size_t i = 0; i < v->n; i++)
			h = json_hash(h, v->at[i]);
		return h;
	case JSON_TYPE_TEXT:
	case JSON_TYPE_WORD: return hash_bytes(h, v->text, v->n + 1);
	case JSON_TYPE_BOOL: return hash_bytes(h, &v->is_true, sizeof v->is_true);
	default: return h;
	}
}

/* Bytes that a copy takes. */
static size_t
size_of(const struct json *v)
{
	enum { ROUNDED = 8 };
	size_t size = sizeof *v;
	if (v->type == JSON_TYPE_TEXT || v->type == JSON_TYPE_WORD)
		return size + v->n + ROUNDED;
	for (size_t i = 0; i < json_count(v); i++)
		size += v->type == JSON_TYPE_LIST ? sizeof *v->at + size_of(v->at[i])
						  : sizeof *v->member + v->member[i].key_len +
							    ROUNDED + size_of(v->member[i].value);
	return size;
}

static const struct json *copy(struct json_doc *, const struct json *);

static int
copy_members(const struct json *from, struct json *to)
{
	const bool dict = from->type == JSON_TYPE_DICT;
	CLEAN(clean_free) struct json_member *m = calloc(from->n + 1, sizeof *m);
	for (size_t i = 0; m && i < from->n; i++) {
		if (dict) {
			m[i] = from->member[i];
			m[i].key = json_doc_text(to->doc, m[i].key, m[i].key_len);
		}
		m[i].value = copy(to->doc, dict ? m[i].value : from->at[i]);
		if (!m[i].value || (dict && !m[i].key))
			return -ENOMEM;
	}
	if (!m)
		return -ENOMEM;
	return dict ? json_doc_dict(to, m, from->n) : json_doc_list(to, m, from->n);
}

static const struct json *
copy(struct json_doc *d, const struct json *from)
{
	struct json *v = json_doc_value(d, from->type);
	if (!v)
		return NULL;
	v->is_true = from->is_true;
	if (from->type == JSON_TYPE_LIST || from->type == JSON_TYPE_DICT)
		return copy_members(from, v) < 0 ? NULL : v;
	v->n = from->n;
	v->text = from->text ? json_doc_text(d, from->text, from->n) : NULL;
	return from->text && !v->text ? NULL : v;
}

int
json_copy_of(const struct json *v, struct json **ret)
{
	struct json_doc *d = json_doc_new(size_of(v));
	const struct json *made = d ? copy(d, v) : NULL;
	if (!made) {
		json_doc_unref(d);
		return err_set(-ENOMEM, "no memory for JSON");
	}
	*ret = (struct json *)made;
	return 0;
}
