/* Texts of files made from texts of stores: units of time, names in CF attributes, reference
 * systems, quoting in CSV and CDL, numbers. */
#include "base/number.h"
#include "model/cf.h"
#include "model/cf_crs.h"
#include "view/text/cdl_text.h"
#include "view/text/csv_cell.h"
#include "view/netcdf/nc_names.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
take_name(void *arg, const char *name, enum cf_role role)
{
	assert(*name && strlen(name) <= *(size_t *)arg);
	return 0;
}

/* The first line are units, the second a calendar. */
static void
times(const char *text)
{
	CLEAN(clean_free) char *units = strndup(text, strcspn(text, "\n"));
	const char *calendar = strchr(text, '\n');
	static const double values[] = {
		0, 1, -1, 0.5, 36524.25, 1e6, -1e9, 1e17, 1e300, INFINITY, NAN};
	struct cf_time t;
	char shown[CF_TIME_TEXT];
	if (cf_time_parse(units, calendar ? calendar + 1 : NULL, &t) < 0)
		return;
	for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
		if (cf_time_text(&t, values[i], shown))
			assert(strlen(shown) == cf_time_width(&t));
	if (cf_time_text_int(&t, INT64_MIN, shown) || cf_time_text_int(&t, 1, shown))
		assert(strlen(shown) == cf_time_width(&t));
}

static void
references(char *text, size_t size)
{
	char name[] = "grid_mapping";
	struct attr a = {.name = name, .type = NC_TYPE_CHAR, .count = size, .data = text};
	cf_references(&(struct attrs){.attr = &a, .count = 1}, take_name, &size);
}

static void
reference_systems(char *text, size_t size)
{
	char gdal[] = "_CRS", code[] = "proj:code", projjson[] = "proj:projjson";
	char *const names[] = {gdal, code, projjson};
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct attr a = {
			.name = names[i], .type = NC_TYPE_CHAR, .count = size, .data = text};
		CLEAN(clean_free) char *wkt = NULL;
		int r = cf_crs_wkt(&(struct attrs){.attr = &a, .count = 1}, &wkt);
		assert(r == 0 ? wkt && strchr(wkt, '[') : !wkt);
	}
}

static void
quotes(const char *text, size_t size)
{
	CLEAN(buf_free) struct buf csv = {0}, cdl = {0}, name = {0};
	CLEAN(clean_free) char *shown = nc_name(text);
	assert(csv_quoted(text, size, &csv) == 0 && csv.len <= 2 * size + 2);
	assert(cdl_quoted(text, size, &cdl) == 0);
	for (size_t i = 0; i < cdl.len; i++)
		assert(cdl.data[i] >= ' ' && cdl.data[i] != 0x7f);
	assert(cdl_name(shown, &name) == 0 && name.len && cdl_comment(text, &name) == 0);
}

static void
numbers(const uint8_t *data, size_t size)
{
	char text[NUMBER_DOUBLE + 1];
	double d, back;
	float f, near;
	if (size < sizeof d)
		return;
	memcpy(&d, data, sizeof d);
	memcpy(&f, data, sizeof f);
	text[number_double(d, text)] = 0;
	back = strtod(text, NULL);
	assert(!isfinite(d) || memcmp(&back, &d, sizeof d) == 0);
	text[number_float(f, text)] = 0;
	near = strtof(text, NULL);
	assert(!isfinite(f) || memcmp(&near, &f, sizeof f) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(clean_free) char *text = malloc(size + 1);
	assert(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	times(text);
	references(text, size);
	reference_systems(text, size);
	quotes(text, size);
	numbers(data, size);
	return 0;
}
