/* Making nodes: only model/ does that. A node under construction belongs to one thread; once it is
 * shown to others nothing in it changes. */
#pragma once

#include "model/model.h"

/* Bytes that several nodes share: a metadata object. Counted; immutable once shared. */
struct text {
	atomic_uint refs;
	struct buf bytes;
};

/* Takes the bytes over. */
int text_new(struct buf *bytes, struct text **ret);
struct text *text_ref(struct text *);
struct text *text_unref(struct text *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct text, text_unref)

/* Where the attributes of a node lie, and what their types are. */
struct attr_context {
	struct text *attrs; /* owns attrs_text */
	struct text *types; /* V1: the object that names the types; else NULL, they are among the
			       attributes */
	const char *types_text;
	size_t types_len;
	bool pure; /* recorded types do not count */
};

int node_new(enum node_kind, const char *path, struct node **ret);
/* The node cannot be read, for the reason that err_text() gives. The first reason stays. 0 or
 * -ENOMEM. */
int node_mark(struct node *, int code);
/* Roughly what the node takes. */
size_t node_bytes(const struct node *);
/* A holder of `old` would see nothing else in `new`. */
bool node_same(const struct node *old, const struct node *new);
void array_meta_free(struct array_meta *);
/* Sets array->layout. */
int array_fingerprint(struct array_meta *);
