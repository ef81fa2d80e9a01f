/* A text in CDL while it is written. One thread's. */
#pragma once

#include "base/buf.h"

struct attrs;
struct cdl_variable;
struct mount;
struct node;

struct cdl_writer {
	struct mount *mount;
	struct buf *to;
	int64_t mtime;
	unsigned depth;
	size_t skip; /* bytes of paths before the top of the hierarchy */
};

/* -EFBIG: the text becomes too long. */
int cdl_put(struct cdl_writer *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A new line of this group, with so many tabs. */
int cdl_indent(struct cdl_writer *, unsigned tabs);
int cdl_heading(struct cdl_writer *, const char *text);
/* owner: what stands before the colon, as CDL writes it; "" for a group's. */
int cdl_attrs(struct cdl_writer *, const char *owner, const struct attrs *);
/* Those of a variable, or of a group, as a netCDF file has them. */
int cdl_variable_attrs(struct cdl_writer *, const char *owner, const struct cdl_variable *);
int cdl_group_attrs(struct cdl_writer *, const struct node *);
