#include "model/meta.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
metas_done(struct metas *m)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		text_unref(m->of[k].owner);
	*m = (struct metas){0};
}

/* The documents of a node, parsed, for as long as it is made. */
struct parsed {
	struct json *doc[META_KINDS];
	uint64_t hash;
};

static void
parsed_done(struct parsed *p)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		json_freep(&p->doc[k]);
}

/* Takes document k in. -EINVAL: it is no JSON dict; its bytes count for the version all the
 * same. */
static int
parse(const struct metas *m, enum meta_kind k, struct parsed *p)
{
	const struct meta *meta = &m->of[k];
	if (!meta->data)
		return 0;
	CLEAN(json_freep) struct json *doc = NULL;
	int r = json_parse(meta->data, meta->len, &doc);
	if (r == 0 && json_type(doc) != JSON_TYPE_DICT)
		r = err_set(-EINVAL, "%s instead of a dict", json_type_name(doc));
	if (r < 0) {
		p->hash = hash_bytes(p->hash, meta->data, meta->len);
		return err_add(r, "bad %s", meta_name[k][0]);
	}
	/* By values, and an empty one as none, so that a consolidated copy and the object itself
	 * compare equal. */
	if (k == META_ATTRS && !json_count(doc))
		return 0;
	p->hash = json_hash(hash_bytes(p->hash, &k, sizeof k), doc);
	p->doc[k] = MOVE(doc);
	return 0;
}

static int
keep_attrs(const struct metas *m, bool pure, struct node *n)
{
	const struct meta *attrs = &m->of[META_ATTRS], *types = &m->of[META_NC_ATTRS];
	if (!attrs->data)
		return 0;
	struct attr_context *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for attributes");
	n->attr_context = c;
	n->attrs_text = attrs->data;
	n->attrs_len = attrs->len;
	c->attrs = text_ref(attrs->owner);
	c->pure = pure;
	if (types->data && !pure) {
		c->types = text_ref(types->owner);
		c->types_text = types->data;
		c->types_len = types->len;
	}
	return 0;
}

static uint64_t
print_of(const struct meta *m)
{
	return hash_end(hash_number(hash_text(HASH_START, m->version), (uint64_t)m->mtime));
}

static int
finish(const struct metas *m, const struct parsed *p, const struct dim_scope *s, struct node *n)
{
	snprintf(n->version, sizeof n->version, "%016" PRIx64, p->hash);
	n->document = print_of(&m->of[META_ARRAY]);
	for (unsigned k = 0; k < META_KINDS; k++)
		if (m->of[k].data && m->of[k].mtime > n->mtime &&
			(k != META_ALL || n->kind == NODE_GROUP))
			n->mtime = m->of[k].mtime;
	bool pure = dim_scope_pure(s);
	n->nczarr = !pure && p->doc[META_ATTRS] &&
		    nczarr_types(p->doc[META_ATTRS], p->doc[META_NC_ATTRS]);
	return keep_attrs(m, pure, n);
}

/* Chunks of this array are asked for by the version of the object that describes it. */
static int
take_chunks(const struct meta *doc, struct node *n)
{
	struct array_meta *a = n->array;
	if (!a || !doc->chunks)
		return 0;
	a->chunks_of = strdup(doc->version);
	a->separator_assumed = false;
	a->layout = hash_bytes(a->layout, doc->version, strlen(doc->version));
	return a->chunks_of ? 0 : err_set(-ENOMEM, "no memory for metadata");
}

int
meta_v2_array(const char *path, const struct metas *m, const struct dim_scope *s, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_new(NODE_ARRAY, path, &n);
	if (r < 0)
		return r;
	n->made_of = meta_name[META_ARRAY][0];
	/* What is bad in these only costs what they would have said. */
	const enum meta_kind minor[] = {META_ATTRS, META_NC_ARRAY, META_NC_ATTRS};
	for (unsigned i = 0; i < sizeof minor / sizeof *minor; i++) {
		r = parse(m, minor[i], &p);
		if (r < 0 && !n->flaw)
			n->flaw = strdup(err_text());
		if (r == -ENOMEM || (r < 0 && !n->flaw))
			return err_set(-ENOMEM, "no memory for metadata");
	}
	r = parse(m, META_ARRAY, &p);
	const struct nczarr_docs docs = {
		p.doc[META_ATTRS], p.doc[META_ARRAY], p.doc[META_NC_ARRAY]};
	if (r == 0)
		r = array_v2(&docs, s, n);
	if (r < 0) {
		array_meta_free(n->array);
		n->array = NULL;
		r = node_mark(n, r);
	}
	if (r == 0)
		r = finish(m, &p, s, n);
	if (r == 0)
		r = take_chunks(&m->of[META_ARRAY], n);
	if (r == 0)
		*ret = MOVE(n);
	return r;
}

