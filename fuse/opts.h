/* The command line: one table of options gives parsing, --help, the text of `.zarrfs/config`; the
 * man page is tested against it. Filled once at start, constant afterwards, so every thread may
 * read it. */
#pragma once

#include "base/buf.h"
#include "base/log.h"
#include "view/mount.h"

#include <stdio.h>

enum job { JOB_MOUNT, JOB_RUN, JOB_LS, JOB_CAT, JOB_CREATE, JOB_HELP, JOB_VERSION };

/* In the order of the option's words. */
enum direct_io { DIRECT_AUTO, DIRECT_NO, DIRECT_YES, DIRECT_ALL };

enum { OPTS_TEXTS_MAX = 64 };

struct opts {
	enum job job;
	const char *store, *mountpoint;
	const char *path; /* of --ls and --cat, relative to the mount; "" for its root */
	char **command;   /* after "--", NULL-terminated, or NULL */
	bool foreground;
	bool fake;   /* mount -f: everything but the mount */
	bool helper; /* called by mount(8), as mount.zarrfs or mount.fuse.zarrfs … */
	bool ro;     /* … and that says ro */
	/* set through the table */
	int64_t endian, strlen, consolidated, missing, nc,
		loglevel;              /* words: their number in the table's list */
	int64_t picture;               /* pixels */
	int64_t list;                  /* bits of words; 0: as the manual says */
	int64_t metadata_ttl, timeout; /* ns; INT64_MAX: immutable */
	int64_t memory;                /* bytes; 0: what the library chooses */
	int64_t uid, gid, umask;
	int64_t direct_io;                                       /* enum direct_io */
	int64_t follow, allow_other, allow_root, noexec, userns; /* flags */
	int64_t read_ahead_kb;                                   /* 0: the kernel's own */
	int64_t max_threads;
	int64_t connections;
	int64_t tls_verify;                /* 0: false, 1: true */
	int64_t profile, region, endpoint; /* texts */
	int64_t addressing, requester_pays, verify, transport;
	int64_t cache_size;                                            /* bytes */
	int64_t ca_bundle, unlimited, http_token_file, cache_dir, ref; /* texts (value_text) */
	int64_t rw, allow_delete;                                      /* flags */
	int64_t empty_chunks, zarr_format, codec;                      /* words */
	int64_t image, chunk, shard;                                   /* bytes */
	const char *virtual_urls[OPTS_TEXTS_MAX + 1];                  /* ends with NULL */
};

/* -EINVAL with the reason; what ret points to lives as long as argv. */
int opts_parse(int argc, char **argv, struct opts *ret);
void opts_help(FILE *);
/* "NAME=VALUE\n" of each option in force. */
int opts_config(const struct opts *, struct buf *ret);
/* What src/ wants to know of them; ret borrows from opts. */
void opts_for_mount(const struct opts *, struct mount_options *ret);
enum log_level opts_level(const struct opts *);
