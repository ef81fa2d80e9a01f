/* What dimensions are called in all that shows them: those without a name as netcdf-c 4.9.3 and
 * later call them, and no name twice in one array, for tools that take a name for the dimension
 * read a square as its diagonal. Any thread. */
#pragma once

#include "model/model.h"

enum { DIM_NAME_ROOM = 48 };

/* "x", or "_Anonymous_Dim_64" of what has no name, in room. */
const char *dim_name(const struct dim *, char room[DIM_NAME_ROOM]);

/* Names of an array's dimensions where it is shown alone, rank of them and a NULL: the second of
 * one name is "x_2", or "x_5" where its size is another one, 5. full: full names, where NCZarr says
 * which. Caller frees. */
int dim_names(const struct array_meta *, bool full, char ***ret);
void dim_names_free(char **names);
CLEAN_DEFINE(char *, dim_names_free)
