#include "backends/icechunk/flex.h"

#include <string.h>

enum {
	TYPE_TEXT = 5,
	TYPE_MAP = 9,
	TYPE_BOOL = 26,
	MAP_HEAD = 3, /* before a map's first value: where its keys are, how wide those are, and how
			 many */
};

/* A number of 1, 2, 4 or 8 bytes. */
static bool
number(struct span all, size_t at, unsigned width, uint64_t *ret)
{
	if (at > all.len || width > all.len - at)
		return false;
	*ret = 0;
	for (unsigned i = 0; i < width; i++)
		*ret |= (uint64_t)all.data[at + i] << 8 * i;
	return true;
}

/* Offsets lead backwards, from their own place. */
static bool
back(struct span all, size_t at, unsigned width, size_t *ret)
{
	uint64_t by;
	if (!number(all, at, width, &by) || by > at)
		return false;
	*ret = at - (size_t)by;
	return true;
}

/* The packed type says how wide that is what the slot leads to. */
static struct flex
value(struct span all, size_t at, unsigned slot, uint8_t packed)
{
	return (struct flex){all, at, slot, 1U << (packed & 3), packed >> 2};
}

bool
flex_root(struct span s, struct flex *ret)
{
	if (s.len < 3)
		return false;
	const unsigned slot = s.data[s.len - 1];
	if ((slot != 1 && slot != 2 && slot != 4 && slot != 8) || slot > s.len - 2)
		return false;
	*ret = value(s, s.len - 2 - slot, slot, s.data[s.len - 2]);
	return true;
}

bool
flex_map(const struct flex *f, struct flex_map *ret)
{
	const unsigned w = f->width;
	size_t at;
	uint64_t count, key_width;
	if (f->type != TYPE_MAP || !back(f->all, f->at, f->slot, &at) || at < MAP_HEAD * w)
		return false;
	*ret = (struct flex_map){.all = f->all, .at = at, .width = w};
	if (!number(f->all, at - w, w, &count) || !number(f->all, at - 2 * w, w, &key_width) ||
		!back(f->all, at - 3 * w, w, &ret->keys))
		return false;
	if (key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8)
		return false;
	ret->key_width = (unsigned)key_width;
	ret->count = (size_t)count;
	return count <= (f->all.len - at) / (w + 1) && /* values, and a byte of each one's type */
	       count <= (f->all.len - ret->keys) / key_width;
}

bool
flex_entry(const struct flex_map *m, size_t i, struct span *ret_key, struct flex *ret)
{
	enum { KEY_MOST = 256 }; /* none that is read is half as long */
	size_t at;
	if (!back(m->all, m->keys + i * m->key_width, m->key_width, &at) || at >= m->all.len)
		return false;
	size_t most = m->all.len - at < KEY_MOST ? m->all.len - at : KEY_MOST;
	const uint8_t *key = m->all.data + at, *end = memchr(key, 0, most);
	if (!end)
		return false;
	*ret_key = (struct span){key, (size_t)(end - key)};
	*ret = value(m->all, m->at + i * m->width, m->width,
		m->all.data[m->at + m->count * m->width + i]);
	return true;
}

bool
flex_get(const struct flex_map *m, const char *key, struct flex *ret)
{
	struct span name;
	for (size_t i = 0; i < m->count; i++)
		if (flex_entry(m, i, &name, ret) && !strcmp((const char *)name.data, key))
			return true;
	return false;
}

bool
flex_text(const struct flex *f, struct span *ret)
{
	size_t at;
	uint64_t len;
	if (f->type != TYPE_TEXT || !back(f->all, f->at, f->slot, &at) || at < f->width ||
		!number(f->all, at - f->width, f->width, &len) || len > f->all.len - at)
		return false;
	*ret = (struct span){f->all.data + at, (size_t)len};
	return true;
}

bool
flex_true(const struct flex *f)
{
	uint64_t n;
	return f->type == TYPE_BOOL && number(f->all, f->at, f->slot, &n) && n;
}
