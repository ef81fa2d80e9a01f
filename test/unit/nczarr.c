/* NCZarr in every generation: the same content has the same dimensions, types and attributes,
 * whichever netcdf-c wrote it. With ZARRFS_CORPUS, the stores of all releases are compared too. */
#include "tree.h"

#include "dump.h"

#include <dirent.h>
#include <errno.h>

#define F4(dims)                                                                                   \
	"\"shape\": [2, 3], \"dtype\": \"<f4\", \"chunks\": [1, 3], \"order\": \"C\", "            \
	"\"compressor\": null, \"filters\": null" dims "}"
#define CH(dtype, dims)                                                                            \
	"\"shape\": [3], \"dtype\": \"" dtype                                                      \
	"\", \"chunks\": [3], \"fill_value\": \"\", \"order\": \"C\", \"compressor\": null, "      \
	"\"filters\": null" dims "}"
#define SC(dims)                                                                                   \
	"\"shape\": [1], \"dtype\": \"<i4\", \"chunks\": [1], \"order\": \"C\", \"compressor\": "  \
	"null, \"filters\": null" dims "}"
#define Z2 "{\"zarr_format\": 2, "
#define PROPERTIES(v) "\"_NCProperties\": \"version=2,netcdf=" v ",nczarr=2.0.0\""

static const char want[] = "dim t = 2 ;\n"
			   "dim x = 3 ;\n"
			   "float v(t, x) ;\n"
			   "  v:range = -100.f, 100.f ;\n"
			   "  v:units = \"K\" ;\n"
			   "char c(x) ;\n"
			   "int s ;\n"
			   ":n = 5s ;\n"
			   ":f = 2.f ;\n"
			   "group: g {\n"
			   "  float w(t, y) ;\n"
			   "}\n";

#define UPPER_OR_LOWER(BLOCK, GROUP, ARRAY, ATTR, CHAR, version)                                   \
	{                                                                                          \
		".zgroup",                                                                         \
			Z2 "\"" BLOCK "\": {\"version\": \"2.0.0\"}, \"" GROUP                     \
			   "\": {\"dims\": {\"t\": 2, \"x\": 3}, \"vars\": [\"v\", \"c\", "        \
			   "\"s\"], \"groups\": [\"g\"]}}",                                        \
			".zattrs",                                                                 \
			"{\"n\": 5, \"f\": 2, " PROPERTIES(                                        \
				version) ", \"" ATTR                                               \
					 "\": {\"types\": {\"n\": \"<i2\", \"f\": \"<f4\"}}}",     \
			"v/.zarray",                                                               \
			Z2 F4(", \"" ARRAY                                                         \
			      "\": {\"dimrefs\": [\"/t\", \"/x\"], \"storage\": \"chunked\"}"),    \
			"v/.zattrs",                                                               \
			"{\"range\": [-100, 100], \"units\": \"K\", \"" ATTR                       \
			"\": {\"types\": {\"range\": \"<f4\", \"units\": \"" CHAR "\"}}}",         \
			"c/.zarray", Z2 CH(CHAR, ", \"" ARRAY "\": {\"dimrefs\": [\"/x\"]}"),      \
			"c/.zattrs", "{\"" ATTR "\": {}}", "s/.zarray",                            \
			Z2 SC(", \"" ARRAY "\": {\"dimrefs\": [], \"storage\": \"scalar\"}"),      \
			"g/.zgroup",                                                               \
			Z2 "\"" GROUP "\": {\"dims\": {}, \"vars\": [\"w\"], \"groups\": []}}",    \
			"g/w/.zarray",                                                             \
			Z2 F4(", \"" ARRAY "\": {\"dimrefs\": [\"/t\", \"/g/y\"]}"), NULL          \
	}

static const char *const upper[] = UPPER_OR_LOWER(
	"_NCZARR_SUPERBLOCK", "_NCZARR_GROUP", "_NCZARR_ARRAY", "_NCZARR_ATTR", "<U1", "4.8.1");
