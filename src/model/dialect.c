#include "model/dialect.h"

#include "model/meta.h"

#include <string.h>

const char *const meta_name[META_KINDS][2] = {
	[META_ARRAY] = {".zarray"},
	[META_GROUP] = {".zgroup"},
	[META_ATTRS] = {".zattrs"},
	[META_ALL] = {".zmetadata"},
	[META_NC_GROUP] = {".nczgroup"},
	[META_NC_ARRAY] = {".nczvar", ".nczarray"},
	[META_NC_ATTRS] = {".nczattr", ".nczattrs"},
	[META_V3] = {"zarr.json"},
};

enum meta_kind
meta_kind_of(const char *name)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		for (unsigned i = 0; i < 2 && meta_name[k][i]; i++)
			if (!strcmp(name, meta_name[k][i]))
				return k;
	return META_KINDS;
}

bool
meta_is_name(const char *name)
{
	return !strcmp(name, ".nczarr") || meta_kind_of(name) != META_KINDS;
}

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
	const struct dialect *d = m->of[dialect_v3.group].data ? &dialect_v3 : dialect_in(s);
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
