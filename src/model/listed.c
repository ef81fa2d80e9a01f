#include "model/listed.h"

#include "base/err.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct listed_block {
	struct listed_block *next;
	size_t used;
	char text[];
};

struct listed_texts {
	atomic_uint refs;
	size_t bytes;
	struct listed_block *block; /* the last one */
};

enum { BLOCK = 64 << 10 };

/* Behind a name's NUL: one of these; of an object size, seconds since 1970 and version. */
enum listed_said { SAID_PREFIX, SAID_OBJECT, SAID_TEXT, SAID_MD5 };

/* A version that is an MD5 in quotation marks, as nearly all are, in half of its bytes. */
enum { MD5 = 16, MD5_TEXT = 2 * MD5 + 2 };

struct record {
	uint64_t size;
	uint32_t seconds;
} __attribute__((packed));

struct listed_texts *
texts_new(void)
{
	struct listed_texts *t = calloc(1, sizeof *t);
	if (t)
		t->refs = 1;
	return t;
}

struct listed_texts *
texts_ref(struct listed_texts *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

struct listed_texts *
texts_unref(struct listed_texts *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return NULL;
	for (struct listed_block *b = t->block, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t);
	return NULL;
}

static char *
room_for(struct listed_texts *t, size_t len)
{
	struct listed_block *b = t->block;
	if (!b || b->used + len > BLOCK) {
		size_t room = len > BLOCK ? len : BLOCK; /* of one name, even if it is longer */
		b = malloc(sizeof *b + room);
		if (!b)
			return NULL;
		b->next = t->block;
		b->used = 0;
		t->block = b;
		t->bytes += sizeof *b + room;
	}
	char *to = b->text + b->used;
	b->used += len;
	return to;
}

static const char digit[] = "0123456789abcdef";

static bool
pack_md5(const char *version, uint8_t ret[MD5])
{
	if (strlen(version) != MD5_TEXT || version[0] != '"' || version[MD5_TEXT - 1] != '"')
		return false;
	for (unsigned i = 0; i < MD5; i++) {
		const char *high = strchr(digit, version[1 + 2 * i]);
		const char *low = strchr(digit, version[2 + 2 * i]);
		if (!high || !low)
			return false;
		ret[i] = (uint8_t)((high - digit) << 4 | (low - digit));
	}
	return true;
}

const char *
texts_add(struct listed_texts *t, const char *name, bool prefix, const struct zmap_stat *s)
{
	uint8_t md5[MD5];
	size_t n = strlen(name) + 1;
	bool stated = s && !prefix && s->mtime >= 0 && s->mtime / SECOND <= UINT32_MAX;
	bool packed = stated && pack_md5(s->version, md5);
	const char said = packed   ? SAID_MD5
			  : stated ? SAID_TEXT
			  : prefix ? SAID_PREFIX
				   : SAID_OBJECT;
	const size_t tail = packed ? MD5 : stated ? strlen(s->version) + 1 : 0;
	char *to = room_for(t, n + 1 + (stated ? sizeof(struct record) : 0) + tail), *p = to;
	if (!to)
		return NULL;
	p = mempcpy(p, name, n);
	*p++ = said;
	if (stated) {
		const struct record r = {s->size, (uint32_t)(s->mtime / SECOND)};
		p = mempcpy(p, &r, sizeof r);
		memcpy(p, packed ? (const void *)md5 : s->version, tail);
	}
	return to;
}

struct listed *
listed_new(struct listed_texts *t, size_t n)
{
	struct listed *k = calloc(1, sizeof *k);
	if (!k || !(k->of = calloc(n + 1, sizeof *k->of)))
		return listed_free(k);
	k->texts = texts_ref(t);
	return k;
}

struct listed *
listed_free(struct listed *k)
{
	if (!k)
		return NULL;
	texts_unref(k->texts);
	free(k->of);
	free(k);
	return NULL;
}

const char **
listed_find(const struct listed *k, const char *name)
{
	size_t low = 0, high = k->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(k->of[mid], name);
		if (!order)
			return &k->of[mid];
		*(order < 0 ? &low : &high) = order < 0 ? mid + 1 : mid;
	}
	return NULL;
}

bool
listed_is_prefix(const char *name)
{
	return name[strlen(name) + 1] == SAID_PREFIX;
}

bool
listed_stat(const char *name, struct zmap_stat *ret)
{
	const char *p = name + strlen(name) + 1, said = *p++;
	struct record r;
	if (said != SAID_TEXT && said != SAID_MD5)
		return false;
	memcpy(&r, p, sizeof r);
	p += sizeof r;
	*ret = (struct zmap_stat){.size = r.size, .mtime = (int64_t)r.seconds * SECOND};
	if (said == SAID_TEXT) {
		snprintf(ret->version, sizeof ret->version, "%s", p);
		return true;
	}
	char *to = ret->version;
	*to++ = '"';
	for (unsigned i = 0; i < MD5; i++) {
		*to++ = digit[(uint8_t)p[i] >> 4];
		*to++ = digit[p[i] & 15];
	}
	*to = '"';
	return true;
}

size_t
listed_bytes(const struct listed *k)
{
	return sizeof *k + k->texts->bytes + k->count * sizeof *k->of;
}
