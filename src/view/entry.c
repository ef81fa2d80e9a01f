/* What a path shows: entries, their inodes, and the errors that leave the views. */
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	ROOT_INO = 1,
};

uint64_t
mount_ino(const char *path)
{
	if (!*path)
		return ROOT_INO;
	uint64_t h = hash_end(hash_text(HASH_START, path));
	return h > ROOT_INO ? h : h + 2;
}

int
mount_error(int code)
{
	switch (code) {
	case -EACCES:
	case -EFBIG:
	case -EINTR:
	case -EISDIR:
	case -ENOMEM:
	case -ENOTDIR:
	case -ESTALE: return code;
	default: return code < 0 ? -EIO : code;
	}
}

const char *
mount_path(struct mount *m, const char *node_path)
{
	return !*node_path && atomic_load(&m->root_is_array) ? m->single : node_path;
}

void
entry_free(struct entry *e)
{
	free(e->path);
	node_unref(e->node);
	*e = (struct entry){0};
}

bool
entry_is_netcdf(const struct entry *e)
{
	return e->view && e->view->netcdf;
}

int
mount_entry(struct mount *m, const char *path, enum entry_kind kind, mode_t mode, struct entry *ret)
{
	struct entry e = {.kind = kind, .path = strdup(path), .ino = mount_ino(path)};
	if (!e.path)
		return err_set(-ENOMEM, "no memory for a path");
	e.mode = (kind == ENTRY_DIR ? S_IFDIR : S_IFREG) | (mode & ~m->options.umask);
	e.version = kind == ENTRY_DIR;
	*ret = e;
	return 0;
}

int
mount_write_error(int code)
{
	switch (code) {
	case -EBADF:
	case -EBUSY:
	case -EDQUOT:
	case -EEXIST:
	case -EINVAL:
	case -ENAMETOOLONG:
	case -ENOENT:
	case -ENOSPC:
	case -ENOTEMPTY:
	case -EPERM:
	case -ERANGE:
	case -EROFS: return code;
	default: return mount_error(code);
	}
}
