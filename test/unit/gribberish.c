/* GRIB messages as chunks: packed by ecCodes in several ways, with values left out, from grids that
 * run up and down and around the world; then cut and damaged. */
#include "codec_test.h"

#include <eccodes.h>
#include <math.h>

/* ecCodes leaks where a message is damaged. */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:libeccodes";
}

enum { NI = 24, NJ = 13, N = NI * NJ };
static const double first_lat = -30, last_lat = 30, first_lon = 350, step_lon = 1;

static double
value(size_t i)
{
	return 250 + 30 * sin((double)i / 9) + (double)(i % 7) / 8;
}

/* A message with these values; every fifth is missing where `holes`. */
static void
make(const char *packing, bool up, bool holes, struct buf *ret)
{
	double v[N];
	size_t n = strlen(packing), len = 0;
	const void *bytes = NULL;
	codes_handle *h = codes_grib_handle_new_from_samples(NULL, "regular_ll_sfc_grib2");
	CHECK(h);
	for (size_t i = 0; i < N; i++)
		v[i] = holes && i % 5 == 0 ? 9999 : value(i);
	int bad = codes_set_long(h, "Ni", NI) || codes_set_long(h, "Nj", NJ) ||
		  codes_set_long(h, "jScansPositively", up) ||
		  codes_set_double(
			  h, "latitudeOfFirstGridPointInDegrees", up ? first_lat : last_lat) ||
		  codes_set_double(
			  h, "latitudeOfLastGridPointInDegrees", up ? last_lat : first_lat) ||
		  codes_set_double(h, "longitudeOfFirstGridPointInDegrees", first_lon) ||
		  codes_set_double(h, "longitudeOfLastGridPointInDegrees",
			  first_lon + (NI - 1) * step_lon - 360) ||
		  codes_set_double(h, "iDirectionIncrementInDegrees", step_lon) ||
		  codes_set_double(h, "jDirectionIncrementInDegrees", 5) ||
		  codes_set_long(h, "bitmapPresent", holes) ||
		  codes_set_long(h, "bitsPerValue", 24) ||
		  codes_set_double_array(h, "values", v, N) ||
		  codes_set_string(h, "packingType", packing, &n) ||
		  codes_get_message(h, &bytes, &len);
	CHECK(!bad);
	if (!bad)
		CHECK_INT(buf_add(ret, bytes, len), 0);
	codes_handle_delete(h);
}

static const struct row doubles = {"gribberish", "{\"var\": \"TMP\"}", DTYPE_FLOAT, 8},
			floats = {"gribberish", "{}", DTYPE_FLOAT, 4},
			north_up = {"gribberish", "{\"north_up\": true}", DTYPE_FLOAT, 8},
			lat = {"gribberish", "{\"var\": \"latitude\"}", DTYPE_FLOAT, 8},
			lat_north = {"gribberish", "{\"var\": \"latitude\", \"north_up\": true}",
				DTYPE_FLOAT, 8},
			lon = {"gribberish", "{\"var\": \"longitude\"}", DTYPE_FLOAT, 8},
			wrap = {"gribberish", "{\"adjust_longitude_range\": true}", DTYPE_FLOAT, 8},
			lon_wrap = {"gribberish",
				"{\"var\": \"longitude\", \"adjust_longitude_range\": true}",
				DTYPE_FLOAT, 8};

/* The message as n elements; NULL: refused. */
static void *
decoded(const struct row *row, uint64_t n, struct span in)
{
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(row, n, &a);
	int r = open_row(row, &a.form, &c);
	CHECK_INT(r, 0);
	return r < 0 ? NULL : decode(c, &a.form, in.data, in.len, &r);
}

static bool
near(double got, size_t i, bool holes)
{
	return holes && i % 5 == 0 ? isnan(got) : fabs(got - value(i)) < 1e-4;
}

static void
packings(void)
{
	/* (ecCodes 2.28 cannot encode the others right, which GDAL shows, too.) */
	static const char *const packing[] = {"grid_simple", "grid_ccsds"};
	for (size_t p = 0; p < sizeof packing / sizeof *packing; p++)
		for (int holes = 0; holes < 2; holes++) {
			CLEAN(buf_free) struct buf m = {0};
			make(packing[p], false, holes, &m);
			CLEAN(clean_free) double *d = decoded(&doubles, N, buf_span(&m));
			CLEAN(clean_free) float *f = decoded(&floats, N, buf_span(&m));
			CHECK(d && f);
			for (size_t i = 0; i < N && d && f; i++)
				CHECK(near(d[i], i, holes) && near((double)f[i], i, holes));
		}
}

