#include "fuse/opts.h"

#include "fuse/guess.h"
#include "fuse/opts_table.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

static int64_t *
field(struct opts *o, const struct option_def *d)
{
	return (int64_t *)(void *)((char *)o + d->at);
}

static const char **
texts(struct opts *o, const struct option_def *d)
{
	return (const char **)(void *)((char *)o + d->at);
}

static const struct option_def *
find(const char *name, size_t len)
{
	for (const struct option_def *d = opts_table(); d->name; d++)
		if (strlen(d->name) == len && !memcmp(d->name, name, len))
			return d;
	return NULL;
}

static const char *
nearest(const char *text, size_t len)
{
	const char *near = NULL;
	struct guess best = {0};
	for (const struct option_def *d = opts_table(); d->name; d++)
		if (d->kind != KIND_REFUSED && guess_better(text, len, d->name, &best))
			near = d->name;
	return near;
}

/* A word of the list that is an option's value, after ',' instead of ':', or another option
 * misspelt. */
static int
unknown(const char *text, size_t len)
{
	const char *near = opts_table_meant(text, len);
	int64_t v;
	for (const struct option_def *d = opts_table(); d->name && !near; d++) {
		bool several = d->kind == KIND_VALUE && d->value->kind == VALUE_WORDS;
		if (several && value_parse(d->value, text, &v) == 0)
			return err_set(-EINVAL,
				"unknown option '%s'; words of '%s' have ':' between them", text,
				d->name);
	}
	near = near ? near : nearest(text, len);
	return near ? err_set(-EINVAL, "unknown option '%s'; '%s' is one", text, near)
		    : err_set(-EINVAL, "unknown option '%s'; try 'zarrfs --help'", text);
}

static int
add_text(const struct option_def *d, const char *text, const char **list)
{
	size_t n = 0;
	while (list[n])
		n++;
	if (!*text)
		return err_set(-EINVAL, "option '%s' is empty", d->name);
	if (n == OPTS_TEXTS_MAX)
		return err_set(-EINVAL, "option '%s' more than %d times", d->name, OPTS_TEXTS_MAX);
	list[n] = text;
	return 0;
}

/* Options that belong to fstab, to systemd and to comments there. */
static bool
foreign(const char *text)
{
	return !strncmp(text, "x-", 2) || !strncmp(text, "X-", 2);
}

static int
set(struct opts *o, const char *text)
{
	const char *eq = strchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : strlen(text);
	const struct option_def *d = find(text, len);
	if (foreign(text))
		return 0;
	if (!d)
		return unknown(text, len);
	if (o->helper && !strcmp(text, "rw"))
		return 0; /* mount(8) says rw wherever ro was not said: there it is 'writable' that
			     counts */
	switch (d->kind) {
	case KIND_IGNORED_VALUE: return 0;
	case KIND_REFUSED: return err_set(-EINVAL, "option '%s': %s", d->name, d->help);
	case KIND_TEXTS:
	case KIND_VALUE: break;
	case KIND_FLAG:
	case KIND_UNDO:
	case KIND_IGNORED:
		if (eq)
			return err_set(-EINVAL, "option '%s' takes no value", d->name);
		if (d->kind != KIND_IGNORED)
			*field(o, d) = d->kind == KIND_FLAG;
		o->ro |= o->helper && !strcmp(text, "ro");
		return 0;
	}
	if (!eq)
		return err_set(-EINVAL, "option '%s' needs a value: %s=%s", d->name, d->name,
			value_form(d->value));
	int r = d->kind == KIND_TEXTS ? add_text(d, eq + 1, texts(o, d))
				      : value_parse(d->value, eq + 1, field(o, d));
	return r < 0 ? err_add(r, "option '%s'", text) : 0;
}

/* "a,b=c\,d": a backslash takes the next character as it is. Rewrites the text. */
static int
set_list(struct opts *o, char *text)
{
	bool more = true;
	while (more) {
		char *to = text, *from = text;
		while (*from && *from != ',') {
			if (*from == '\\' && from[1])
				from++;
			*to++ = *from++;
		}
		more = *from == ',';
		*to = 0;
		int r = *text ? set(o, text) : 0;
		if (r < 0)
			return r;
		text = from + 1;
	}
	return 0;
}

static int
set_defaults(struct opts *o)
{
	for (const struct option_def *d = opts_table(); d->name; d++) {
		if (d->kind != KIND_VALUE || !d->standard)
			continue;
		int r = value_parse(d->value, d->standard, field(o, d));
		if (r < 0)
			return err_add(r, "default of '%s'", d->name);
	}
	o->uid = getuid();
	o->gid = getgid();
	return 0;
}

static int
set_debug(struct opts *o)
{
	char text[] = "loglevel=debug";
	o->foreground = true;
	return set(o, text);
}

enum { LONG_LS = 256, LONG_CAT, LONG_CREATE };

/* One letter of the command line. In mount(8)'s helpers -f, -s, -n, -v and -t mean what they mean
 * to mount. */