static const char *const lower[] = UPPER_OR_LOWER(
	"_nczarr_superblock", "_nczarr_group", "_nczarr_array", "_nczarr_attr", ">S1", "4.9.2");

#define V1(VAR, ATTR)                                                                              \
	{                                                                                          \
		".nczarr", "{\"zarr_format\": 2,\"nczarr_version\": \"1.0.0\"}", ".zgroup",        \
			ZGROUP, ".nczgroup",                                                       \
			"{\"dims\": {\"t\": 2,\"x\": 3},\"vars\": "                                \
			"[\"v\",\"c\",\"s\"],\"groups\": [\"g\"]}",                                \
			".zattrs", "{\"n\": [5],\"f\": [2]," PROPERTIES("4.8.0") "}", "." ATTR,    \
			"{\"types\": {\"n\": \"3\",\"f\": \"5\",\"_NCProperties\": \"2\"}}",       \
			"v/.zarray", Z2 F4(""), "v/." VAR,                                         \
			"{\"dimrefs\": [\"/t\",\"/x\"],\"storage\": \"chunked\"}", "v/.zattrs",    \
			"{\"range\": [-100,100],\"units\": \"K\"}", "v/." ATTR,                    \
			"{\"types\": {\"range\": \"5\",\"units\": \"2\"}}", "c/.zarray",           \
			Z2 CH("<U1", ""), "c/." VAR,                                               \
			"{\"dimrefs\": [\"/x\"],\"storage\": \"chunked\"}", "s/.zarray",           \
			Z2 SC(""), "s/." VAR, "{\"dimrefs\": [],\"storage\": \"scalar\"}",         \
			"g/.zgroup", ZGROUP, "g/.nczgroup",                                        \
			"{\"dims\": {},\"vars\": [\"w\"],\"groups\": []}", "g/w/.zarray",          \
			Z2 F4(""), "g/w/." VAR,                                                    \
			"{\"dimrefs\": [\"/t\",\"/g/y\"],\"storage\": \"chunked\"}", NULL          \
	}

static const char *const v1[] = V1("nczvar", "nczattr");
static const char *const v1_plural[] = V1("nczarray", "nczattrs");

static const char *const attributes[] = {".zgroup", ZGROUP, ".zattrs",
	"{\"n\": 5, \"f\": 2, " PROPERTIES(
		"4.10.1") ", \"_nczarr_group\": {\"dimensions\": {\"t\": {\"size\": 2, "
			  "\"unlimited\": 0}, \"x\": 3}, \"arrays\": [\"v\", \"c\", \"s\"],"
			  " \"groups\": [\"g\"]}, \"_nczarr_superblock\": {\"version\": "
			  "\"2.0.0\"}, \"_nczarr_attr\": {\"types\": {\"n\": \"<i2\", \"f\": "
			  "\"<f4\", \"_nczarr_group\": \"|J0\"}}}",
	"v/.zarray", Z2 F4(""), "v/.zattrs",
	"{\"range\": [-100, 100], \"units\": \"K\", \"_ARRAY_DIMENSIONS\": [\"t\", \"x\"], "
	"\"_nczarr_array\": {\"dimension_references\": [\"/t\", \"/x\"], \"storage\": \"chunked\"},"
	" \"_nczarr_attr\": {\"types\": {\"range\": \"<f4\", \"units\": \">S1\"}}}",
	"c/.zarray", Z2 CH(">S1", ""), "c/.zattrs",
	"{\"_nczarr_array\": {\"dimension_references\": [\"/x\"]}}", "s/.zarray", Z2 SC(""),
	"s/.zattrs",
	"{\"_ARRAY_DIMENSIONS\": [\"_scalar_\"], \"_nczarr_array\": {\"dimension_references\": [], "
	"\"scalar\": 1, \"storage\": \"chunked\"}}",
	"g/.zgroup", ZGROUP, "g/.zattrs",
	"{\"_nczarr_group\": {\"dimensions\": {}, \"arrays\": [\"w\"], \"groups\": []}}",
	"g/w/.zarray", Z2 F4(""), "g/w/.zattrs",
	"{\"_nczarr_array\": {\"dimension_references\": [\"/t\", \"/g/y\"]}}", NULL};

