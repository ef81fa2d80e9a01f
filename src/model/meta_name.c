#include "model/meta_name.h"

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
			if (*name == *meta_name[k][i] && !strcmp(name, meta_name[k][i]))
				return k;
	return META_KINDS;
}

bool
meta_is_name(const char *name)
{
	return !strcmp(name, ".nczarr") || meta_kind_of(name) != META_KINDS;
}
