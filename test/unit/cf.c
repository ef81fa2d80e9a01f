/* What CF says: units of time against dates that are known, roles of variables, coordinates. */
#include "tree.h"

#include "model/cf.h"

#include <errno.h>
#include <math.h>

static void
check_time(const char *units, const char *calendar, double value, const char *want)
{
	struct cf_time t = {0};
	char text[CF_TIME_TEXT] = "(none)", again[CF_TIME_TEXT] = "(none)";
	int r = cf_time_parse(units, calendar, &t);
	if (r < 0) {
		CHECK_STR("(no units)", want);
		return;
	}
	bool is = cf_time_text(&t, value, text);
	CHECK_STR(text, want);
	if (fabs(value) < 0x1p63 && value == (double)(int64_t)value) {
		CHECK(cf_time_text_int(&t, (int64_t)value, again) == is);
		CHECK_STR(again, text);
	}
	if (is)
		CHECK_INT(strlen(text), cf_time_width(&t));
}

/* Values as cftime gives them. */
struct time_row {
	const char *units, *calendar;
	double value;
	const char *want;
};

static void
test_calendars(void)
{
	static const struct time_row rows[] = {
		{"days since 2000-02-28", "noleap", 1, "2000-03-01T00:00:00"},
		{"days since 2000-02-28", "365_day", -1e5, "1726-03-10T00:00:00"},
		{"days since 2000-02-29", "noleap", 0, "(no units)"},
		{"days since 0000-01-01", "noleap", 365, "0001-01-01T00:00:00"},
		{"days since 0001-01-01", "noleap", -1, "(none)"},
		{"days since 2001-02-28", "all_leap", 1, "2001-02-29T00:00:00"},
		{"days since 2001-02-28", "366_day", 366.5, "2002-02-28T12:00:00"},
		{"days since 9999-12-31", "all_leap", 1, "(none)"},
		{"days since 2000-01-30", "360_day", 31, "2000-03-01T00:00:00"},
		{"hours since 1900-02-30", "360_DAY", -0.5, "1900-02-29T23:30:00"},
		{"days since 2000-01-31", "360_day", 0, "(no units)"},
		{"days since 2000-01-01", "julian", 60, "2000-03-01T00:00:00"},
		{"days since 1900-02-29", "julian", 0, "1900-02-29T00:00:00"},
		{"days since 1582-10-04", "julian", 1, "1582-10-05T00:00:00"},
		{"days since 0000-01-01", "julian", 366, "(no units)"},
		{"days since 2000-01-01", "none", 0, "(no units)"},
		{"months since 2000-01-01", "360_day", 13, "2001-02-01T00:00:00"},
		{"months since 2000-01-01", "noleap", 0, "(no units)"},
		{"years since 2000-01-01", "360_day", 0, "(no units)"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_time(rows[i].units, rows[i].calendar, rows[i].value, rows[i].want);
}

static void
test_times(void)
{
	static const struct time_row rows[] = {
		{"days since 1900-01-01 00:00", NULL, 0, "1900-01-01T00:00:00"},
		{"days since 1900-01-01 00:00", "standard", 36524.5, "2000-01-01T12:00:00"},
		{"hours since 1900-01-01 00:00:00.0", "gregorian", 1043135, "2018-12-31T23:00:00"},
		{"seconds since 1970-01-01T00:00:00Z", NULL, 1e9, "2001-09-09T01:46:40"},
		{"  Days   since 1850-1-1  ", NULL, 59, "1850-03-01T00:00:00"},
		{"days since 1-1-1", "proleptic_gregorian", 0, "0001-01-01T00:00:00"},
		{"days since 0001-01-01", "proleptic_gregorian", 0, "0001-01-01T00:00:00"},
		{"days since 0001-01-01", "standard", 0, "0001-01-01T00:00:00"},
		{"days since 0001-01-01", "standard", 577736, "1582-10-04T00:00:00"},
		{"days since 0001-01-01", "standard", 577737, "1582-10-15T00:00:00"},
		{"days since 0001-01-01", "proleptic_gregorian", 577735, "1582-10-15T00:00:00"},
		{"days since 1582-10-15", "standard", -1, "1582-10-04T00:00:00"},
		{"days since 1582-10-15", "proleptic_gregorian", -1, "1582-10-14T00:00:00"},
		{"days since 0001-01-01", "standard", -1, "(none)"},
		{"days since 9999-12-31", NULL, 0.99999, "9999-12-31T23:59:59"},
		{"days since 9999-12-31", NULL, 1, "(none)"},
		{"days since 0000-01-01", NULL, 366, "(no units)"},
		{"days since 0000-01-01", "proleptic_gregorian", 366, "0001-01-01T00:00:00"},
		{"days since 1600-02-29", "standard", 0, "1600-02-29T00:00:00"},
		{"days since 1700-02-29", "standard", 0, "(no units)"},
		{"days since 1500-02-29", "standard", 0, "1500-02-29T00:00:00"},
		{"days since 1500-02-29", "proleptic_gregorian", 0, "(no units)"},
		{"minutes since 2000-01-01 00:30", NULL, -31, "1999-12-31T23:59:00"},
		{"hours since 2000-01-01 06:00 +1:00", NULL, 0, "2000-01-01T05:00:00"},
		{"hours since 2000-01-01 06:00:00 -6", NULL, 0, "2000-01-01T12:00:00"},
		{"hours since 2000-01-01 06:00:00 UTC", NULL, 0, "2000-01-01T06:00:00"},
		{"days since 2000-01-01", NULL, 1.0 / 3, "2000-01-01T08:00:00"},
		{"days since 2000-01-01", NULL, 0.9999999, "2000-01-02T00:00:00"},
		{"s since 2000-01-01 0:0:0.6", NULL, 0, "2000-01-01T00:00:01"},
		{"milliseconds since 2000-01-01 0:0:0.6", NULL, 1, "2000-01-01T00:00:00.601"},
		{"microseconds since 2000-01-01", NULL, -1, "1999-12-31T23:59:59.999999"},
		{"nanoseconds since 1970-01-01", NULL, 1234567890, "1970-01-01T00:00:01.234567890"},
		{"weeks since 2000-01-01", NULL, 1, "2000-01-08T00:00:00"},
		{"days since 2000-01-01", NULL, 1e300, "(none)"},
		{"days since 2000-01-01", NULL, -1e18, "(none)"},
		{"months since 2000-01-01", NULL, 0, "(no units)"},
		{"days since", NULL, 0, "(no units)"},
		{"days", NULL, 0, "(no units)"},
		{"days since 2000-13-01", NULL, 0, "(no units)"},
		{"days since 2000-01-01 25:61", NULL, 0, "(no units)"},
		{"days since 2000-01-01 noon", NULL, 0, "(no units)"},
		{"K", NULL, 0, "(no units)"},
		{"", NULL, 0, "(no units)"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_time(rows[i].units, rows[i].calendar, rows[i].value, rows[i].want);
}

/* Numbers that no time is so many days from any. */
static void
test_beyond_times(void)
{
	struct cf_time t;
	char text[CF_TIME_TEXT];
	CHECK_INT(cf_time_parse("days since 2000-01-01", NULL, &t), 0);
	CHECK(!cf_time_text(&t, (double)NAN, text));
	CHECK(!cf_time_text(&t, (double)INFINITY, text));
	CHECK(!cf_time_text_int(&t, INT64_MAX, text));
	CHECK(!cf_time_text_int(&t, INT64_MIN, text));
}

/* Numbers with units of time that are no times all the same. */
static void
test_no_times(void)
{
	static char units[] = "days since 2000-01-01";
	double factor = 0.5;
	struct attr a[] = {
		{.name = (char *)"units",
			.type = NC_TYPE_CHAR,
			.count = strlen(units),
			.data = units},
		{.name = (char *)"scale_factor",
			.type = NC_TYPE_DOUBLE,
			.count = 1,
			.data = &factor},
	};
	struct cf_time t;
	CHECK_INT(cf_time_of_attrs(&(struct attrs){.attr = a, .count = 1}, &t), 0);
	CHECK_INT(cf_time_of_attrs(&(struct attrs){.attr = a, .count = 2}, &t), -EINVAL);
	a[1].name = (char *)"calendar";
	CHECK_INT(cf_time_of_attrs(&(struct attrs){.attr = a, .count = 2}, &t), -EINVAL);
}

static void
check_datetime(enum time_unit unit, uint32_t count, int64_t value, const char *want)
{
	const struct dtype d = {
		.kind = DTYPE_DATETIME, .size = 8, .unit = unit, .unit_count = count};
	struct cf_time t;
	char text[CF_TIME_TEXT] = "(none)";
	if (cf_time_of_dtype(&d, &t) == 0)
		cf_time_text_int(&t, value, text);
	CHECK_STR(text, want);
}

static void
test_datetimes(void)
{
	check_datetime(TIME_Y, 1, 30, "2000-01-01T00:00:00");
	check_datetime(TIME_M, 1, -1, "1969-12-01T00:00:00");
	check_datetime(TIME_M, 3, 5, "1971-04-01T00:00:00");
	check_datetime(TIME_W, 1, 1, "1970-01-08T00:00:00");
	check_datetime(TIME_D, 1, -719162, "0001-01-01T00:00:00");
	check_datetime(TIME_D, 1, -719163, "(none)");
	check_datetime(TIME_S, 10, 100000000, "2001-09-09T01:46:40");
	check_datetime(TIME_MS, 1, -1, "1969-12-31T23:59:59.999");
	check_datetime(TIME_NS, 1, INT64_MAX, "2262-04-11T23:47:16.854775807");
	check_datetime(TIME_NS, 1, INT64_MIN + 1, "1677-09-21T00:12:43.145224193");
	check_datetime(TIME_PS, 1, 0, "(none)");
	check_datetime(TIME_GENERIC, 1, 0, "(none)");
}

#define ARRAY(dtype, shape)                                                                        \
	"{\"zarr_format\": 2, \"shape\": " shape ", \"chunks\": " shape ", \"dtype\": \"" dtype    \
	"\", \"compressor\": null, \"filters\": null, \"order\": \"C\", \"fill_value\": 0}"
#define DIMS(...) "{\"_ARRAY_DIMENSIONS\": [" __VA_ARGS__ "]"

static const char *const store[] = {
	".zgroup",
	ZGROUP,
	".zattrs",
	"{\"coordinates\": \"height\"}",
	"air/.zarray",
	ARRAY("<f4", "[3, 2]"),
	"air/.zattrs",
	DIMS("\"time\", \"y\"") ", \"coordinates\": \"lat  lon\", \"grid_mapping\": \"crs\"}",
	"crs/.zarray",
	ARRAY("<i4", "[]"),
	"crs/.zattrs",
	"{\"_ARRAY_DIMENSIONS\": []}",
	"height/.zarray",
	ARRAY("<f4", "[]"),
	"height/.zattrs",
	"{\"_ARRAY_DIMENSIONS\": []}",
	"lat/.zarray",
	ARRAY("<f4", "[2]"),
	"lat/.zattrs",
	DIMS("\"y\"") "}",
	"lon/.zarray",
	ARRAY("<f4", "[2]"),
	"lon/.zattrs",
	DIMS("\"y\"") "}",
	"map/.zarray",
	ARRAY("<i4", "[]"),
	"map/.zattrs",
	"{\"grid_mapping_name\": \"x\", \"_ARRAY_DIMENSIONS\": []}",
	"time/.zarray",
	ARRAY("<f8", "[3]"),
	"time/.zattrs",
	DIMS("\"time\"") ", \"bounds\": \"time_bnds\"}",
	"time_bnds/.zarray",
	ARRAY("<f8", "[3, 2]"),
	"time_bnds/.zattrs",
	DIMS("\"time\", \"nv\"") "}",
	"y/.zarray",
	ARRAY("<f8", "[7]"),
	"y/.zattrs",
	DIMS("\"y\"") "}",
	"g/.zgroup",
	ZGROUP,
	"g/rain/.zarray",
	ARRAY("<f4", "[3, 2]"),
	"g/rain/.zattrs",
	DIMS("\"time\", \"y\"") "}",
	"g/y/.zarray",
	ARRAY("<f8", "[2]"),
	"g/y/.zattrs",
	DIMS("\"y\"") "}",
	NULL,
};

static const char *
path_of(struct node *n, int r)
{
	static char text[64];
	if (r == 0)
		snprintf(text, sizeof text, "%s", n->path);
	else
		snprintf(text, sizeof text, "(%d)", r);
	node_unref(n);
	return text;
}

static const char *
found(const struct tree *t, const char *path, const char *name)
{
	struct node *n = NULL;
	int r = cf_find(t->m, path, name, &n);
	return path_of(n, r);
}

static const char *
coordinate(const struct tree *t, const char *path, unsigned dim)
{
	struct node *n = NULL;
	CLEAN(node_unrefp) struct node *a = tree_node(t, path);
	int r = cf_coordinate(t->m, a, dim, &n);
	return path_of(n, r);
}

/* All objects of a store as its consolidated metadata. */
static void
consolidate(const struct tree *t, const char *const *objects)
{
	CLEAN(buf_free) struct buf all = {0};
	CHECK_INT(buf_addf(&all, "{\"zarr_consolidated_format\": 1, \"metadata\": {"), 0);
	for (const char *const *o = objects; *o; o += 2)
		CHECK_INT(buf_addf(&all, "%s\"%s\": %s", o == objects ? "" : ", ", o[0], o[1]), 0);
	CHECK_INT(buf_addf(&all, "}}"), 0);
	CHECK_INT(zmap_put(t->z, &(struct zmap_put){".zmetadata", buf_span(&all)}, NULL), 0);
}

/* Consolidated metadata say the same of roles at once; but not which arrays are coordinates of
 * their own dimensions. */
static void
check_known(const char *const *name, const enum cf_role *want, unsigned n)
{
	struct tree t = tree_new(NULL, store);
	enum cf_role role = CF_DATA;
	CHECK_INT(cf_role_known(t.m, "", "air", &role), ZMAP_ABSENT);
	consolidate(&t, store);
	for (unsigned i = 0; i < n; i++) {
		CLEAN(node_unrefp) struct node *a = tree_node(&t, name[i]);
		CHECK_INT(cf_role_known(t.m, "", name[i], &role), 0);
		CHECK_INT(role == CF_DATA && cf_is_coordinate(a) ? CF_COORDINATE : role, want[i]);
	}
	CHECK_INT(cf_role_known(t.m, "g", "rain", &role), 0);
	CHECK_INT(role, CF_DATA);
	tree_free(&t);
}

/* Ragged arrays are found by name in the group they lie in; more references than are kept are
 * none. */
static void
test_known(void)
{
	enum { MANY = 70000 };
	static const char *const ragged[] = {".zgroup", "{\"zarr_format\": 2}", "g/.zgroup",
		"{\"zarr_format\": 2}", "g/n/.zarray", "{}", "g/n/.zattrs",
		"{\"units\": \"1\", \"s\\u0061mple_dimension\": \"obs\"}", "n/.zarray", "{}",
		"n/.zattrs", "{\"cf_role\": [], \"bounds\": [\"b\"], \"coordinates\": 7}", NULL};
	struct tree t = tree_new(NULL, NULL);
	CLEAN(buf_free) struct buf names = {0}, many = {0};
	enum cf_role role = CF_DATA;
	consolidate(&t, ragged);
	CHECK_INT(cf_ragged_known(t.m, "g", &names), 0);
	CHECK_INT(names.len, 2);
	CHECK_MEM(names.data, "n", 2);
	CHECK_INT(cf_ragged_known(t.m, "", &names), 0);
	CHECK_INT(names.len, 4);
	CHECK_INT(cf_role_known(t.m, "", "b", &role), 0);
	CHECK_INT(role, CF_BOUNDS);

	CHECK_INT(buf_addf(&many, "{\"coordinates\": \""), 0);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_INT(buf_addf(&many, "c%u ", i), 0);
	CHECK_INT(buf_addf(&many, "\"}"), 0);
	const char *const full[] = {".zgroup", "{\"zarr_format\": 2}", "a/.zarray", "{}",
		"a/.zattrs", (const char *)many.data, NULL};
	consolidate(&t, full);
	CHECK_INT(cf_role_known(t.m, "", "c1", &role), ZMAP_ABSENT);
	tree_free(&t);
}

static void
test_roles(void)
{
	static const char *const name[] = {
		"air", "crs", "height", "lat", "lon", "map", "time", "time_bnds", "y"};
	static const enum cf_role want[] = {CF_DATA, CF_GRID_MAPPING, CF_COORDINATE, CF_COORDINATE,
		CF_COORDINATE, CF_GRID_MAPPING, CF_COORDINATE, CF_BOUNDS, CF_COORDINATE};
	struct tree t = tree_new(NULL, store);
	enum cf_role role[9];
	CHECK_INT(cf_roles(t.m, "", name, 9, role), 0);
	for (unsigned i = 0; i < 9; i++) {
		if (role[i] != want[i])
			fprintf(stderr, "'%s':\n", name[i]);
		CHECK_INT(role[i], want[i]);
	}
	check_known(name, want, 9);
	CHECK_STR(found(&t, "air", "lat"), "lat");
	CHECK_STR(found(&t, "g/rain", "lat"), "lat");
	CHECK_STR(found(&t, "g/rain", "y"), "g/y");
	CHECK_STR(found(&t, "g/rain", "../y"), "y");
	CHECK_STR(found(&t, "g/rain", "/y"), "y");
	CHECK_STR(found(&t, "air", "g/y"), "g/y");
	CHECK_STR(found(&t, "air", "../../y"), "(1)");
	CHECK_STR(found(&t, "air", "g"), "(1)");
	CHECK_STR(found(&t, "air", "none"), "(1)");
	CHECK_STR(found(&t, "air", "/"), "(1)");
	CHECK_STR(coordinate(&t, "air", 0), "time");
	CHECK_STR(coordinate(&t, "air", 1), "(1)"); /* y has another size */
	CHECK_STR(coordinate(&t, "g/rain", 0), "time");
	CHECK_STR(coordinate(&t, "g/rain", 1), "g/y");
	CHECK_STR(coordinate(&t, "time", 0), "time");
	tree_free(&t);
}

struct told {
	char text[256];
};

static int
tell(void *arg, const char *name, enum cf_role role)
{
	static const char mark[] = "dcbg";
	struct told *t = arg;
	size_t n = strlen(t->text);
	snprintf(t->text + n, sizeof t->text - n, "%s:%c ", name, mark[role]);
	return 0;
}

static void
test_references(void)
{
	static char coordinates[] = " lat\tlon ", mapping[] = "crs: x y osgb: lat lon",
		    bounds[] = "";
	struct attr a[] = {
		{.name = (char *)"coordinates",
			.type = NC_TYPE_CHAR,
			.count = strlen(coordinates),
			.data = coordinates},
		{.name = (char *)"grid_mapping",
			.type = NC_TYPE_CHAR,
			.count = strlen(mapping),
			.data = mapping},
		{.name = (char *)"bounds", .type = NC_TYPE_CHAR, .data = bounds},
	};
	const struct attrs as = {.attr = a, .count = 3};
	struct told t = {{0}};
	CHECK_INT(cf_references(&as, tell, &t), 0);
	CHECK_STR(t.text, "lat:c lon:c crs:g x:c y:c osgb:g lat:c lon:c ");
}

int
main(void)
{
	test_times();
	test_beyond_times();
	test_calendars();
	test_no_times();
	test_datetimes();
	test_roles();
	test_known();
	test_references();
	return check_end();
}