int
meta_v2_group(const char *path, const struct metas *m, const struct dim_scope *s, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_new(NODE_GROUP, path, &n);
	const enum meta_kind docs[] = {META_GROUP, META_ATTRS, META_NC_GROUP, META_NC_ATTRS};
	for (unsigned i = 0; r == 0 && i < sizeof docs / sizeof *docs; i++) {
		int bad = parse(m, docs[i], &p);
		if (bad < 0)
			r = node_mark(n, bad);
	}
	if (r == 0) {
		const struct nczarr_docs d = {
			p.doc[META_ATTRS], p.doc[META_GROUP], p.doc[META_NC_GROUP]};
		r = nczarr_group(&d, dim_scope_parent(s), dim_scope_pure(s), &n->group);
	}
	if (r == 0)
		r = finish(m, &p, s, n);
	if (r == 0)
		*ret = MOVE(n);
	return r;
}

/* The member "attributes" as it stands in the document. */
static int
find_attrs(const struct json_slice *s, void *arg)
{
	static const char name[] = "attributes";
	struct node *n = arg;
	if (s->key_len == sizeof name - 1 && !memcmp(s->key, name, s->key_len) && s->value_len &&
		*s->value == '{') {
		n->attrs_text = s->value;
		n->attrs_len = s->value_len;
	}
	return 0;
}

static int
keep_attrs_v3(const struct meta *m, bool pure, struct node *n)
{
	struct attr_context *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for attributes");
	n->attr_context = c;
	c->pure = pure;
	c->attrs = text_ref(m->owner);
	json_scan(m->data, m->len, NULL, find_attrs, n);
	return 0;
}

static int
group_v3(const struct nczarr_docs *d, const struct dim_scope *s, struct node *n)
{
	static const char *const known[] = {
		"zarr_format", "node_type", "attributes", "consolidated_metadata", NULL};
	int r = nczarr_group(d, dim_scope_parent(s), dim_scope_pure(s), &n->group);
	if (r < 0)
		return r;
	n->group->v3 = true;
	r = d->main ? meta_v3_understood(d->main, known) : 0;
	return r < 0 ? node_mark(n, r) : 0;
}

static int
check_v3(const struct json *doc, bool *array)
{
	const struct json *type = json_get(doc, "node_type");
	const struct json *format = json_get(doc, "zarr_format");
	int64_t number;
	*array = type && json_is(type, "array");
	if (!format || json_int(format, &number) < 0 || number != 3)
		return err_set(-ENOTSUP, "'zarr_format' is not 3");
	if (!*array && !(type && json_is(type, "group")))
		return err_set(-EINVAL, "'node_type' is neither 'array' nor 'group'");
	return 0;
}

/* Of a document that is none, or an array of no known shape. */
static int
mark_v3(struct node *n, int r)
{
	array_meta_free(n->array);
	n->array = NULL;
	if (n->kind == NODE_GROUP && !n->group && !(n->group = calloc(1, sizeof *n->group)))
		return err_set(-ENOMEM, "no memory for a group");
	return node_mark(n, r);
}

static int
make_v3(const struct nczarr_docs *d, const struct dim_scope *s, int r, struct node *n)
{
	bool array = n->kind == NODE_ARRAY;
	if (r == 0)
		r = array ? array_v3(d, s, n) : group_v3(d, s, n);
	if (r < 0 && r != -ENOMEM)
		r = mark_v3(n, r);
	return r;
}

int
meta_v3(const char *path, const struct metas *m, const struct dim_scope *s, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct meta *doc = &m->of[META_V3];
	bool array = false;
	int bad = parse(m, META_V3, &p);
	if (bad == 0 && p.doc[META_V3])
		bad = check_v3(p.doc[META_V3], &array);
	int r = bad == -ENOMEM ? bad : node_new(array ? NODE_ARRAY : NODE_GROUP, path, &n);
	if (r < 0)
		return r;
	n->made_of = array ? meta_name[META_V3][0] : NULL;
	const struct nczarr_docs docs = {
		.attrs = p.doc[META_V3] ? json_get(p.doc[META_V3], "attributes") : NULL,
		.main = p.doc[META_V3]};
	r = make_v3(&docs, s, bad, n);
	if (r < 0)
		return r;
	snprintf(n->version, sizeof n->version, "%016" PRIx64, p.hash);
	n->mtime = doc->mtime;
	n->document = print_of(doc);
	n->nczarr = !dim_scope_pure(s) && nczarr_types(docs.attrs, NULL);
	if (doc->data)
		r = keep_attrs_v3(doc, dim_scope_pure(s), n);
	if (r == 0)
		r = take_chunks(doc, n);
	if (r == 0)
		*ret = MOVE(n);
	return r;
}
