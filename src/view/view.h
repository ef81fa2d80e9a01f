/* Files as spans: what a virtual file consists of, and reading any part of it.
 *
 * A view lays a node out as a list of spans {length, source, conversion}; everything else (reading
 * across spans, partial elements, sizes) is here, once. A layout is immutable, counted, and has a
 * version: two layouts of one path with different versions never share kernel pages. */
#pragma once

#include "data/array.h"
#include "view/convert.h"

enum span_form { SPAN_AS_STORED, SPAN_SWAPPED, SPAN_CONVERTED };

struct variable;

/* Makes bytes [want->off, want->off + want->len) of a span, all of them, and adds them, or says why
 * not. What waits long for its turn takes room for them afterwards. elements: a place in the span's
 * variable; NULL where it has none. Any thread, several at once. */
struct made_ops {
	int (*make)(
		void *arg, struct stream *elements, const struct array_want *want, struct buf *to);
	void (*free)(void *arg); /* NULL: nothing to free */
};

struct layout_span {
	uint64_t start, length; /* bytes in the file; of what repeats: in the first record, counted
				   from its beginning */
	struct variable *variable; /* its elements from the first; NULL: text */
	enum span_form form;
	struct dtype *swap;          /* SPAN_SWAPPED: what to swap, see byte_order.h; owned */
	struct convert *convert;     /* SPAN_CONVERTED; owned */
	struct buf text;             /* length bytes; none and no variable: zeros */
	const struct made_ops *made; /* NULL: none of its bytes are made when they are read */
	void *made_arg;
};

struct layout {
	atomic_uint refs;
	uint64_t size, version;
	struct layout_span *span;
	size_t nspans;
	size_t fixed; /* spans before those that repeat */
	uint64_t record_start, record_size, records;
	bool record_refuses;  /* there are elements in records that are refused */
	uint64_t element_max; /* bytes of the largest element that is made */
	/* Readers take so many bytes at a time (libnetcdf fewer, CDO four times as many), and show
	 * zeros or worse for what a read() lacks of them; and the kernel hands out the pages before
	 * one that cannot be read. So what is kept in pages is given in four such blocks at a time,
	 * or not at all, and where less than one is asked for in 8 KiB; small variables whole, if
	 * they may fail because they have elements that are refused or because a read has failed.
	 * 0: not so. */
	uint64_t block;
	/* libnetcdf takes what a read() of it lacks for zeros; libhdf5 asks for the rest, and has
	 * blocks from the first failure on. */
	bool classic;
	/* Is it read past the kernel's pages where it can be? A read() then is whole or fails, and
	 * no byte of a large one is copied twice. */
	bool direct;
};

/* Empty; spans are added in file order by the one thread that makes it, before any reader. */
int layout_new(uint64_t version, struct layout **ret);
/* Takes over the reference to the variable, also when it fails. swap NULL: bytes as they are
 * stored; else copied. */
int layout_add_variable(struct layout *, struct variable *, const struct dtype *swap);
/* The variable's elements as convert makes them, the next `length` bytes of them; behind
 * layout_begin_records so many a record. Takes over the reference and convert, also when it
 * fails. */
int layout_add_converted(
	struct layout *, struct variable *, struct convert *convert, uint64_t length);
/* The spans that are added from now on repeat n times, all of them each time. Once. */
void layout_begin_records(struct layout *, uint64_t n);
int layout_add_text(struct layout *, struct span text);
/* Takes the bytes over. */
int layout_take_text(struct layout *, struct buf *text);
int layout_add_zeros(struct layout *, uint64_t length);
/* Bytes made when they are read. Takes over arg and the reference to the variable (which may be
 * NULL), also when it fails. */
int layout_add_made(
	struct layout *, const struct made_ops *, void *arg, struct variable *, uint64_t length);
/* All spans are there: gives back what was for more of them. */
void layout_end(struct layout *);
/* Byte off of the file, which is below the layout's size: its span, where in the span's bytes (of
 * all records, one after the other), and how many follow there. */
size_t layout_locate(const struct layout *, uint64_t off, uint64_t *ret_in, uint64_t *ret_left);
size_t layout_bytes(
	const struct layout *); /* of memory, roughly; open arrays are counted by themselves */
struct layout *layout_ref(struct layout *);
struct layout *layout_unref(struct layout *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct layout, layout_unref)

struct node;
struct mount;

/* Words of -o list=, which say what a directory lists. */
enum list_word {
	LIST_FLAT = 1,
	LIST_NC = 2,
	LIST_CSV = 4,
	LIST_NPY = 8,
	LIST_CDL = 16,
	LIST_DATASET = 32,
	LIST_NC4 = 64,
	LIST_PNG = 128,
};

/* The size of a file that cannot be read and whose own size is not known: tar opens no empty file,
 * and would not see that it fails. */
enum { SIZE_OF_UNREADABLE = 1 };

/* What a file of a view is, known without touching data. */
struct view_facts {
	uint64_t size;
	uint64_t version; /* changes whenever bytes of the same file could mean something else */
	int64_t mtime;    /* ns: the newest of what it is made of besides its own node; 0: nothing
			     else */
};

struct view_ops {
	const char *suffix; /* of a variable's file: "" the flat file, ".nc", …; of a group's: its
			       whole name, "dataset.nc" */
	bool of_group;      /* a file of each group; else of each variable */
	bool data_only;     /* listed for data variables only: model/cf.h says which are not */
	bool netcdf;        /* its layouts have blocks */
	enum list_word list; /* the word that lists it; 0: opens by name only */
	/* The node of a group's file is the group; where the store is a single array, that array,
	 * as the only variable of a group.
	 *
	 * Has the node such a file? From metadata alone; asked once for each version of a group.
	 * NULL: every variable (group) has. */
	bool (*applies)(struct mount *, const struct node *);
	/* There are files of parts of a variable too, NAME + part + suffix, as ".12" of
	 * "t2m.12.png". Does the node have this part, of len bytes? NULL: there are none. */
	bool (*has_part)(const struct node *, const char *part, size_t len);
	/* Opens nothing. NULL: only laying it out says that, and so layouts are kept, see
	 * view/layouts.h. path: of the file. */
	int (*measure)(
		struct mount *, const struct node *, const char *path, struct view_facts *ret);
	/* 0; -errno. Where measure is NULL also ZMAP_ABSENT: there is no such file; -EFBIG: there
	 * is one, which cannot be opened. */
	int (*lay_out)(struct mount *, const struct node *, const char *path, struct layout **ret);
	/* With measure: a view that has a layout, of the same variables beside the node's. NULL:
	 * this one shows none. */
	const struct view_ops *beside;
};

extern const struct view_ops view_flat; /* VAR */
extern const struct view_ops view_nc;   /* VAR.nc, with its coordinate variables */
extern const struct view_ops
	*const view_table[]; /* generated: those of this build, as a mount has them */

/* One reader of a layout; may be used by many threads at once. */
struct view_reader;
int view_reader_new(struct layout *, struct view_reader **ret); /* takes a reference */
struct view_reader *view_reader_free(struct view_reader *);
/* ret is empty before. Past the end: a shorter or empty reply. What ret points to lives until
 * reply_done, or the reader's end. */
int view_read(struct view_reader *, const struct array_want *, struct reply *ret);
/* Before the first read: what the reads give stays in pages, so that all of a layout's blocks are
 * given whole. */
void view_guard(struct view_reader *);
/* Has a guarded one given less than a block, around which no byte was looked at? A program that
 * takes more at a time must not find that in pages. */
bool view_islands(struct view_reader *);
bool view_move(struct view_reader *, struct array_move *); /* see file_move */
