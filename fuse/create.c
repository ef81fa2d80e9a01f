/* --create: an empty group where there is nothing yet. */
#include "fuse/create.h"

#include "fuse/serve.h"

#include "base/err.h"
#include "base/log.h"
#include "model/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was made here, and goes again where there is to be no store after all. */
struct made {
	char *path;
	bool directory;
};

static void
made_done(struct made *m)
{
	if (m->path && (m->directory ? rmdir(m->path) : unlink(m->path)) < 0)
		log_warn("'%s' stays: %s", m->path, strerrordesc_np(errno));
	free(m->path);
}

/* A directory store is made with the directory that it is, but not with those above. */
static int
make_directory(const char *path, struct made *ret)
{
	if (mkdir(path, 0777) < 0)
		return errno == EEXIST ? 0 : err_sys(errno, "make directory");
	*ret = (struct made){strdup(path), true};
	return ret->path ? 0 : err_set(-ENOMEM, "no memory for a path");
}

/* An archive of no members is its end (APPNOTE 4.3.16). */
static int
make_archive(const char *path, struct made *ret)
{
	static const unsigned char end[22] = {'P', 'K', 5, 6};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? 0 : err_sys(errno, "make an archive");
	*ret = (struct made){strdup(path), false};
	bool whole = write(fd, end, sizeof end) == sizeof end;
	int e = whole ? EIO : errno;
	whole &= close(fd) == 0;
	if (!whole)
		return err_sys(e, "write");
	return ret->path ? 0 : err_set(-ENOMEM, "no memory for a path");
}

static bool
is_archive(const struct url *u)
{
	const size_t len = strlen(u->path);
	return u->mode & URL_ZIP || !strcmp(u->backend, "zip") ||
	       (len > 4 && !strcmp(u->path + len - 4, ".zip"));
}

/* What a local store needs to begin with. The URL is that of what is there then. */
static int
make_place(const char *store, struct url *u, struct made *ret)
{
	const bool local = !strcmp(u->backend, "dir") ||
			   (!strcmp(u->backend, "zip") && !strcmp(u->below, "dir"));
	struct url now;
	if (!local)
		return 0;
	int r = is_archive(u) ? make_archive(u->path, ret) : make_directory(u->path, ret);
	if (r == 0)
		r = url_parse(store, &now);
	if (r < 0)
		return r;
	url_free(u);
	*u = now;
	return 0;
}

static int
warn_said(const struct buf *said)
{
	if (said->len)
		log_warn("%.*s", (int)said->len, (const char *)said->data);
	return 0;
}

static int
make_group(const struct opts *o, struct zmap *z, unsigned mode)
{
	CLEAN(buf_free) struct buf said = {0};
	struct mount_options options;
	struct model *m = NULL;
	const bool pure = mode & (URL_ZARR | URL_XARRAY | URL_NOXARRAY);
	struct new_group top = {.zarr_format = mode & URL_V3 ? 3 : (unsigned)o->zarr_format + 2};
	if (mode & URL_V2)
		top.zarr_format = 2;
	top.nczarr = top.zarr_format == 2 && !pure;
	opts_for_mount(o, &options);
	options.model.mode = mode;
	int r = zmap_try_writing(z, &said);
	warn_said(&said);
	if (r == 0)
		r = model_open(z, &options.model, &m);
	if (r == 0)
		r = model_new_group(m, "", &top, 0, NULL);
	model_close(m);
	return r == 0 ? zmap_sync(z) : r;
}

static int
create(const struct opts *o)
{
	CLEAN(url_free) struct url u = {0};
	CLEAN(made_done) struct made made = {0};
	CLEAN(zmap_closep) struct zmap *z = NULL;
	struct mount_options options;
	opts_for_mount(o, &options);
	options.zmap.writable = true;
	int r = url_parse(o->store, &u);
	if (r < 0)
		return r;
	r = make_place(o->store, &u, &made);
	if (r == 0)
		r = zmap_open(&u, &options.zmap, &z);
	if (r == 0)
		r = make_group(o, z, u.mode);
	if (r == 0) {
		free(made.path);
		made.path = NULL;
	}
	return r < 0 ? err_add(r, "cannot create '%s'", u.shown) : 0;
}

int
create_store(const struct opts *o)
{
	int r = create(o);
	if (r < 0)
		log_error("%s", err_text());
	return r < 0 ? EXIT_STORE : EXIT_SUCCESS;
}
