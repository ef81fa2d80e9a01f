/* What netcdf.c says of its views to what writes into their files (view/image*.c). */
#pragma once

struct nc_want;
struct view_ops;

/* What the file of such a view is to be; NULL: it is no view of netCDF files. */
const struct nc_want *netcdf_want(const struct view_ops *);
/* The view that shows what a group holds to what adds to it. */
const struct view_ops *netcdf_new_view(void);