static void
orders(void)
{
	CLEAN(buf_free) struct buf up = {0}, down = {0};
	make("grid_simple", true, false, &up);
	make("grid_simple", false, false, &down);
	CLEAN(clean_free)
	double *a = decoded(&north_up, N, buf_span(&up)),
	       *b = decoded(&north_up, N, buf_span(&down)), *c = decoded(&lat, NJ, buf_span(&up)),
	       *d = decoded(&lat_north, NJ, buf_span(&up)), *e = decoded(&lon, NI, buf_span(&up));
	CHECK(a && b && c && d && e);
	if (!(a && b && c && d && e))
		return;
	for (size_t i = 0; i < N; i++) {
		CHECK(near(a[i], (NJ - 1 - i / NI) * NI + i % NI, false));
		CHECK(near(b[i], i, false));
	}
	for (size_t j = 0; j < NJ; j++)
		CHECK(fabs(c[j] - (first_lat + 5 * (double)j)) < 1e-9 &&
			fabs(d[j] - (last_lat - 5 * (double)j)) < 1e-9);
	for (size_t i = 0; i < NI; i++)
		CHECK(fabs(e[i] - fmod(first_lon + (double)i, 360)) < 1e-9);
	CHECK(!decoded(&doubles, N - 1, buf_span(&up)) && !decoded(&doubles, N + 1, buf_span(&up)));
	CHECK(!decoded(&lat, NI, buf_span(&up)));
}

static void
put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * (3 - i));
}

/* Longitudes from -180 on, where a grid goes around the world once; what the library of this name
 * gives is the same. */
static void
longitudes(void)
{
	static const struct {
		uint32_t first, step; /* degrees */
		size_t start;         /* column of the first then */
		bool around;
	} rows[] = {{0, 15, 12, true}, {180, 15, 0, true}, {200, 15, 23, true}, {5, 15, 12, true},
		{350, 1, 0, false}, {0, 16, 0, false}, {0, 14, 0, false}};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		CLEAN(buf_free) struct buf m = {0};
		make("grid_simple", false, false, &m);
		uint8_t *grid = m.data + 16 + m.data[16 + 3]; /* behind section 1 */
		put32(grid + 50, rows[k].first * 1000000);
		put32(grid + 63, rows[k].step * 1000000);
		CLEAN(clean_free)
		double *v = decoded(&wrap, N, buf_span(&m)),
		       *x = decoded(&lon_wrap, NI, buf_span(&m));
		CHECK(v && x);
		for (size_t i = 0; i < N && v; i++)
			CHECK(near(v[i], i / NI * NI + (i + rows[k].start) % NI, false));
		for (size_t i = 0; i < NI && x; i++) {
			double at =
				rows[k].first + rows[k].step * (double)((i + rows[k].start) % NI);
			at = at >= 360 ? at - 360 : at;
			CHECK(fabs(x[i] - (rows[k].around && at >= 180 ? at - 360 : at)) < 1e-9);
			CHECK(!rows[k].around || !i || x[i] > x[i - 1]);
		}
	}
}

/* One byte of the first 200 is another one. */
static void
damage(const void *bytes, size_t len, size_t n)
{
	CLEAN(buf_free) struct buf m = {0};
	CHECK_INT(buf_add(&m, bytes, len), 0);
	for (int i = 0; i < 2000; i++) {
		size_t at = check_random(&seed) % (m.len < 200 ? m.len : 200);
		uint8_t was = m.data[at];
		m.data[at] ^= (uint8_t)(1 + check_random(&seed) % 255);
		free(decoded(i % 2 ? &doubles : &wrap, n, buf_span(&m)));
		m.data[at] = was;
	}
}

/* Grids of other templates, whose sections have other lengths */
static void
grids(void)
{
	static const char *const samples[] = {
		"polar_stereographic_sfc_grib2", "regular_gg_sfc_grib2"};
	for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
		const void *bytes = NULL;
		size_t len = 0, n = 0;
		codes_handle *h = codes_grib_handle_new_from_samples(NULL, samples[k]);
		CHECK(h && !codes_get_message(h, &bytes, &len) && !codes_get_size(h, "values", &n));
		CLEAN(clean_free)
		double *v = decoded(&doubles, n, (struct span){bytes, len}),
		       *w = decoded(&wrap, n, (struct span){bytes, len});
		CHECK(v && (w != NULL) == (k == 0));
		damage(bytes, len, n);
		codes_handle_delete(h);
	}
}

static void
damaged(void)
{
	CLEAN(buf_free) struct buf m = {0};
	make("grid_simple", false, false, &m);
	for (size_t len = 0; len < m.len; len++)
		CHECK(!decoded(&doubles, N, (struct span){m.data, len}));
	damage(m.data, m.len, N);
	CHECK_INT(buf_add(&m, "x", 1), 0);
	CHECK(!decoded(&doubles, N, buf_span(&m)));
}

int
main(void)
{
	packings();
	orders();
	longitudes();
	grids();
	damaged();
	codec_scratch_free();
	return check_end();
}
