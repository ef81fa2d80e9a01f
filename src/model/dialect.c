#include "model/dialect.h"

#include "model/meta.h"

const struct dialect *
dialect_of(bool v3)
{
	return v3 ? &dialect_v3 : &dialect_v2;
}

const struct dialect *
dialect_in(const struct dim_scope *s)
{
	const struct group_meta *parent = dim_scope_parent(s);
	return dialect_of(parent && parent->v3);
}

int
dialect_node(const char *path, const struct metas *m, const struct dim_scope *s, struct node **ret)
{
	const struct dialect *d = m->of[dialect_v3.array].data   ? &dialect_v3
				  : m->of[dialect_v2.array].data ? &dialect_v2
								 : dialect_in(s);
	return m->of[d->array].data ? d->read_array(path, m, s, ret)
				    : d->read_group(path, m, s, ret);
}

const struct dialect dialect_v2 = {
	.array = META_ARRAY,
	.group = META_GROUP,
	.attrs = META_ATTRS,
	.all = META_ALL,
	.members = "metadata",
	.read_array = meta_v2_array,
	.read_group = meta_v2_group,
};

const struct dialect dialect_v3 = {
	.array = META_V3,
	.group = META_V3,
	.attrs = META_V3,
	.all = META_V3,
	.members = "consolidated_metadata/metadata",
	.joint = true,
	.read_array = meta_v3,
	.read_group = meta_v3,
};
