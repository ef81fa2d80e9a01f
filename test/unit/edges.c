/* Rectilinear chunk grids: what metadata say, and where each element lies, against counting. */
#include "check.h"

#include "data/grid_uneven.h"

#include <errno.h>

static uint32_t seed = 11;

static int
parse(const char *text, unsigned rank, const uint64_t *shape, uint64_t *longest, struct edges **ret)
{
	CLEAN(json_freep) struct json *v = NULL;
	CHECK_INT(json_parse(text, strlen(text), &v), 0);
	return edges_parse(v, rank, shape, longest, ret);
}

static void
test_parse(void)
{
	const uint64_t shape[] = {6, 6, 6};
	uint64_t longest[3];
	struct edges *e = NULL;
	CHECK_INT(parse("[4, [1, 2, 3], [[1, 3], 3]]", 3, shape, longest, &e), 0);
	CHECK(e && !e->dim[0].start && e->dim[0].n == 2 && longest[0] == 4);
	CHECK(e->dim[1].n == 3 && e->dim[1].start[2] == 3 && e->dim[1].start[3] == 6 &&
		longest[1] == 3);
	CHECK(e->dim[2].n == 4 && e->dim[2].start[4] == 6);
	e = edges_free(e);
	CHECK_INT(parse("[[[4, 2]], [2, 2, 2], [4, 4, 4]]", 3, shape, longest, &e), 0);
	CHECK(!e && longest[0] == 4 && longest[1] == 2);
	/* chunks beyond the array hold nothing, and how many there are does not matter */
	CHECK_INT(parse("[[[5, 2]], [[1, 5], [9, 1152921504606846976]], 6]", 3, shape, longest, &e),
		0);
	CHECK(e && e->dim[1].n == 6 && longest[1] == 9);
	e = edges_free(e);
	static const char *const bad[] = {"[[1, 2], 6, 6]", "[[], 6, 6]", "[6, 6]",
		"[[0, 6], 6, 6]", "[0, 6, 6]", "[\"x\", 6, 6]", "[[[3]], 6, 6]",
		"[[[3, -1]], 6, 6]", "6", "[[[9223372036854775808, 1]], 6, 6]"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_INT(parse(bad[i], 3, shape, longest, &e), -EINVAL);
	const uint64_t many[] = {1 << 30, 800000, 800000};
	CHECK_INT(parse("[[2, [1, 1073741824]], 1, 1]", 3, many, longest, &e), -ENOTSUP);
	CHECK_INT(parse("[1, [2, [1, 800000]], [2, [1, 800000]]]", 3, many, longest, &e), -ENOTSUP);
	CHECK(!e);
	CHECK_INT(parse("[1, [2, [1, 800000]], 1]", 3, many, longest, &e), 0);
	CHECK(e && edges_bytes(e) < 8 << 20);
	edges_free(e);
}

/* A grid of 2 to 3 dimensions with lists for some of them. */
static struct edges *
draw(struct grid *g)
{
	unsigned rank = 2 + check_random(&seed) % 2;
	uint64_t shape[3], longest[3];
	char text[512] = "[";
	for (unsigned d = 0; d < rank; d++) {
		char *at = text + strlen(text), *end = text + sizeof text;
		unsigned n = 1 + check_random(&seed) % 4;
		shape[d] = 0;
		if (check_random(&seed) % 3 == 0) {
			shape[d] = 1 + check_random(&seed) % 9;
			snprintf(at, (size_t)(end - at), "%s%u", d ? ", " : "",
				1 + check_random(&seed) % 5);
			continue;
		}
		snprintf(at, (size_t)(end - at), "%s[", d ? ", " : "");
		for (unsigned i = 0; i < n; i++) {
			unsigned len = 1 + check_random(&seed) % 4;
			at = text + strlen(text);
			snprintf(at, (size_t)(end - at), "%s%u", i ? ", " : "", len);
			shape[d] += len;
		}
		shape[d] -= shape[d] > 1 && check_random(&seed) % 2;
		at = text + strlen(text);
		snprintf(at, (size_t)(end - at), "]");
	}
	char *at = text + strlen(text);
	snprintf(at, (size_t)(text + sizeof text - at), "]");
	struct edges *e = NULL;
	CHECK_INT(parse(text, rank, shape, longest, &e), 0);
	CHECK_INT(grid_init(g, rank, shape, longest, 2), 0);
	CHECK_INT(grid_set_edges(g, e), 0);
	return e;
}

/* Where an element lies, by adding up lengths. */
static void
count_to(const struct grid *g, const uint64_t *at, uint64_t *ret_chunk, uint64_t *ret_byte)
{
	*ret_chunk = *ret_byte = 0;
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t index = 0, left = at[d];
		for (;; index++) {
			const uint64_t *s = g->uneven ? g->uneven->dim[d].start : NULL;
			uint64_t len = s ? s[index + 1] - s[index] : g->chunk[d];
			if (left < len)
				break;
			left -= len;
		}
		*ret_chunk = *ret_chunk * g->count[d] + index;
		*ret_byte += left * g->chunk_step[d];
	}
}

