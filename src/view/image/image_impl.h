/* The inside of an image, for image.c (what waits), image_page.c (what comes
 * from mappings), image_through.c and image_values.c (what goes
 * to variables at once, and under a new header). No other file includes it. */
#pragma once

#include "view/image/image.h"
#include "view/image/held.h"
#include "view/image/nc4_input.h"
#include "view/image/viewed.h"
#include "view/image/spill.h"
#include "view/image/turn.h"

struct image {
	struct image_start start;
	struct turn turn;        /* of the call that is under way: all below is its own */
	struct image_form *form; /* beneath what was written, and what is compared with */
	uint64_t cut;            /* bytes of that which still show */
	unsigned cuts;           /* how often it was made longer or shorter by itself */
	struct held over;        /* what was written before its end, … */
	uint64_t end;            /* … which was there when nothing waited */
	struct spill tail;       /* what lies behind that: records and variables that come */
	struct spill *instead; /* all of its bytes, where they replace what it showed; else NULL */
	struct spill own;      /* what that is, unless the handle that began the image has it */
	struct nc4_input
		*input; /* while that is settled, if it is a netCDF-4 file: what it holds */
	struct image_form *input_form; /* as the classic file that it would be; borrowed */
	_Atomic(uint64_t) size;
	atomic_bool waiting;
	struct viewed *seen;     /* of its handles that have seen something */
	struct image_flow *flow; /* NULL: what waits is in memory and temporary files */
	atomic_bool flows;       /* there is one: read without a turn */
	bool flowed;             /* it was tried */
	bool header_due; /* it was cut: what there is was written for a header that may not be there
			    yet */
};

/* While bytes of new variables go to them as they come, the form is that of the new header, and all
 * bytes up to im->size have come. */
struct image_flow {
	struct change change;
	struct image_form *was; /* what the change is from; NULL: nothing */
};

enum { IMAGE_MUST_WAIT = 1 };

/* As image_flow, but for its turn. */
int image_flow_begin(struct image *, const struct array_want *how);
/* IMAGE_MUST_WAIT: nothing flows any more, and these bytes are to be held. */
int image_flow_write(struct image *, uint64_t off, struct span, const struct array_want *how);
int image_flow_end(struct image *, const struct array_want *how); /* as image_flow_back */
/* The arrays are made. -EINVAL: the file is shorter than its header says. */
int image_flow_settle(struct image *, const struct array_want *how);
void image_flow_drop(struct image *); /* with all that came */
/* What was written of the form's new variables goes. Returns code. */
int image_undo(struct image *, const struct image_form *now, int code);
/* Bytes of variables, and of gaps, that nothing is compared with. IMAGE_MUST_WAIT: they change the
 * header, and nothing was done. */
int image_blind(struct image *, uint64_t off, struct span, const struct array_want *how);
/* What the variable that the file is for has become. */
size_t image_own_of(const struct change *, size_t own);

/* Bytes of the file, all of which there are. */
int image_content(struct image *, const struct array_want *want, uint8_t *to);
/* What is held of the header and of variables goes: the form shows that. As many steps as pieces
 * of it are held, of perhaps a thousand million records. */
void image_forget(struct image *, const struct image_form *);
/* As image_write, but for its turn and for what is noted of it. image_try: only if the bytes need
 * not be held; else IMAGE_MUST_WAIT. */
int image_try(struct image *, uint64_t off, struct span, const struct viewed *,
	const struct array_want *how);
int image_put(struct image *, uint64_t off, struct span, const struct viewed *,
	const struct array_want *how);
/* A write below the end while nothing waits: stored as far as it is data that the handle has not
 * seen there. IMAGE_MUST_WAIT: it changes the header, and nothing was done. */
int image_through(struct image *, uint64_t off, struct span, const struct viewed *,
	const struct array_want *how);
/* Atoms of which only a part was written: they become what they are now. */
int image_parts(struct image *, const struct array_want *how);
/* Says that the variable's values are places along an axis, which are not written. -EINVAL. */
int image_refuse_axis(const struct image_form *, size_t var);
/* Values of the file that differ from what its variables have; write: they are stored, else only
 * looked at whether they can be. */
int image_values(struct image *, const struct change *, const struct array_want *how, bool write);
