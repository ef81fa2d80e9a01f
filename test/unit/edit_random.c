/* Random changes against a plain table of them, in each dialect; and several writers of one store
 * at once, none of which loses anything. */
#include "tree.h"

#include "model/attr_edit.h"
#include "model/edit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

static const struct model_options never = {.ttl = INT64_MAX, .timeout = 60 * SECOND};
static const struct new_group pure2 = {.zarr_format = 2}, pure3 = {.zarr_format = 3},
			      nczarr = {.zarr_format = 2, .nczarr = true};
static const struct new_group *const kinds[] = {&pure2, &nczarr, &pure3};

static const uint64_t shape[] = {4, 3}, chunk[] = {2, 3};

static void
begin_store(struct model *m, const struct new_group *kind)
{
	static const char *const dims[] = {"time", "x"};
	static const bool unlimited[] = {true, false};
	const struct new_array a = {.dtype = {.kind = DTYPE_INT, .size = 4},
		.rank = 2,
		.shape = shape,
		.chunk = chunk,
		.dim = dims,
		.unlimited = unlimited};
	CHECK_INT(model_new_group(m, "", kind, 0, NULL), 0);
	CHECK_INT(model_new_array(m, "v", &a, 0, NULL), 0);
	CHECK_INT(model_new_array(m, "w", &a, 0, NULL), 0);
}

/* --- one writer --- */

enum { NAMES = 8, COUNT_MOST = 3 };

/* One attribute of random type and value; its name stays the caller's. */
static void
random_attr(uint32_t *seed, char *name, uint8_t *room, struct attr *ret)
{
	static const char *const texts[] = {
		"", "K", "h\xc3\xa9 \"q\" \\ \n", "{\"a\": [1, 2]}", "NaN", "007", "a\xff"};
	static char *strings[COUNT_MOST];
	static const double reals[] = {0, -0.0, 0.1, 1e300, 5, (double)NAN, -(double)INFINITY};
	enum nc_type t = (enum nc_type)(NC_TYPE_BYTE + check_random(seed) % 12);
	*ret = (struct attr){.name = name,
		.type = t,
		.count = 1 + check_random(seed) % COUNT_MOST,
		.data = room};
	for (size_t i = 0; i < ret->count; i++) {
		const double d = reals[check_random(seed) % 7];
		const float f = (float)d;
		const uint64_t u = (uint64_t)check_random(seed) << 40 ^
				   (uint64_t)check_random(seed) << 20 ^ check_random(seed);
		strings[i] = (char *)texts[check_random(seed) % 7];
		if (t == NC_TYPE_DOUBLE)
			memcpy(room + 8 * i, &d, 8);
		else if (t == NC_TYPE_FLOAT)
			memcpy(room + 4 * i, &f, 4);
		else
			memcpy(room + nc_type_size(t) * i, &u, nc_type_size(t));
	}
	if (t == NC_TYPE_STRING)
		ret->data = strings;
	if (t == NC_TYPE_CHAR) {
		ret->data = (void *)texts[check_random(seed) % 7];
		ret->count = strlen(ret->data);
	}
}

/* Without recorded types numbers are the same, whatever type they have; one string may be a
 * text. */
static bool
same_value(const struct attr *a, const struct attr *b)
{
	if (attr_is_number(a) != attr_is_number(b))
		return false;
	if (!attr_is_number(a)) {
		CLEAN(clean_free) char *x = attr_text(a);
		CLEAN(clean_free) char *y = attr_text(b);
		return x && y && !strcmp(x, y);
	}
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct attr_number x = attr_number(a, i), y = attr_number(b, i);
		double dx = x.real ? x.d : x.above ? (double)x.u : (double)x.i;
		double dy = y.real ? y.d : y.above ? (double)y.u : (double)y.i;
		if ((!x.real && !y.real) ? x.above != y.above || x.u != y.u
					 : dx != dy && !(isnan(dx) && isnan(dy)))
			return false;
	}
	return true;
}

static void
differs(const struct attr *got, const struct attr *want)
{
	CLEAN(clean_free) char *x = attr_text(got);
	CLEAN(clean_free) char *y = attr_text(want);
	fprintf(stderr, "%s: %s (%d), not %s (%d)\n", got->name, x, got->type, y, want->type);
	check_failed++;
}

