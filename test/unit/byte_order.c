/* Swapping any part of a run of elements gives the same bytes as swapping all of it. */
#include "check.h"

#include "base/check.h"
#include "base/json.h"
#include "view/byte_order.h"

enum { COUNT = 5, TRIES = 400 };

static const char nested[] =
	"[[\"a\", \"|u1\"], [\"b\", \">i4\", [2, 3]], "
	"[\"c\", [[\"x\", \">u2\"], [\"y\", \"<c8\"]], [3]], [\"d\", \"|S3\"]]";

static const char *const type_table[] = {
	"\"<i2\"",
	"\">f8\"",
	"\"|b1\"",
	"\">c16\"",
	"\"<U3\"",
	"\"|S7\"",
	"\"|V5\"",
	"[[\"a\", \"<i2\"], [\"b\", \">f8\"], [\"c\", \"|u1\"]]",
	nested,
	"[[\"n\", [[\"m\", [[\"l\", \">i8\"], [\"k\", \"|i1\"]]], [\"j\", \"<U2\"]]]]",
};

static bool
wrong_order(const struct dtype *t, bool big)
{
	return dtype_swap_unit(t) > 1 && t->big != big;
}

/* Naive: element after element, field after field, unit after unit. */
static void
swap_all(const struct dtype *t, bool big, uint8_t *data)
{
	if (t->kind == DTYPE_STRUCT) {
		for (size_t i = 0; i < t->nfields; i++)
			for (uint64_t k = 0; k < t->field[i].count; k++)
				swap_all(&t->field[i].type, big,
					data + t->field[i].offset + k * t->field[i].type.size);
		return;
	}
	if (!wrong_order(t, big))
		return;
	unsigned unit = dtype_swap_unit(t);
	for (uint32_t at = 0; at < t->size; at += unit)
		for (unsigned i = 0; i < unit / 2; i++) {
			uint8_t kept = data[at + i];
			data[at + i] = data[at + unit - 1 - i];
			data[at + unit - 1 - i] = kept;
		}
}

static void
compare_parts(const struct dtype *swap, const uint8_t *stored, const uint8_t *want, uint64_t bytes)
{
	uint32_t seed = 7;
	for (int i = 0; i < TRIES; i++) {
		uint64_t off = check_random(&seed) % bytes,
			 end = off + 1 + check_random(&seed) % (bytes - off);
		uint64_t from = byte_order_floor(swap, off), to = byte_order_ceil(swap, end);
		CHECK(from <= off && off - from < 8);
		CHECK(to >= end && to - end < 8 && to <= bytes);
		uint8_t *part = malloc(to - from);
		memcpy(part, stored + from, to - from);
		byte_order_swap(swap, part, from, to - from);
		CHECK_MEM(part, want + from, to - from);
		free(part);
	}
}

static void
try_type(const char *text, bool big)
{
	struct json *j = NULL;
	struct dtype t = {0}, swap = {0};
	bool any = false;
	CHECK_INT(json_parse(text, strlen(text), &j), 0);
	CHECK_INT(dtype_parse_v2(j, &t), 0);
	CHECK_INT(byte_order_of(&t, big, &swap, &any), 0);
	uint64_t bytes = (uint64_t)COUNT * t.size;
	uint8_t *stored = malloc(bytes), *want = malloc(bytes);
	for (uint64_t i = 0; i < bytes; i++)
		stored[i] = want[i] = (uint8_t)(i * 37 + 11);
	for (unsigned i = 0; i < COUNT; i++)
		swap_all(&t, big, want + (uint64_t)i * t.size);
	CHECK_INT(any, memcmp(stored, want, bytes) != 0);
	if (any)
		compare_parts(&swap, stored, want, bytes);
	free(stored);
	free(want);
	dtype_free(&swap);
	dtype_free(&t);
	json_freep(&j);
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof type_table / sizeof type_table[0]; i++) {
		try_type(type_table[i], false);
		try_type(type_table[i], true);
	}
	return check_end();
}
