#include "backends/kerchunk/thrift.h"

#include "base/check.h"

enum { DEPTH = 32 };

static uint8_t
byte(struct kerchunk_thrift *t)
{
	if (t->at == t->end) {
		t->bad = true;
		return 0;
	}
	return *t->at++;
}

uint64_t
kerchunk_thrift_varint(struct kerchunk_thrift *t)
{
	uint64_t n = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = byte(t);
		n |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return n;
	}
	t->bad = true;
	return 0;
}

static int64_t
zigzag(uint64_t n)
{
	return (int64_t)(n >> 1 ^ -(n & 1));
}

bool
kerchunk_thrift_next(struct kerchunk_thrift *t, struct kerchunk_thrift_field *f)
{
	uint8_t head = byte(t);
	f->type = head & 0xf;
	if (t->bad || f->type == THRIFT_STOP)
		return false;
	int64_t id = head >> 4 ? f->id + (head >> 4) : zigzag(kerchunk_thrift_varint(t));
	f->id = (int16_t)id;
	t->bad |= f->type > THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX;
	return !t->bad;
}

int64_t
kerchunk_thrift_int(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f)
{
	switch (f->type) {
	case THRIFT_TRUE: return 1;
	case THRIFT_FALSE: return 0;
	case THRIFT_BYTE: return (int8_t)byte(t);
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64: return zigzag(kerchunk_thrift_varint(t));
	default: t->bad = true; return 0;
	}
}

static void
advance(struct kerchunk_thrift *t, uint64_t n)
{
	if (n > (uint64_t)(t->end - t->at)) {
		t->bad = true;
		n = (uint64_t)(t->end - t->at);
	}
	t->at += n;
}

struct span
kerchunk_thrift_binary(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f)
{
	if (f->type != THRIFT_BINARY) {
		t->bad = true;
		return (struct span){0};
	}
	uint64_t len = kerchunk_thrift_varint(t);
	const uint8_t *data = t->at;
	advance(t, len);
	return t->bad ? (struct span){0} : (struct span){data, (size_t)len};
}

uint32_t
kerchunk_thrift_list(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f,
	struct kerchunk_thrift_field *ret_element)
{
	if (f->type != THRIFT_LIST && f->type != THRIFT_SET) {
		t->bad = true;
		return 0;
	}
	uint8_t head = byte(t);
	uint64_t n = head >> 4 == 0xf ? kerchunk_thrift_varint(t) : (uint64_t)(head >> 4);
	*ret_element = (struct kerchunk_thrift_field){.type = head & 0xf};
	/* fastparquet leaves an empty list without a type */
	t->bad |= n > (uint64_t)(t->end - t->at) || (n && ret_element->type == THRIFT_STOP) ||
		  ret_element->type > THRIFT_STRUCT;
	return t->bad ? 0 : (uint32_t)n;
}

static void skip_value(struct kerchunk_thrift *, const struct kerchunk_thrift_field *, int depth);

/* Of elements of lists and maps: truth is a byte there. */
static enum kerchunk_thrift_type
element(unsigned type)
{
	return type == THRIFT_TRUE || type == THRIFT_FALSE ? THRIFT_BYTE : type;
}

static void
skip_list(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f, int depth)
{
	struct kerchunk_thrift_field e = {0};
	uint32_t n = kerchunk_thrift_list(t, f, &e);
	e.type = element(e.type);
	for (uint32_t i = 0; i < n && !t->bad; i++)
		skip_value(t, &e, depth);
}

static void
skip_map(struct kerchunk_thrift *t, int depth)
{
	uint64_t n = kerchunk_thrift_varint(t);
	uint8_t types = n ? byte(t) : 0;
	struct kerchunk_thrift_field key = {.type = element(types >> 4)};
	struct kerchunk_thrift_field value = {.type = element(types & 0xf)};
	t->bad |= n > (uint64_t)(t->end - t->at);
	for (uint64_t i = 0; i < n && !t->bad; i++) {
		skip_value(t, &key, depth);
		skip_value(t, &value, depth);
	}
}

static void
skip_struct(struct kerchunk_thrift *t, int depth)
{
	struct kerchunk_thrift_field f = {0};
	while (kerchunk_thrift_next(t, &f))
		skip_value(t, &f, depth);
}

static void
skip_value(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f, int depth)
{
	if (depth > DEPTH) {
		t->bad = true;
		return;
	}
	switch (f->type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE: return;
	case THRIFT_BYTE: advance(t, 1); return;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64: kerchunk_thrift_varint(t); return;
	case THRIFT_DOUBLE: advance(t, sizeof(double)); return;
	case THRIFT_BINARY: kerchunk_thrift_binary(t, f); return;
	case THRIFT_LIST:
	case THRIFT_SET: skip_list(t, f, depth + 1); return;
	case THRIFT_MAP: skip_map(t, depth + 1); return;
	case THRIFT_STRUCT: skip_struct(t, depth + 1); return;
	default: t->bad = true;
	}
}

void
kerchunk_thrift_skip(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *f)
{
	skip_value(t, f, 0);
}
