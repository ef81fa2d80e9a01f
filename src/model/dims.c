/* What dimensions are called. */
#include "model/dims.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *
dim_name(const struct dim *d, char room[DIM_NAME_ROOM])
{
	if (d->name)
		return d->name;
	snprintf(room, DIM_NAME_ROOM, "_Anonymous_Dim_%" PRIu64, d->size);
	return room;
}

void
dim_names_free(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static const char *
plain_name(const struct dim *d, bool full, char room[DIM_NAME_ROOM])
{
	return full && d->fqn ? d->fqn : dim_name(d, room);
}

/* The first of the array's dimensions with that name; they are at most RANK_MAX. */
static unsigned
first_of(const struct array_meta *a, bool full, const char *name)
{
	char room[DIM_NAME_ROOM];
	unsigned i = 0;
	while (i < a->rank && strcmp(plain_name(&a->dim[i], full, room), name) != 0)
		i++;
	return i;
}

/* Is it the name of a dimension, or of one before k as they are called here? */
static bool
is_taken(const struct array_meta *a, bool full, char *const *made, const char *name)
{
	bool taken = first_of(a, full, name) < a->rank;
	for (unsigned i = 0; made[i] && !taken; i++)
		taken = strcmp(made[i], name) == 0;
	return taken;
}

/* "_5" of size 5 where the first of that name has another size, "_2" of the second of a name and
 * size, "_5_2" of both. */
static void
suffix_of(const struct array_meta *a, bool full, unsigned k, const char *name, char ret[64])
{
	char room[DIM_NAME_ROOM];
	unsigned turn = 1;
	uint64_t size = a->dim[k].size;
	int n = 0;
	if (a->dim[first_of(a, full, name)].size != size)
		n = snprintf(ret, 32, "_%" PRIu64, size);
	for (unsigned i = 0; i < k; i++)
		turn += a->dim[i].size == size &&
			strcmp(plain_name(&a->dim[i], full, room), name) == 0;
	ret[n] = 0;
	if (turn > 1)
		snprintf(ret + n, 32, "_%u", turn);
}

static char *
make_name(const struct array_meta *a, bool full, unsigned k, char *const *made)
{
	char room[DIM_NAME_ROOM], more[64];
	const char *name = plain_name(&a->dim[k], full, room);
	char *text = NULL;
	if (first_of(a, full, name) == k)
		return strdup(name);
	suffix_of(a, full, k, name, more);
	if (asprintf(&text, "%s%s", name, more) < 0)
		return NULL;
	for (unsigned n = 2; is_taken(a, full, made, text); n++) {
		free(text);
		if (asprintf(&text, "%s%s_%u", name, more, n) < 0)
			return NULL;
	}
	return text;
}

int
dim_names(const struct array_meta *a, bool full, char ***ret)
{
	char **names = calloc(a->rank + 1, sizeof *names);
	for (unsigned i = 0; names && i < a->rank; i++)
		if (!(names[i] = make_name(a, full, i, names))) {
			dim_names_free(names);
			names = NULL;
		}
	if (!names)
		return err_set(-ENOMEM, "no memory for names");
	*ret = names;
	return 0;
}