static void
compare(struct zmap *z, bool recorded, const struct attr *want, uint64_t lead)
{
	struct model *m = NULL;
	struct node *n = NULL;
	struct attrs as = {0};
	CHECK_INT(model_open(z, &never, &m), 0);
	CHECK_INT(model_check(m, "v", &n), 0);
	CHECK(n && !n->error && !n->flaw);
	CHECK_INT(n && n->array ? n->array->shape[0] : 0, lead);
	CHECK_INT(n ? node_attrs(n, &as) : 0, 0);
	CHECK_INT(as.nproblems, 0);
	size_t there = 0;
	for (unsigned i = 0; i < NAMES; i++) {
		const struct attr *got = want[i].name ? attrs_find(&as, want[i].name) : NULL;
		there += want[i].name != NULL;
		CHECK(!want[i].name || got);
		if (!got || (recorded ? attr_same(got, &want[i]) : same_value(got, &want[i])))
			continue;
		differs(got, &want[i]);
	}
	CHECK_INT(as.count, there);
	attrs_free(&as);
	node_unref(n);
	model_close(m);
}

static void
random_step(struct model *m, uint32_t *seed, struct attr *table, uint64_t *lead)
{
	static char *const names[NAMES] = {(char *)"a", (char *)"b b", (char *)"c\"",
		(char *)"\xc3\xa9", (char *)"_FillValue", (char *)"valid_range", (char *)"g/h",
		(char *)"add_offset"};
	struct edit *e = NULL;
	uint8_t room[8 * COUNT_MOST];
	CHECK_INT(model_edit(m, "v", &e), 0);
	for (unsigned n = 1 + check_random(seed) % 3; n > 0; n--) {
		const unsigned i = check_random(seed) % NAMES;
		struct attr new = {0}, *old = &table[i];
		if (check_random(seed) % 4 == 0) {
			CHECK_INT(edit_del_attr(e, names[i]), 0);
			attr_clear(old);
			continue;
		}
		do /* text in the place of an array's number is taken for one */
			random_attr(seed, names[i], room, &new);
		while (attr_takes_type(names[i]) && !attr_is_number(&new));
		CHECK_INT(edit_set_attr(e, &new), 0);
		attr_clear(old);
		CHECK_INT(attr_copy(&new, old), 0);
	}
	if (check_random(seed) % 3 == 0) {
		*lead = check_random(seed) % 20;
		CHECK_INT(edit_resize(e, *lead), 0);
	}
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	edit_free(e);
}

/* The type that was recorded stays where the value fits it: what the model shows is what the next
 * step begins with. */
static void
take_types(struct model *m, struct attr *table)
{
	struct node *n = NULL;
	struct attrs as = {0};
	CHECK_INT(model_lookup(m, "v", &n), 0);
	CHECK_INT(n ? node_attrs(n, &as) : 0, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct attr *got = table[i].name ? attrs_find(&as, table[i].name) : NULL;
		CHECK(!table[i].name || got);
		if (!got)
			continue;
		if (!same_value(got, &table[i]))
			differs(got, &table[i]);
		attr_clear(&table[i]);
		CHECK_INT(attr_copy(got, &table[i]), 0);
	}
	attrs_free(&as);
	node_unref(n);
}

static void
test_random(void)
{
	for (unsigned turn = 0; turn < 6;
		turn++) { /* each as if every request cost a round trip, too */
		const unsigned k = turn % 3;
		struct tree t = tree_new(&never, NULL);
		struct attr table[NAMES] = {{0}};
		t.z->caps |= turn < 3 ? 0 : ZMAP_REMOTE;
		uint64_t lead = 4;
		uint32_t seed = 17 + turn;
		begin_store(t.m, kinds[k]);
		for (unsigned i = 0; i < 200 && !check_failed; i++) {
			random_step(t.m, &seed, table, &lead);
			take_types(t.m, table);
			compare(t.z, kinds[k]->nczarr, table, lead);
		}
		for (unsigned i = 0; i < NAMES; i++)
			attr_clear(&table[i]);
		tree_free(&t);
	}
}

/* --- several --- */

enum { WRITERS = 4, EACH = 25 };

