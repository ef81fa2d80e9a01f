/* The words of CDL, the notation of ncdump and ncgen. */
#pragma once

#include "base/buf.h"
#include "model/attr.h"

/* A name that nc_name() made, as CDL writes it: backslashes before what is no letter. What CDL has
 * no form for (its own words, '?') is escaped as `_xHH_`. */
int cdl_name(const char *name, struct buf *ret);
/* The same of an attribute; in_variable: `_FillValue` is one there, and nowhere else. */
int cdl_attr_name(const char *name, bool in_variable, struct buf *ret);
/* Text in quotes. */
int cdl_quoted(const char *text, size_t len, struct buf *ret);
/* Values as they stand behind '='. ZMAP_ABSENT: there are none, and CDL has no form for that. */
int cdl_values(const struct attr *, struct buf *ret);
/* Text for a comment: on one line. */
int cdl_comment(const char *text, struct buf *ret);
/* "ubyte"; of NC_TYPE_NONE "". */
const char *cdl_type_name(enum nc_type);