static char *
dump_of(struct model *m)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	dump_group(m, f, "", 0);
	fclose(f);
	return text;
}

static void
test_generations(void)
{
	const char *const *const all[] = {v1, v1_plural, upper, lower, attributes};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		struct tree t = tree_new(NULL, all[i]);
		CLEAN(clean_free) char *got = dump_of(t.m);
		CHECK_STR(got, want);
		struct node *n = tree_node(&t, "v");
		CHECK(n->nczarr);
		CHECK_STR(n->array->dim[1].fqn, "/x");
		node_unref(n);
		n = tree_node(&t, "c");
		CHECK(n->array->dtype.is_char && n->array->dtype.size == 1);
		node_unref(n);
		tree_free(&t);
	}
}

/* mode=zarr: types and full names do not count, but the writer of the bytes does. */
static void
test_pure(void)
{
	const struct model_options zarr = {.timeout = SECOND, .mode = URL_ZARR},
				   noxarray = {.timeout = SECOND, .mode = URL_NOXARRAY};
	struct tree t = tree_new(&zarr, attributes);
	struct node *n = tree_node(&t, "v");
	CHECK(!n->nczarr && !n->array->dim[0].fqn);
	CHECK_STR(n->array->dim[0].name, "t");
	node_unref(n);
	n = tree_node(&t, "s");
	CHECK_INT(n->array->rank, 0);
	node_unref(n);
	tree_free(&t);
	t = tree_new(&noxarray, attributes);
	n = tree_node(&t, "v");
	CHECK(!n->array->dim[0].name);
	node_unref(n);
	tree_free(&t);
	t = tree_new(&zarr, v1);
	n = tree_node(&t, "c");
	CHECK_INT(n->array->dtype.size, 1);
	node_unref(n);
	tree_free(&t);
}

/* Which dtype is big-endian in the bytes, and not only in name. */
static bool
is_big(const char *version, const char *array_part)
{
	char zattrs[256], zarray[512];
	snprintf(zattrs, sizeof zattrs, "{\"_NCProperties\": \"version=2,netcdf=%s,nczarr=2.0.0\"}",
		version);
	snprintf(zarray, sizeof zarray,
		"{" ZARRAY_BODY ", \"dtype\": \">i2\", \"fill_value\": 258%s}", array_part);
	const char *const objects[] = {".zgroup",
		*array_part == ' ' ? ZGROUP : "{\"zarr_format\": 2, \"_nczarr_superblock\": {}}",
		".zattrs", zattrs, "g/v/.zarray", zarray, NULL};
	struct tree t = tree_new(NULL, objects);
	struct node *n = tree_node(&t, "g/v");
	bool big = n->array->dtype.big;
	CHECK_INT(n->array->fill[0], big ? 1 : 2); /* the fill value goes with it */
	node_unref(n);
	tree_free(&t);
	return big;
}

/* The mark of a netCDF-4 file, copied onto a group or an array that netcdf-c never wrote; and
 * NCZarr's on an array, where it never is. */
static void
test_copied_properties(void)
{
	static const char file[] = "{\"_NCProperties\": \"version=2,netcdf=4.9.0,hdf5=1.12.2\"}",
			  mark[] = "{" PROPERTIES("4.9.2") "}", none[] = "{}";
	static const char *const rows[][2] = {
		{file, none}, {none, file}, {file, file}, {none, mark}};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *const objects[] = {".zgroup", ZGROUP, ".zattrs", rows[i][0],
			"b/.zarray", "{" ZARRAY_BODY ", \"dtype\": \">i2\", \"fill_value\": 258}",
			"b/.zattrs", rows[i][1], "u/.zarray",
			"{" ZARRAY_BODY ", \"dtype\": \"<U1\", \"fill_value\": \"\"}", NULL};
		struct tree t = tree_new(NULL, objects);
		struct node *n = tree_node(&t, "b");
		CHECK(n->array->dtype.big);
		CHECK_INT(n->array->fill[0], 1);
		node_unref(n);
		n = tree_node(&t, "u");
		CHECK_INT(n->array->dtype.size, 4);
		node_unref(n);
		tree_free(&t);
	}
}

