#include "model/cf_crs.h"

#include "base/json.h"
#include "model/attr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WGS84(axes)                                                                                \
	"GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563,"          \
	"AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],"                             \
	"PRIMEM[\"Greenwich\",0,AUTHORITY[\"EPSG\",\"8901\"]],"                                    \
	"UNIT[\"degree\",0.0174532925199433,AUTHORITY[\"EPSG\",\"9122\"]]," axes                   \
	"AUTHORITY[\"EPSG\",\"4326\"]]"

#define METRES                                                                                     \
	"UNIT[\"metre\",1,AUTHORITY[\"EPSG\",\"9001\"]],"                                          \
	"AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH],"

static const char wgs84[] = WGS84("AXIS[\"Latitude\",NORTH],AXIS[\"Longitude\",EAST],");

static const char web_mercator[] = "PROJCS[\"WGS 84 / Pseudo-Mercator\"," WGS84(
	"") ",PROJECTION[\"Mercator_1SP\"],"
	    "PARAMETER[\"central_meridian\",0],PARAMETER[\"scale_factor\",1],"
	    "PARAMETER[\"false_easting\",0],PARAMETER[\"false_northing\",0]," METRES
	    "EXTENSION[\"PROJ4\",\"+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 "
	    "+y_0=0 "
	    "+k=1 +units=m +nadgrids=@null +wktext +no_defs\"],AUTHORITY[\"EPSG\",\"3857\"]]";

/* Zone, N or S, its central meridian, northing of the equator, code. */
static const char utm[] = "PROJCS[\"WGS 84 / UTM zone %d%c\"," WGS84(
	"") ",PROJECTION[\"Transverse_Mercator\"],"
	    "PARAMETER[\"latitude_of_origin\",0],PARAMETER[\"central_meridian\",%d],"
	    "PARAMETER[\"scale_factor\",0.9996],PARAMETER[\"false_easting\",500000],"
	    "PARAMETER[\"false_northing\",%d]," METRES "AUTHORITY[\"EPSG\",\"%d\"]]";

enum { CODE_WGS84 = 4326, CODE_WEB_MERCATOR = 3857 };
/* Codes before those of zones 1 to 60. */
enum { CODE_UTM_NORTH = 32600, CODE_UTM_SOUTH = 32700, UTM_ZONES = 60 };

static int
out_of_memory(void)
{
	return err_set(-ENOMEM, "no memory for a grid mapping");
}

static int
copy(const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? 0 : out_of_memory();
}

static int
of_code(int64_t code, char **ret)
{
	bool south = code > CODE_UTM_SOUTH;
	int64_t before = south ? CODE_UTM_SOUTH : CODE_UTM_NORTH, zone = 0;
	if (__builtin_sub_overflow(code, before, &zone))
		return ZMAP_ABSENT;
	if (code == CODE_WGS84)
		return copy(wgs84, ret);
	if (code == CODE_WEB_MERCATOR)
		return copy(web_mercator, ret);
	if (zone < 1 || zone > UTM_ZONES)
		return ZMAP_ABSENT;
	if (asprintf(ret, utm, (int)zone, south ? 'S' : 'N', (int)zone * 6 - 183,
		    south ? 10000000 : 0, (int)code) >= 0)
		return 0;
	*ret = NULL;
	return out_of_memory();
}

/* "EPSG:32632", "http://www.opengis.net/def/crs/EPSG/0/32632", "urn:ogc:def:crs:EPSG::32632". */
static int
of_name(const char *name, char **ret)
{
	enum { DIGITS_MAX = 6 };
	size_t len = strlen(name), n = 0;
	int64_t code = 0;
	while (n < len && name[len - n - 1] >= '0' && name[len - n - 1] <= '9')
		n++;
	if (!n || n > DIGITS_MAX || !strcasestr(name, "EPSG"))
		return ZMAP_ABSENT;
	for (const char *p = name + len - n; *p; p++)
		code = 10 * code + (*p - '0');
	return of_code(code, ret);
}

/* GDAL and PROJ take for WKT what has a bracket. */
static int
of_wkt(const char *text, char **ret)
{
	return text && strchr(text, '[') ? copy(text, ret) : ZMAP_ABSENT;
}

static const char *
text_of(const struct json *dict, const char *key)
{
	const struct json *v = dict ? json_get(dict, key) : NULL;
	size_t len;
	return v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
}

static int
of_projjson(const struct json *j, char **ret)
{
	const struct json *id = j ? json_get(j, "id") : NULL;
	const struct json *number = id ? json_get(id, "code") : NULL;
	const char *authority = text_of(id, "authority");
	int64_t code;
	if (!number || !authority || strcasecmp(authority, "EPSG") != 0 ||
		json_int(number, &code) < 0)
		return ZMAP_ABSENT;
	return of_code(code, ret);
}

/* Of a member of _CRS, or of an attribute that is JSON. */
static int
of_gdal(const struct json *crs, char **ret)
{
	const char *url = text_of(crs, "url");
	int r = of_wkt(text_of(crs, "wkt"), ret);
	if (r == ZMAP_ABSENT && url)
		r = of_name(url, ret);
	return r == ZMAP_ABSENT ? of_projjson(json_get(crs, "projjson"), ret) : r;
}

typedef int json_fn(const struct json *, char **ret);

/* What is no JSON is as if it were not there. */
static int
of_json(const char *text, json_fn *fn, char **ret)
{
	CLEAN(json_freep) struct json *doc = NULL;
	if (!text)
		return ZMAP_ABSENT;
	int r = json_parse(text, strlen(text), &doc);
	if (r < 0)
		return r == -ENOMEM ? r : ZMAP_ABSENT;
	return fn(doc, ret);
}

static int
of_number(const struct attr *a, char **ret)
{
	if (!a || a->count != 1 || !attr_is_number(a))
		return ZMAP_ABSENT;
	struct attr_number n = attr_number(a, 0);
	return n.real ? ZMAP_ABSENT : of_code(n.i, ret);
}

int
cf_crs_wkt(const struct attrs *as, char **ret)
{
	const char *code = attrs_text(as, "proj:code");
	int r = of_json(attrs_text(as, "_CRS"), of_gdal, ret);
	if (r == ZMAP_ABSENT)
		r = of_wkt(attrs_text(as, "proj:wkt2"), ret);
	if (r == ZMAP_ABSENT && code)
		r = of_name(code, ret);
	if (r == ZMAP_ABSENT)
		r = of_number(attrs_find(as, "proj:epsg"), ret);
	return r == ZMAP_ABSENT ? of_json(attrs_text(as, "proj:projjson"), of_projjson, ret) : r;
}

bool
cf_crs_mentioned(const struct node *n)
{
	static const char gdal[] = "\"_CRS\"", stac[] = "\"proj:";
	return n->attrs_text && (memmem(n->attrs_text, n->attrs_len, gdal, sizeof gdal - 1) ||
					memmem(n->attrs_text, n->attrs_len, stac, sizeof stac - 1));
}