static int
set_letter(struct opts *o, int letter)
{
	switch (letter) {
	case 'o': return set_list(o, optarg);
	case 'f': *(o->helper ? &o->fake : &o->foreground) = true; return 0;
	case 'd': return set_debug(o);
	case 'h': o->job = JOB_HELP; return 0;
	case 'V': o->job = JOB_VERSION; return 0;
	case LONG_LS: o->job = JOB_LS; return 0;
	case LONG_CAT: o->job = JOB_CAT; return 0;
	case LONG_CREATE: o->job = JOB_CREATE; return 0;
	case 's':
	case 'n':
	case 'v':
	case 't':
	case 'N': return 0;
	case ':': return err_set(-EINVAL, "'-%c' needs a value; try 'zarrfs --help'", optopt);
	default: return err_set(-EINVAL, "unknown option '-%c'; try 'zarrfs --help'", optopt);
	}
}

static int
check_together(const struct opts *o)
{
	if (o->userns && !o->command)
		return err_set(-EINVAL, "option 'userns' wants a command: -- COMMAND");
	if (o->rw && o->nc == NC_FORM_NC4)
		return err_set(-EINVAL,
			"option 'nc=4' does not go with 'rw': netCDF-4 files cannot be written in "
			"place");
	return 0;
}

static int
take_operands(struct opts *o, int n, char **operand)
{
	bool cli = o->job == JOB_LS || o->job == JOB_CAT;
	bool create = o->job == JOB_CREATE;
	if (o->command && (cli || create))
		return err_set(-EINVAL, "--ls, --cat and --create run no command");
	if (o->command)
		o->job = JOB_RUN;
	if (n < 1)
		return err_set(-EINVAL, "no store given; try 'zarrfs --help'");
	if (n > (create ? 1 : 2))
		return err_set(-EINVAL, "'%s' is one argument too many; try 'zarrfs --help'",
			operand[create ? 1 : 2]);
	o->store = operand[0];
	if (!*o->store)
		return err_set(-EINVAL, "the store's name is empty");
	if (cli) {
		o->path = n > 1 ? operand[1] : "";
		if (o->job == JOB_CAT && n < 2)
			return err_set(-EINVAL, "--cat needs a store and a path in it");
		return 0;
	}
	if (create)
		return 0;
	if (n < 2)
		return err_set(-EINVAL, "no mount point given; try 'zarrfs --help'");
	o->mountpoint = operand[1];
	return check_together(o);
}

int
opts_parse(int argc, char **argv, struct opts *ret)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{"ls", no_argument, NULL, LONG_LS},
		{"cat", no_argument, NULL, LONG_CAT},
		{"create", no_argument, NULL, LONG_CREATE},
		{NULL, 0, NULL, 0},
	};
	struct opts o = {.job = JOB_MOUNT};
	const char *called = argc ? strrchr(argv[0], '/') : NULL;
	called = called ? called + 1 : argc ? argv[0] : "";
	o.helper = !strncmp(called, "mount.", 6);
	int n = 1, r = set_defaults(&o);
	while (n < argc && strcmp(argv[n], "--"))
		n++;
	if (n < argc) {
		o.command = argv + n + 1;
		if (!*o.command)
			return err_set(-EINVAL, "no command after '--'");
	}
	opterr = 0;
	for (int letter; r == 0;) {
		letter = getopt_long(n, argv, o.helper ? ":o:t:N:fnsvhV" : ":o:fdhV", longs, NULL);
		if (letter < 0)
			break;
		if (letter == '?' && (!optopt || optopt >= LONG_LS))
			return err_set(-EINVAL, "unknown option '%s'; try 'zarrfs --help'",
				argv[optind - 1]);
		r = set_letter(&o, letter);
	}
	if (r < 0)
		return r;
	if (o.ro) /* mount(8) says it first, wherever the user wrote it */
		o.rw = 0;
	if (o.job != JOB_HELP && o.job != JOB_VERSION)
		r = take_operands(&o, n - optind, argv + optind);
	if (r == 0)
		*ret = o;
	return r;
}

enum { HELP_COLUMN = 38 };