struct writer {
	struct zmap *zmap;   /* each has a model of its own … */
	struct model *model; /* … or all have this one */
	unsigned number;
};

static void
write_one(struct model *m, unsigned number, unsigned i)
{
	char name[32];
	const int64_t value = (int64_t)i * WRITERS + number;
	const struct attr a = {
		.name = name, .type = NC_TYPE_INT64, .count = 1, .data = (void *)&value};
	struct edit *e = NULL;
	snprintf(name, sizeof name, "n%ux%u", number, i);
	CHECK_INT(model_edit(m, "v", &e), 0);
	CHECK_INT(edit_set_attr(e, &a), 0);
	CHECK_INT(edit_resize(e, 4 + i), 0);
	if (check_failed)
		return;
	/* one that saw more rows than it wants would make them fewer */
	int r = edit_node(e)->array->shape[0] > 4 + i ? 0 : edit_commit(e, 0, NULL);
	edit_free(e);
	CHECK_INT(r, 0);
	e = NULL;
	CHECK_INT(model_edit(m, "v", &e), 0);
	CHECK_INT(edit_set_attr(e, &a), 0);
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	edit_free(e);
}

static void *
write_all(void *arg)
{
	const struct writer *w = arg;
	struct model *own = NULL;
	if (!w->model)
		CHECK_INT(model_open(w->zmap, &never, &own), 0);
	for (unsigned i = 0; i < EACH; i++)
		write_one(w->model ? w->model : own, w->number, i);
	model_close(own);
	return NULL;
}

static void
check_writers(struct zmap *z, const char *zmetadata)
{
	struct model *m = NULL;
	const struct model_options trust = {
		.ttl = INT64_MAX, .timeout = 60 * SECOND, .consolidated = CONSOLIDATED_TRUST};
	struct node *n = NULL, *w = NULL;
	struct attrs as = {0};
	CHECK_INT(model_open(z, zmetadata ? &trust : &never, &m), 0);
	CHECK_INT(model_lookup(m, "v", &n), 0);
	CHECK_INT(model_lookup(m, "w", &w), 0);
	CHECK_INT(n ? n->array->shape[0] : 0, 4 + EACH - 1);
	CHECK_INT(w ? w->array->shape[0] : 0, 4 + EACH - 1);
	CHECK_INT(n ? node_attrs(n, &as) : 0, 0);
	CHECK_INT(as.count, WRITERS * EACH);
	attrs_free(&as);
	node_unref(n);
	node_unref(w);
	model_close(m);
}

static void
test_writers(void)
{
	for (unsigned k = 0; k < 4;
		k++) { /* of one model, each of its own; with consolidated metadata, or not */
		struct tree t = tree_new(&never, NULL);
		struct writer w[WRITERS];
		pthread_t thread[WRITERS];
		const char *all =
			k & 2 ? "{\"zarr_consolidated_format\": 1, \"metadata\": {}}" : NULL;
		begin_store(t.m, &nczarr);
		if (all) {
			struct edit *e = NULL;
			tree_put(&t, ".zmetadata", all);
			CHECK_INT(model_refresh(t.m, NULL), 0);
			const struct attr a = {.name = (char *)"units",
				.type = NC_TYPE_CHAR,
				.count = 1,
				.data = (void *)"m"};
			for (unsigned i = 0; i < 3; i++) { /* puts all documents in */
				CHECK_INT(model_edit(t.m, i == 0 ? "" : i == 1 ? "v" : "w", &e), 0);
				CHECK_INT(i ? edit_resize(e, 4) : edit_set_attr(e, &a), 0);
				CHECK_INT(edit_commit(e, 0, NULL), 0);
				edit_free(e);
			}
		}
		for (unsigned i = 0; i < WRITERS; i++) {
			w[i] = (struct writer){t.z, k & 1 ? t.m : NULL, i};
			CHECK_INT(pthread_create(&thread[i], NULL, write_all, &w[i]), 0);
		}
		for (unsigned i = 0; i < WRITERS; i++)
			pthread_join(thread[i], NULL);
		check_writers(t.z, NULL);
		if (all)
			check_writers(t.z, all);
		tree_free(&t);
	}
}

int
main(void)
{
	test_random();
	test_writers();
	return check_end();
}
