/* Files of many spans, read anywhere, against the same file put together naively. */
#include "mounted.h"

#include "view/byte_order.h"
#include "view/state.h"

#include <pthread.h>

static const char STORE[] = "mem:view";

enum { SPANS = 300, READS = 3000, LEN_MAX = 5000, ARRAYS = 4 };

/* What the arrays hold, as stored. */
static const struct {
	const char *name, *dtype, *shape, *chunks;
	uint32_t bytes, chunk_bytes;
} array_table[ARRAYS] = {
	{"big", "\">f4\"", "[100]", "[7]", 400, 28},
	{"small", "\"|u1\"", "[33]", "[33]", 33, 33},
	{"mixed", "[[\"a\", \">i2\"], [\"b\", \"<f8\"], [\"c\", \"|S3\"]]", "[20]", "[6]", 260, 78},
	{"long", "\">i8\"", "[3000]", "[500]", 24000, 4000},
};

static uint8_t stored[ARRAYS][24000];
static uint32_t seed = 3;

static void
put_arrays(struct zmap *z)
{
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	for (unsigned i = 0; i < ARRAYS; i++) {
		uint32_t n = array_table[i].bytes, c = array_table[i].chunk_bytes;
		put_meta(z, array_table[i].name, array_table[i].dtype, array_table[i].shape,
			array_table[i].chunks, "\"fill_value\": null");
		for (uint32_t b = 0; b < n; b++)
			stored[i][b] = (uint8_t)check_random(&seed);
		for (uint32_t at = 0; at < n; at += c) {
			uint8_t chunk[4000] = {0};
			char key[64];
			memcpy(chunk, stored[i] + at, n - at < c ? n - at : c);
			snprintf(key, sizeof key, "%s/%u", array_table[i].name, at / c);
			put_bytes(z, key, chunk, c);
		}
	}
}

struct made {
	struct layout *layout;
	uint8_t *want;
	uint64_t size;
};

static void
add_array(struct mount *m, struct made *to, unsigned which, bool swapped)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	struct variable *v = NULL;
	struct dtype swap = {0};
	bool any = false;
	CHECK_INT(model_lookup(m->model, array_table[which].name, &n), 0);
	CHECK_INT(variable_get(m, n, 0, &v), 0);
	CHECK_INT(array_bytes(v->array), array_table[which].bytes);
	uint8_t *at = to->want + to->size;
	memcpy(at, stored[which], array_table[which].bytes);
	if (swapped) {
		CHECK_INT(byte_order_of(array_dtype(v->array), false, &swap, &any), 0);
		if (any)
			byte_order_swap(&swap, at, 0, array_table[which].bytes);
	}
	CHECK_INT(layout_add_variable(to->layout, v, any ? &swap : NULL), 0);
	if (any)
		dtype_free(&swap);
	to->size += array_table[which].bytes;
}

static void
add_random(struct mount *m, struct made *to)
{
	uint32_t kind = check_random(&seed) % 8, n = check_random(&seed) % 50;
	if (kind >= 4) {
		add_array(m, to, kind - 4, check_random(&seed) % 2);
		return;
	}
	if (kind >= 1) {
		uint8_t *text = to->want + to->size;
		for (uint32_t i = 0; i < n; i++)
			text[i] = (uint8_t)check_random(&seed);
		CHECK_INT(layout_add_text(to->layout, (struct span){text, n}), 0);
	} else {
		memset(to->want + to->size, 0, n);
		CHECK_INT(layout_add_zeros(to->layout, n), 0);
	}
	to->size += n;
}

static void
check_read(struct view_reader *r, const struct made *made, uint64_t off, size_t len)
{
	struct reply reply = {0};
	struct array_want w = {.off = off, .len = len, .deadline = clock_now() + 10 * SECOND};
	uint64_t left = off < made->size ? made->size - off : 0;
	CHECK_INT(view_read(r, &w, &reply), 0);
	CHECK_INT(reply.len, len < left ? len : left);
	CHECK(reply.parts <= REPLY_PARTS);
	uint8_t *got = malloc(len + 1);
	reply_copy(&reply, got);
	if (reply.len)
		CHECK_MEM(got, made->want + off, reply.len);
	free(got);
	reply_done(&reply);
}

struct reading {
	struct view_reader *reader;
	const struct made *made;
	uint32_t seed;
};

static void *
read_randomly(void *arg)
{
	struct reading *t = arg;
	for (int i = 0; i < READS / 4; i++) {
		uint64_t off = check_random(&t->seed) % (t->made->size + 100);
		size_t len = check_random(&t->seed) % (i % 50 ? LEN_MAX : 1 << 18);
		check_read(t->reader, t->made, off, len);
	}
	return NULL;
}

static void
test_spans(struct mount *m, unsigned spans)
{
	struct made made = {.want = calloc(SPANS, 24000)};
	struct view_reader *r = NULL;
	pthread_t thread[4];
	struct reading reading[4];
	CHECK_INT(layout_new(1, &made.layout), 0);
	for (unsigned i = 0; i < spans; i++)
		add_random(m, &made);
	CHECK_INT(made.layout->size, made.size);
	CHECK_INT(view_reader_new(made.layout, &r), 0);
	made.layout = layout_unref(made.layout);
	for (unsigned i = 0; i < 4; i++) {
		reading[i] = (struct reading){r, &made, i};
		pthread_create(&thread[i], NULL, read_randomly, &reading[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	check_read(r, &made, 0, made.size);
	r = view_reader_free(r);
	free(made.want);
}

/* Each array alone, each order. */
static void
test_single(struct mount *m)
{
	for (unsigned i = 0; i < 2 * ARRAYS; i++) {
		struct made made = {.want = calloc(1, 24000)};
		struct view_reader *r = NULL;
		CHECK_INT(layout_new(1, &made.layout), 0);
		add_array(m, &made, i / 2, i % 2);
		CHECK_INT(view_reader_new(made.layout, &r), 0);
		made.layout = layout_unref(made.layout);
		for (int k = 0; k < 200; k++)
			check_read(r, &made, check_random(&seed) % (made.size + 2),
				check_random(&seed) % 300);
		r = view_reader_free(r);
		free(made.want);
	}
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	put_arrays(z);
	struct mount *m = mount_new(STORE, &o);
	test_single(m);
	test_spans(m, 1);
	test_spans(m, 7);
	test_spans(m, SPANS);
	m = mount_close(m);
	z = zmap_close(z);
	return check_end();
}