void
opts_help(FILE *to)
{
	fputs("usage: zarrfs [-o OPTION,...] STORE MOUNTPOINT              mount\n"
	      "       zarrfs [-o OPTION,...] STORE MOUNTPOINT -- COMMAND   mount while COMMAND "
	      "runs\n"
	      "       zarrfs [-o OPTION,...] --ls STORE [PATH]             the names there, "
	      "without a mount\n"
	      "       zarrfs [-o OPTION,...] --cat STORE PATH              the bytes of a file, "
	      "without a mount\n"
	      "       zarrfs [-o OPTION,...] --create STORE                an empty group\n"
	      "\n"
	      "Shows every variable of a Zarr store as plain files: VAR (flat), VAR.nc, VAR.csv, "
	      "VAR.npy, VAR.png.\n"
	      "Of netCDF files take VAR.nc4 for 64-bit and unsigned integers and for groups, "
	      "VAR.nc for\n"
	      "programs that read the classic format only, VAR.cdf5.nc for all types without "
	      "HDF5.\n"
	      "Unmount with: fusermount3 -u MOUNTPOINT\n"
	      "\n"
	      "  -f             stay in the foreground, messages to stderr\n"
	      "  -d             the same, with all that can be said\n"
	      "  -h, --help     this text\n"
	      "  -V, --version  the version\n"
	      "\n"
	      "Options after -o:\n",
		to);
	for (const struct option_def *d = opts_table(); d->name; d++) {
		if (d->kind != KIND_FLAG && d->kind != KIND_VALUE && d->kind != KIND_TEXTS)
			continue;
		int n = d->kind == KIND_FLAG
				? fprintf(to, "  %s", d->name)
				: fprintf(to, "  %s=%s", d->name, value_form(d->value));
		fprintf(to, "%*s%s", n < HELP_COLUMN ? HELP_COLUMN - n : 1, "", d->help);
		fprintf(to, d->standard ? " (default: %s)\n" : "\n", d->standard);
	}
	fputs("\nOf rw and ro, of noexec and exec the last counts.\n"
	      "Accepted without effect:",
		to);
	for (const struct option_def *d = opts_table(); d->name; d++)
		if (d->kind == KIND_IGNORED || d->kind == KIND_IGNORED_VALUE)
			fprintf(to, " %s%s", d->name, d->kind == KIND_IGNORED ? "" : "=");
	fputs(" x-*\n", to);
}

static int
config_value(const struct option_def *d, int64_t v, struct buf *ret)
{
	char text[32];
	if (d->value->kind == VALUE_TEXT)
		return buf_addf(ret, "%s=%s\n", d->name, v ? value_text(v) : "");
	value_print(d->value, v, text);
	return buf_addf(ret, "%s=%s\n", d->name, text);
}

static int
config_texts(const struct option_def *d, const char **text, struct buf *ret)
{
	int r = *text ? 0 : buf_addf(ret, "%s=\n", d->name);
	for (; *text && r == 0; text++)
		r = buf_addf(ret, "%s=%s\n", d->name, *text);
	return r;
}

int
opts_config(const struct opts *o, struct buf *ret)
{
	struct opts copy = *o;
	int r = 0;
	for (const struct option_def *d = opts_table(); d->name && r == 0; d++) {
		int64_t v = d->kind == KIND_FLAG || d->kind == KIND_VALUE ? *field(&copy, d) : 0;
		if (d->kind == KIND_FLAG)
			r = buf_addf(ret, "%s=%s\n", d->name, v ? "yes" : "no");
		if (d->kind == KIND_VALUE)
			r = config_value(d, v, ret);
		if (d->kind == KIND_TEXTS)
			r = config_texts(d, texts(&copy, d), ret);
	}
	return r;
}

enum { META_MAX = 1 << 30 }; /* consolidated metadata of the largest stores known is 200 MB */

static void
warn(const char *what)
{
	log_warn("%s", what);
}

static struct zmap_options
for_store(const struct opts *o)
{
	return (struct zmap_options){
		.follow = o->follow,
		.timeout = o->timeout,
		.connections = (unsigned)o->connections,
		.tls_insecure = !o->tls_verify,
		.ca_bundle = value_text(o->ca_bundle),
		.profile = value_text(o->profile),
		.region = value_text(o->region),
		.endpoint = value_text(o->endpoint),
		.addressing = (enum zmap_addressing)o->addressing,
		.requester_pays = o->requester_pays,
		.verify = (enum zmap_verify)o->verify,
		.transport = o->transport ? "libs3" : NULL,
		.http_token_file = value_text(o->http_token_file),
		.cache_dir = value_text(o->cache_dir),
		.ref = value_text(o->ref),
		.cache_size = (uint64_t)o->cache_size,
		.virtual_urls = o->virtual_urls,
		.warn = warn,
	};
}

void
opts_for_mount(const struct opts *o, struct mount_options *ret)
{
	*ret = (struct mount_options){
		.model =
			{
				.ttl = o->metadata_ttl,
				.consolidated = (enum consolidated)o->consolidated,
				.missing_403 = o->missing,
				.timeout = o->timeout,
				.meta_max = META_MAX,
				.warn = warn,
			},
		.data =
			{
				.memory = (size_t)o->memory,
				.ttl = o->metadata_ttl,
				.timeout = o->timeout,
				.missing_403 = o->missing,
			},
		.zmap = for_store(o),
		.endian = (enum endian)o->endian,
		.strlen = (uint32_t)o->strlen,
		.list = (unsigned)o->list,
		.picture = (uint32_t)o->picture,
		.nc = (enum nc_form)o->nc,
		.unlimited = value_text(o->unlimited),
		.uid = (uid_t)o->uid,
		.gid = (gid_t)o->gid,
		.umask = (mode_t)o->umask,
		.rw = o->rw,
		.allow_delete = o->allow_delete,
		.empty_chunks = (enum empty_chunks)o->empty_chunks,
		.image = (size_t)o->image,
		.chunk = (uint64_t)o->chunk,
		.codec = (enum new_codec)o->codec,
		.shard = (uint64_t)o->shard,
		.zarr_format = (unsigned)o->zarr_format + 2,
	};
}

enum log_level
opts_level(const struct opts *o)
{
	return (enum log_level)o->loglevel;
}
