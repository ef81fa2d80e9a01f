/* The few structures of HDF5 that a netCDF-4 file is made of, as bytes: superblock 2, object header
 * 2, global heap, B-tree 1, all little-endian. Nothing here knows netCDF. One thread's.
 *
 * The format: https://docs.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html (version 3.0), whose
 * sections are named below. */
#pragma once

#include "base/buf.h"

static const uint64_t H5_UNDEFINED = UINT64_MAX; /* an address that there is none of */

enum { H5_MESSAGE_MAX = 65535, /* bytes of a message's body */ H5_SUPERBLOCK_SIZE = 48 };

/* Bytes on their way into a file, from its first one. An error stays, and nothing is written any
 * more. */
struct h5 {
	struct buf to;
	struct buf heap;        /* collections of the global heap, which come to lie together */
	uint64_t heap_at;       /* where they will */
	size_t collection;      /* in heap: where the last one begins */
	unsigned objects;       /* in it */
	size_t object, message; /* in to: where the one begins that is being written */
	bool draft;             /* addresses are not known yet: checksums are left out */
	int error;
};

void h5_done(struct h5 *);
void h5_put(struct h5 *, const void *data, size_t n);
void h5_number(struct h5 *, uint64_t v, unsigned bytes);
void h5_zeros(struct h5 *, uint64_t n);
/* Zeros up to a multiple of 8; returns where that is. */
uint64_t h5_align(struct h5 *);

/* II.A, version 2. Comes first. */
void h5_superblock(struct h5 *, uint64_t file_size, uint64_t root);

/* IV.A.1.b: an object header that tracks the order in which attributes are made, in one block.
 * Returns its address. */
uint64_t h5_begin_object(struct h5 *);
void h5_end_object(struct h5 *);

/* IV.A.2. */
enum h5_message {
	H5_DATASPACE = 0x01,
	H5_LINK_INFO = 0x02,
	H5_DATATYPE = 0x03,
	H5_FILL_VALUE = 0x05,
	H5_LINK = 0x06,
	H5_LAYOUT = 0x08,
	H5_GROUP_INFO = 0x0a,
	H5_ATTRIBUTE = 0x0c,
	H5_ATTRIBUTE_INFO = 0x15,
};
/* order: of an attribute, else 0. */
void h5_begin_message(struct h5 *, enum h5_message, unsigned order);
/* -EFBIG: it is too long. */
void h5_end_message(struct h5 *);

/* IV.A.2.d. */
enum h5_class {
	H5_INTEGER,
	H5_REAL,           /* IEEE 754, 4 or 8 bytes */
	H5_TEXT,           /* of fixed length, zeros behind shorter ones; UTF-8 */
	H5_NAME,           /* of fixed length with a NUL; ASCII */
	H5_LONG_TEXT,      /* in the heap; UTF-8 */
	H5_REFERENCE,      /* to an object */
	H5_REFERENCES,     /* a list of those, in the heap */
	H5_BACK_REFERENCE, /* to a dataset, and by which of its dimensions */
};
struct h5_type {
	enum h5_class class;
	uint32_t size;
	bool has_sign, big;
};
void h5_type(struct h5 *, const struct h5_type *);

/* IV.A.2.b. rank 0: one element. most: largest sizes, H5_UNDEFINED: no limit; NULL: as they are. */
void h5_space(struct h5 *, unsigned rank, const uint64_t *size, const uint64_t *most);

struct h5_attr {
	const char *name;
	struct h5_type type;
	bool scalar;
	uint64_t count; /* elements, of which there may be none */
	struct span data;
};
/* IV.A.2.m, version 3. */
void h5_attribute(struct h5 *, unsigned order, const struct h5_attr *);
/* The same without its data, which are put behind it before the message ends. */
void h5_begin_attribute(struct h5 *, unsigned order, const struct h5_attr *);
/* IV.A.2.v: nothing is kept elsewhere. */
void h5_attribute_info(struct h5 *, unsigned count);
/* IV.A.2.c, IV.A.2.k, for a group that keeps its links as messages. */
void h5_group_info(struct h5 *, uint64_t links);
/* IV.A.2.g: a hard link. */
void h5_link(struct h5 *, uint64_t order, const char *name, uint64_t at);
/* IV.A.2.f. stored: space for all data is there. value: an element, NULL data: none is said. */
void h5_fill(struct h5 *, bool stored, struct span value);
/* IV.A.2.i, version 3, contiguous. */
void h5_contiguous(struct h5 *, uint64_t at, uint64_t size);
/* The same, in chunks: rank sizes, and bytes of an element. */
void h5_chunked(struct h5 *, uint64_t tree, unsigned rank, const uint64_t *chunk, uint32_t element);

/* III.E: an object of the global heap. */
struct h5_object {
	uint64_t collection;
	uint32_t index;
};
struct h5_object h5_heap_add(struct h5 *, const void *data, size_t n);
/* An element that consists of what the object holds, n of it. */
void h5_put_object(struct h5 *, uint32_t n, const struct h5_object *);
/* All objects are there: puts the heap behind the rest. */
void h5_end_heap(struct h5 *);

/* Chunks that lie one after another from `at`, each as many rows of the first dimension as the
 * others. */
struct h5_chunks {
	uint64_t at, count, rows;
	uint32_t bytes; /* of one */
	unsigned rank;
};
/* III.A.1: a tree over them. Returns its address. */
uint64_t h5_tree(struct h5 *, const struct h5_chunks *);
