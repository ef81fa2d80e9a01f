/* What a model holds, as `ncdump -h` would say it: for tests, and to look at a store. Groups by
 * name; within a group, what NCZarr orders comes in that order. */
#pragma once

#include "model/model.h"

#include <stdio.h>
#include <string.h>

static inline const char *
dump_type(const struct node *n)
{
	static const char *const name[] = {"none", "byte", "char", "short", "int", "float",
		"double", "ubyte", "ushort", "uint", "int64", "uint64", "string"};
	static _Thread_local char other[64];
	enum nc_type t = n->array ? nc_type_of(&n->array->dtype) : NC_TYPE_NONE;
	if (t)
		return name[t];
	char *text = n->array ? dtype_text(&n->array->dtype) : NULL;
	snprintf(other, sizeof other, "%s", text ? text : "unknown");
	free(text);
	return other;
}

static inline void
dump_quoted(FILE *f, const char *s, size_t len)
{
	putc('"', f);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"' || s[i] == '\\')
			putc('\\', f);
		if (s[i] == '\n')
			fputs("\\n", f);
		else
			putc(s[i], f);
	}
	putc('"', f);
}

static inline void
dump_attrs(FILE *f, const struct node *n, const char *indent)
{
	struct attrs as;
	if (node_attrs(n, &as) < 0)
		return;
	for (size_t i = 0; i < as.count; i++) {
		const struct attr *a = &as.attr[i];
		fprintf(f, "%s%s%s:%s = ", indent, a->type == NC_TYPE_STRING ? "string " : "",
			n->kind == NODE_ARRAY ? n->name : "", a->name);
		char *text = attr_text(a);
		if (a->type == NC_TYPE_STRING)
			for (size_t k = 0; k < a->count; k++) {
				fputs(k ? ", " : "", f);
				dump_quoted(
					f, ((char **)a->data)[k], strlen(((char **)a->data)[k]));
			}
		else if (a->type == NC_TYPE_CHAR)
			dump_quoted(f, a->data, a->count);
		else
			fputs(text ? text : "", f);
		fputs(" ;\n", f);
		free(text);
	}
	for (size_t i = 0; i < as.nproblems; i++)
		fprintf(f, "%s// %s\n", indent, as.problem[i]);
	attrs_free(&as);
}

static inline void
dump_array(FILE *f, const struct node *n, const char *indent)
{
	const struct array_meta *a = n->array;
	fprintf(f, "%s%s %s", indent, dump_type(n), n->name);
	for (unsigned i = 0; a && i < a->rank; i++) {
		fprintf(f, "%s", i ? ", " : "(");
		if (a->dim[i].name)
			fprintf(f, "%s", a->dim[i].name);
		else
			fprintf(f, "_Anonymous_Dim_%llu", (unsigned long long)a->dim[i].size);
	}
	fprintf(f, "%s ;%s%s\n", a && a->rank ? ")" : "", n->error ? " // " : "",
		n->error ? n->error : "");
	char deeper[80];
	snprintf(deeper, sizeof deeper, "%.60s  ", indent);
	dump_attrs(f, n, deeper);
}

struct dump {
	struct model *model;
	FILE *file;
	const char *path;
	unsigned depth;
	enum node_kind want; /* which children; groups with all that is in them */
};

static inline void dump_group(struct model *m, FILE *f, const char *path, unsigned depth);

static inline void
dump_child(struct dump *d, const char *name)
{
	char path[4200], indent[64];
	snprintf(path, sizeof path, "%s%s%s", d->path, *d->path ? "/" : "", name);
	snprintf(indent, sizeof indent, "%*s", 2 * (int)d->depth, "");
	struct node *n = NULL;
	int r = model_lookup(d->model, path, &n);
	bool array = n && n->kind == NODE_ARRAY;
	if (r != 0 && d->want == NODE_ARRAY)
		fprintf(d->file, "%s// %s: %s\n", indent, name, r < 0 ? err_text() : "absent");
	if (array && d->want == NODE_ARRAY)
		dump_array(d->file, n, indent);
	if (n && !array && d->want != NODE_ARRAY && n->kind != NODE_OBJECT) {
		fprintf(d->file, "%sgroup: %s {%s%s\n", indent, name, n->error ? " // " : "",
			n->error ? n->error : "");
		dump_group(d->model, d->file, path, d->depth + 1);
		fprintf(d->file, "%s}\n", indent);
	}
	if (n && n->kind == NODE_OBJECT && d->want != NODE_ARRAY)
		fprintf(d->file, "%s// object %s, %llu bytes\n", indent, name,
			(unsigned long long)n->size);
	node_unref(n);
}

static inline int
dump_listed(const struct model_child *c, void *arg)
{
	dump_child(arg, c->name);
	return 0;
}

/* Children that NCZarr gives an order, else those that are listed. */
static inline void
dump_children(struct dump *d, const struct node *n)
{
	if (n->group && n->group->norder) {
		for (size_t i = 0; i < n->group->norder; i++)
			dump_child(d, n->group->order[i]);
		return;
	}
	int r = model_children(d->model, d->path, dump_listed, d);
	if (r < 0)
		fprintf(d->file, "// %s\n", err_text());
}

static inline void
dump_group(struct model *m, FILE *f, const char *path, unsigned depth)
{
	struct node *n = NULL;
	char indent[64];
	snprintf(indent, sizeof indent, "%*s", 2 * (int)depth, "");
	int r = model_lookup(m, path, &n);
	if (r) {
		fprintf(f, "%s// %s\n", indent, r < 0 ? err_text() : "absent");
		return;
	}
	if (n->kind == NODE_ARRAY) {
		dump_array(f, n, indent);
		node_unref(n);
		return;
	}
	for (size_t i = 0; n->group && i < n->group->ndims; i++) {
		const struct dim *d = &n->group->dim[i];
		fprintf(f, "%sdim %s = %llu%s ;\n", indent, d->name, (unsigned long long)d->size,
			d->unlimited ? " unlimited" : "");
	}
	struct dump d = {m, f, path, depth, NODE_ARRAY};
	if (depth < 100)
		dump_children(&d, n);
	dump_attrs(f, n, indent);
	d.want = NODE_GROUP;
	if (depth < 100)
		dump_children(&d, n);
	node_unref(n);
}
