/* What dimensions are called: no name twice in one array. */
#include "check.h"

#include "model/dims.h"

struct row {
	const char *dims;  /* names with a size behind each; "-" has no name */
	const char *plain; /* what they are called */
	const char *full;  /* by full names; NULL: the same */
};

static const struct row rows[] = {
	{"", "", NULL},
	{"t 4 y 2 x 2", "t, y, x", NULL},
	{"- 4 - 2", "_Anonymous_Dim_4, _Anonymous_Dim_2", NULL},
	{"- 64 - 64", "_Anonymous_Dim_64, _Anonymous_Dim_64_2", NULL},
	{"- 6 - 4 - 6 - 6",
		"_Anonymous_Dim_6, _Anonymous_Dim_4, _Anonymous_Dim_6_2, _Anonymous_Dim_6_3", NULL},
	{"_Anonymous_Dim_6 6 - 6", "_Anonymous_Dim_6, _Anonymous_Dim_6_2", NULL},
	{"- 6 _Anonymous_Dim_6_2 3 - 6",
		"_Anonymous_Dim_6, _Anonymous_Dim_6_2, _Anonymous_Dim_6_2_2", NULL},
	{"x 5 x 5", "x, x_2", NULL},
	{"x 5 x 5 x_2 5", "x, x_2_2, x_2", NULL},
	{"x 4 x 5", "x, x_5", NULL},
	{"x 4 x 5 x 4 x 5", "x, x_5, x_2, x_5_2", NULL},
	{"x 4 x_5 7 x 5", "x, x_5, x_5_2", NULL},
	{"/x 4 /x 4 /g/x 4", "x, x_2, x_3", "/x, /x_2, /g/x"},
};

static unsigned
read_dims(char *text, struct dim *d)
{
	unsigned n = 0;
	for (char *p = strtok(text, " "); p; p = strtok(NULL, " ")) {
		char *slash = strrchr(p, '/');
		d[n++] = (struct dim){
			.name = strcmp(p, "-") == 0 ? NULL
				: slash             ? slash + 1
						    : p,
			.fqn = slash ? p : NULL,
			.size = strtoull(strtok(NULL, " "), NULL, 10),
		};
	}
	return n;
}

static void
check_names(const struct array_meta *a, bool full, const char *want)
{
	char **names = NULL, got[256] = "";
	CHECK_INT(dim_names(a, full, &names), 0);
	for (unsigned i = 0; names && names[i]; i++) {
		strcat(got, i ? ", " : "");
		strcat(got, names[i]);
	}
	CHECK_STR(got, want);
	dim_names_free(names);
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct dim d[8];
		char text[128];
		snprintf(text, sizeof text, "%s", rows[i].dims);
		const struct array_meta a = {.rank = read_dims(text, d), .dim = d};
		check_names(&a, false, rows[i].plain);
		check_names(&a, true, rows[i].full ? rows[i].full : rows[i].plain);
	}
	return check_end();
}
