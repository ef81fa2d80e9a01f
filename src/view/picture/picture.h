/* The inside of VAR.png: what a picture shows of an array and how large it is, by metadata alone
 * (picture_plan.c); what its numbers mean (picture_meaning.c); the numbers (picture_values.c); the
 * drawing (picture_draw.c, picture_curve.c, picture_caption.c, picture_axes.c). Only these and
 * picture.c, the view, include it. */
#pragma once

#include "view/picture/canvas.h"
#include "view/text/csv_axis.h"
#include "view/picture/png.h"

struct mount;
struct node;

enum picture_kind { PICTURE_CURVE, PICTURE_MAP, PICTURE_PHOTO };

/* A direction in which elements are shown. */
struct picture_side {
	unsigned dim;
	uint64_t size, chunk;   /* elements; 1 of a curve's rows, which belong to no dimension */
	uint64_t stride, shown; /* every so manyth, so many */
	unsigned zoom;          /* pixels of each */
};

enum { PICTURE_ROWS, PICTURE_COLUMNS, PICTURE_SIDES };

struct picture {
	struct mount *mount;
	struct node *node; /* borrowed, unless picture.c says otherwise */
	enum picture_kind kind;
	unsigned leading; /* dimensions of which one index is shown */
	uint64_t index[RANK_MAX];
	struct picture_side side[PICTURE_SIDES];
	unsigned elements;    /* of a photo's pixel; else 1 */
	uint64_t chunks_most; /* that may be read … */
	bool coarser;         /* … for which strides are larger than the size wants */
	struct png png;       /* without its palette */
	uint32_t map_width, map_height;
	int scale;     /* pixels of a font's pixel */
	uint64_t size; /* bytes of the file */
};

/* Has the node pictures at all? */
bool picture_shows(const struct node *);
/* Is there such a file, as ".12.0"? */
bool picture_has_part(const struct node *, const char *part, size_t len);
/* The one that a file of this path has. 0; -EFBIG: too much would have to be read. */
int picture_plan(struct mount *, const struct node *, const char *path, struct picture *ret);
/* Pixels below a map or a curve. */
int picture_caption_height(const struct picture *);

/* What attributes say of the numbers. */
struct picture_meaning {
	char *title;
	char *units;     /* NULL: none */
	double *missing; /* elements that mean there is none, as they are stored */
	size_t nmissing;
	bool without_sign; /* though the type has one */
	double factor, offset;
	bool is_time;
	struct cf_time time;
	double *flag; /* as they are stored */
	size_t nflags;
	char **flag_name; /* nflags of them, or NULL */
	bool image;       /* of a microscope: grey */
	bool window;      /* from low to high */
	double low, high;
};

/* 0 or -errno. */
int picture_meaning(const struct picture *, struct picture_meaning *ret);
void picture_meaning_free(struct picture_meaning *);

/* What is shown, rows * columns elements of item bytes as they are stored (of photos: pixels), in
 * one piece. Caller frees. */
int picture_elements(
	const struct picture *, struct stream *, const struct array_want *want, uint8_t **ret);
/* The same as numbers; NaN is missing. unpacked: times factor, plus offset. Caller frees. */
int picture_numbers(const struct picture *, const struct picture_meaning *, const uint8_t *elements,
	bool unpacked, double **ret);
/* Those that are finite, counted from 0 in their order: what lies at `part` of the way through
 * them. *ret stays where there are none. */
void picture_quantile(const double *v, size_t n, double part, double *ret);

/* Coordinates of an array, for words and directions. */
struct picture_axes {
	struct axis *axis;
	unsigned rank;
};

int picture_axes_new(const struct picture *, struct picture_axes *ret);
void picture_axes_free(struct picture_axes *);
/* They are wanted soon: a far store is asked for their first chunks while it is asked for other
 * things. */
void picture_axes_expect(const struct picture *, const struct picture_axes *);
/* The coordinate's text at an index, "" where there is none or it is missing; it reads the one
 * chunk. The axis is open. */
int picture_coordinate(
	const struct axis *, uint64_t index, const struct array_want *want, struct buf *ret);
/* Does the coordinate of the rows go north: a latitude, or a projection's y? */
bool picture_points_north(const struct axis *);

/* Which colours numbers have. */
struct picture_colours {
	enum colours how;
	bool any; /* there are numbers */
	double low, high;
};

/* All of it, as a file. */
int picture_draw(const struct picture *, const struct picture_axes *, struct stream *,
	const struct array_want *want, struct buf *ret);
int picture_curve(const struct picture *, const struct picture_axes *,
	const struct picture_meaning *, const double *numbers, const struct array_want *want,
	struct canvas *);
int picture_caption(const struct picture *, const struct picture_axes *,
	const struct picture_meaning *, const struct picture_colours *,
	const struct array_want *want, struct canvas *);
/* Steps of 1, 2 or 5 times a power of ten, no more than n between low and high. */
double picture_step(double low, double high, int n);
enum { PICTURE_LABEL = 40 };
/* A number that is a multiple of step, or any where step is 0. */
void picture_label(const struct picture_meaning *, double v, double step, char ret[PICTURE_LABEL]);
