/* NGFF images (OME-Zarr 0.4 and 0.5; names of axes also 0.3): what a group's `multiscales` say of
 * the arrays in it, which are one image in several sizes: how their dimensions are called, and
 * where their elements lie along them. */
#pragma once

#include "base/json.h"

struct array_meta;
struct ngff;
struct dim_scope;

/* attrs: of a group. *ret NULL: it is no image, or not described as one should be. -ENOMEM. */
int ngff_parse(const struct json *attrs, struct ngff **ret);
struct ngff *ngff_free(struct ngff *); /* NULL is allowed; returns NULL */
/* Dimensions without a name get that of their axis, where a group above says that the array at
 * `path` is of an image; and those that have the axis' name their place. */
int ngff_apply(const struct dim_scope *, const char *path, struct array_meta *);