static void
test_mislabelled(void)
{
	const char *own = ", \"_nczarr_array\": {\"dimrefs\": [\"/x\"]}";
	CHECK(is_big("4.8.1", own));
	CHECK(!is_big("4.9.0", own));
	CHECK(!is_big("4.9.1-development", own));
	CHECK(!is_big("4.9.2", own));
	CHECK(is_big("4.9.3", own));
	CHECK(is_big("4.10.1", own));
	CHECK(!is_big("nonsense", own)); /* later versions put that elsewhere */
	CHECK(is_big("nonsense", ""));
	CHECK(!is_big("4.9.2", " ")); /* written as pure Zarr */
	CHECK(is_big("4.9.2", ""));   /* put into an NCZarr store by another writer */
}

/* Opened below the root that names the writer. */
static void
test_alone(void)
{
	static const char *const old[] = {".zarray",
		"{" ZARRAY_BODY ", \"dtype\": \"<U1\", \"fill_value\": \"\", "
		"\"_NCZARR_ARRAY\": {\"dimrefs\": [\"/x\"]}}",
		NULL};
	static const char *const newer[] = {".zgroup",
		"{\"zarr_format\": 2, \"_nczarr_group\": {}}", "v/.zarray",
		"{" ZARRAY_BODY ", \"dtype\": \">i2\", \"fill_value\": 0, "
		"\"_nczarr_array\": {\"dimrefs\": [\"/x\"]}}",
		NULL};
	struct tree t = tree_new(NULL, old);
	struct node *n = tree_node(&t, "");
	CHECK_INT(n->array->dtype.size, 1);
	node_unref(n);
	tree_free(&t);
	t = tree_new(NULL, newer);
	n = tree_node(&t, "v");
	CHECK(!n->array->dtype.big);
	node_unref(n);
	tree_free(&t);
}

static void
test_dims(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, ".zattrs",
		"{\"_nczarr_superblock\": {}, \"_nczarr_group\": {\"dimensions\": {\"t\": "
		"{\"size\": 4, \"unlimited\": 1}, \"bad\": \"x\", \"x\": 4}}}",
		"g/.zattrs",
		"{\"_nczarr_group\": {\"dimensions\": {\"u\": {\"size\": 4, \"unlimited\": "
		"true}}}}",
		"g/t/.zarray", ZARRAY, "g/t/.zattrs",
		"{\"_nczarr_array\": {\"dimension_references\": [\"/t\"]}}", "g/u/.zarray", ZARRAY,
		"g/u/.zattrs", "{\"_nczarr_array\": {\"dimension_references\": [\"/g/u\"]}}",
		"g/other/.zarray", ZARRAY, "g/other/.zattrs",
		"{\"_nczarr_array\": {\"dimension_references\": [\"/h/u\"]}}", "g/wrong/.zarray",
		ZARRAY, "g/wrong/.zattrs",
		"{\"_nczarr_array\": {\"dimension_references\": [\"/t\", \"/t\"]}, "
		"\"_ARRAY_DIMENSIONS\": [\"name\"]}",
		"g/odd/.zarray", ZARRAY, "g/odd/.zattrs",
		"{\"_nczarr_array\": {\"dimension_references\": [7]}, \"_ARRAY_DIMENSIONS\": "
		"[null]}",
		"one/.zarray", ZARRAY, "one/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}",
		"two/.zarray",
		"{\"shape\": [9], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0}",
		"two/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}", NULL};
	struct tree t = tree_new(NULL, objects);
	static const struct {
		const char *path, *name;
		bool unlimited;
		uint64_t size;
	} rows[] = {
		{"g/t", "t", true, 4}, {"g/u", "u", true, 4}, {"g/other", "u", false, 4},
		{"g/wrong", "name", false, 4}, {"g/odd", NULL, false, 4}, {"one", "x", false, 4},
		{"two", "x", false, 9}, /* the same name, another size */
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct node *n = tree_node(&t, rows[i].path);
		const struct dim *d = &n->array->dim[0];
		CHECK(!n->error);
		CHECK(!d->name == !rows[i].name);
		if (d->name && rows[i].name)
			CHECK_STR(d->name, rows[i].name);
		CHECK_INT(d->unlimited, rows[i].unlimited);
		CHECK_INT(d->size, rows[i].size);
		node_unref(n);
	}
	struct node *root = tree_node(&t, "");
	CHECK_INT(root->group->ndims, 2);
	CHECK(root->group->dim[0].unlimited && !root->group->dim[1].unlimited);
	node_unref(root);
	tree_free(&t);
}

