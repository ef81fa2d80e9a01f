/* Coordinate reference systems that a store states otherwise than CF does: GDAL's attribute `_CRS`,
 * and the projection extension of STAC
 * (`proj:wkt2`, `proj:projjson`, `proj:code`, `proj:epsg`). Any thread. */
#pragma once

#include "model/node.h"

/* A search of the text only: false is certain. */
bool cf_crs_mentioned(const struct node *);
/* As WKT: what the store says, or what its code of WGS 84, its UTM zones or Web Mercator stands
 * for. 0 and a text that the caller frees; ZMAP_ABSENT: there is none, or only a code of another;
 * -ENOMEM. */
int cf_crs_wkt(const struct attrs *, char **ret);