/* Each element of a box is in one part, and where counting says. */
static void
walk(const struct grid *g, uint64_t from, uint64_t to)
{
	struct box box;
	struct part p;
	uint64_t seen = 0, all = grid_box(g, from, to, &box);
	grid_first(g, &box, &p);
	do {
		struct rows_walk w;
		grid_rows(g, &p, &w);
		do {
			for (uint64_t k = 0; k < w.rows.count; k++)
				for (uint64_t b = 0; b < w.rows.bytes; b += g->item, seen++) {
					uint64_t byte = w.rows.in_file + k * w.rows.file_step + b,
						 rest = byte;
					uint64_t at[RANK_MAX], chunk, in_chunk;
					for (unsigned d = 0; d < g->rank; d++) {
						at[d] = rest / g->file_step[d];
						rest %= g->file_step[d];
					}
					count_to(g, at, &chunk, &in_chunk);
					CHECK_INT(p.number, chunk);
					CHECK_INT(w.rows.in_chunk + k * w.rows.chunk_step + b,
						in_chunk);
					struct run run;
					grid_run(g, byte, &run);
					CHECK(run.number == chunk && run.in_chunk == in_chunk &&
						run.len >= g->item);
				}
		} while (grid_rows_next(&w));
	} while (grid_next(g, &box, &p));
	CHECK_INT(seen, all);
}

/* Of each chunk that has some of it, the first and the last byte. */
static void
check_hulls(const struct grid *g, uint64_t from, uint64_t to)
{
	enum { MOST = 1000 };
	struct hull h[MOST], some[2];
	bool begins[MOST] = {0}, ends[MOST] = {0};
	const size_t n = grid_hulls(g, from, to, h, MOST);
	CHECK(n && n < MOST);
	for (uint64_t at = from; at < to; at++) {
		struct run run;
		size_t i = 0;
		grid_run(g, at * g->item, &run);
		while (i < n && h[i].number != run.number)
			i++;
		CHECK(i < n && run.in_chunk >= h[i].in_chunk && run.in_chunk < h[i].last);
		begins[i] |= run.in_chunk == h[i].in_chunk;
		ends[i] |= run.in_chunk + g->item == h[i].last;
	}
	for (size_t i = 0; i < n; i++)
		CHECK(begins[i] && ends[i]);
	CHECK_INT(grid_hulls(g, from, to, some, 2), n < 2 ? n : 2);
}

int
main(void)
{
	test_parse();
	for (unsigned i = 0; i < 300; i++) {
		struct grid g;
		CLEAN(edges_freep) struct edges *e = draw(&g);
		uint64_t n = g.bytes / g.item, from = check_random(&seed) % n;
		walk(&g, 0, n);
		const uint64_t to = from + 1 + check_random(&seed) % (n - from);
		walk(&g, from, to);
		check_hulls(&g, 0, n);
		check_hulls(&g, from, to);
	}
	return check_end();
}
