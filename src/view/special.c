#include "view/special.h"

#include "base/log.h"
#include "base/mem.h"
#include "view/state.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIR_MODE = 0500, FILE_MODE = 0400 };

static int stats_text(struct mount *, struct buf *ret);
static int config_text(struct mount *, struct buf *ret);
static int log_text(struct mount *, struct buf *ret);
static int history_text(struct mount *, struct buf *ret);

static const struct {
	const char *path;
	enum special special;
	int (*text)(struct mount *, struct buf *ret);
} file_table[] = {
	{".zarrfs/config", SPECIAL_CONFIG, config_text},
	{".zarrfs/history", SPECIAL_HISTORY, history_text},
	{".zarrfs/log", SPECIAL_LOG, log_text},
	{".zarrfs/refresh", SPECIAL_REFRESH, mount_refresh},
	{".zarrfs/stats", SPECIAL_STATS, stats_text},
};

enum { FILES = sizeof file_table / sizeof file_table[0] };

static bool
is_there(struct mount *m, enum special s)
{
	return s != SPECIAL_HISTORY || zmap_history(m->zmap, NULL) == 0;
}

int
special_lookup(struct mount *m, const char *path, struct entry *ret)
{
	int r = ZMAP_ABSENT;
	if (strcmp(path, ".zarrfs") == 0) {
		r = mount_entry(m, path, ENTRY_DIR, DIR_MODE, ret);
		ret->special = SPECIAL_ROOT;
	}
	for (unsigned i = 0; i < FILES && r == ZMAP_ABSENT; i++) {
		if (strcmp(path, file_table[i].path) != 0 || !is_there(m, file_table[i].special))
			continue;
		r = mount_entry(m, path, ENTRY_FILE, FILE_MODE, ret);
		ret->special = (int)file_table[i].special;
		ret->unknown_length = true;
	}
	return r;
}

int
special_list(struct mount *m, const char *path, mount_dir_fn *fn, void *arg)
{
	int r = strcmp(path, ".zarrfs") == 0 ? 0 : err_set(-ENOTDIR, "'%s' is a file", path);
	for (unsigned i = 0; i < FILES && r == 0; i++) {
		const char *p = file_table[i].path;
		if (!is_there(m, file_table[i].special))
			continue;
		r = fn(arg, strchr(p, '/') + 1, mount_ino(p), DT_REG);
	}
	return r;
}

int
special_text(struct mount *m, int special, struct buf *ret)
{
	for (unsigned i = 0; i < FILES; i++)
		if ((int)file_table[i].special == special)
			return file_table[i].text(m, ret);
	return err_set(-EISDIR, "'.zarrfs' is a directory");
}

static const char *const kind_name[ZMAP_KINDS] = {
	[ZMAP_GET] = "get",
	[ZMAP_STAT] = "stat",
	[ZMAP_LISTING] = "list",
	[ZMAP_PUT] = "put",
	[ZMAP_DEL] = "del",
};

static int
store_counts(struct zmap *z, struct buf *ret)
{
	const struct {
		const char *name;
		const atomic_ullong *count;
	} line[] = {
		{"requests", z->counts.calls},
		{"failures", z->counts.failed},
		{"absent", z->counts.absent},
	};
	int r = 0;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < ZMAP_KINDS && r == 0; k++)
			r = buf_addf(ret, "zarrfs_store_%s_total{kind=\"%s\"} %llu\n", line[i].name,
				kind_name[k], (unsigned long long)line[i].count[k]);
	if (r == 0)
		r = buf_addf(ret,
			"zarrfs_store_bytes_read_total %llu\nzarrfs_store_bytes_written_total "
			"%llu\n",
			(unsigned long long)z->counts.bytes_in,
			(unsigned long long)z->counts.bytes_out);
	return r == 0 ? zmap_stats(z, ret) : r;
}

static int
stats_text(struct mount *m, struct buf *ret)
{
	mount_stats_fn *more = NULL;
	void *arg = NULL;
	LOCKED(&m->lock) {
		more = m->stats;
		arg = m->stats_arg;
	}
	int r = data_stats(m->data, ret);
	if (r == 0)
		r = store_counts(m->zmap, ret);
	if (r == 0)
		r = buf_addf(ret, "zarrfs_model_bytes %zu\nzarrfs_memory_idle_bytes %zu\n",
			model_bytes(m->model), mem_idle());
	if (r == 0)
		r = layouts_stats(m, ret);
	if (r == 0)
		r = pictures_stats(m, ret);
	return r == 0 && more ? more(arg, ret) : r;
}

static int
config_text(struct mount *m, struct buf *ret)
{
	int r = buf_addf(ret, "store=%s\n", mount_shown(m));
	return r == 0 && m->options.config ? m->options.config(ret) : r;
}

static int
log_text(struct mount *m, struct buf *ret)
{
	return log_recent(ret);
}

static int
history_text(struct mount *m, struct buf *ret)
{
	return zmap_history(m->zmap, ret);
}