static char *
dump_dir(const char *corpus, const char *store)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/nczarr-corpus/%s", corpus, store);
	struct zmap *z = store_open("", "dir", path, false);
	struct model *m = NULL;
	char *text = NULL;
	CHECK_INT(model_open(z, &(struct model_options){.timeout = SECOND, .ttl = SECOND}, &m), 0);
	if (m)
		text = dump_of(m);
	model_close(m);
	zmap_close(z);
	return text;
}

/* What a release could not store. */
static bool
may_lack(const char *line)
{
	static const char *const late[] = {
		"string ", "str:_nczarr_maxstrlen", ":json", "dim time", ":utf8"};
	line += strspn(line, " ");
	for (unsigned i = 0; i < sizeof late / sizeof *late; i++)
		if (!strncmp(line, late[i], strlen(late[i])))
			return true;
	return false;
}

/* Every line of `old` stands in `new` in the same order, and what is missing may be. */
static void
compare(const char *name, char *old, const char *new)
{
	const char *at = new;
	for (char *line = strtok(old, "\n"); line; line = strtok(NULL, "\n")) {
		const char *found = may_lack(line) ? at : strstr(at, line);
		if (!found) {
			fprintf(stderr, "%s: '%s' is not there, or elsewhere\n", name, line);
			check_failed++;
			return;
		}
		for (const char *p = at, *end; p < found; p = end + 1) {
			char skipped[256];
			end = strchrnul(p, '\n');
			snprintf(skipped, sizeof skipped, "%.*s", (int)(end - p), p);
			if (end <= found && !may_lack(skipped)) {
				fprintf(stderr, "%s: lacks '%s'\n", name, skipped);
				check_failed++;
			}
			if (!*end)
				break;
		}
		at = may_lack(line) ? at : found + strlen(line) + 1;
	}
}

static void
test_corpus(const char *corpus)
{
	static const char *const stores[] = {"o480_nczarr", "o480_nczarrxarray", "o4.8.1_nczarr",
		"o90_nczarr", "o4.9.2_nczarr", "o4.9.3_nczarr", "o101_nczarrconsolidated"};
	CLEAN(clean_free) char *newest = dump_dir(corpus, "o4.10.1_nczarr");
	for (unsigned i = 0; i < sizeof stores / sizeof *stores; i++) {
		CLEAN(clean_free) char *text = dump_dir(corpus, stores[i]);
		compare(stores[i], text, newest);
	}
	CLEAN(clean_free) char *first = dump_dir(corpus, "mini/4.10.1");
	static const char *const minis[] = {
		"mini/4.8.0", "mini/4.8.1", "mini/4.9.0", "mini/4.9.2", "mini/4.9.3"};
	for (unsigned i = 0; i < sizeof minis / sizeof *minis; i++) {
		CLEAN(clean_free) char *text = dump_dir(corpus, minis[i]);
		CHECK_STR(text, first);
	}
}

int
main(void)
{
	test_generations();
	test_pure();
	test_mislabelled();
	test_copied_properties();
	test_alone();
	test_dims();
	const char *corpus = getenv("ZARRFS_CORPUS");
	char unpacked[1024];
	snprintf(unpacked, sizeof unpacked, "%s/nczarr-corpus", corpus ? corpus : "");
	if (corpus && access(unpacked, R_OK) == 0)
		test_corpus(corpus);
	return check_end();
}
