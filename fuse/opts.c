#include "fuse/opts.h"

#include "fuse/guess.h"

#include "fuse/value.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum kind {
	KIND_FLAG,
	KIND_VALUE,   /* parsed by .parse */
	KIND_IGNORED, /* other file systems' and fstab's: accepted, without effect here */
	KIND_IGNORED_VALUE,
	KIND_REFUSED, /* help says why */
};

struct option_def {
	const char *name;
	enum kind kind;
	const struct value *value; /* how the text becomes a number and back */
	const char *standard;      /* the default, as a user would write it; NULL: help tells */
	size_t at;                 /* the int64_t in struct opts */
	const char *help;
};

static const struct option_def *option_table(void);

static int64_t *
field(struct opts *o, const struct option_def *d)
{
	return (int64_t *)(void *)((char *)o + d->at);
}

static const struct option_def *
find(const char *name, size_t len)
{
	for (const struct option_def *d = option_table(); d->name; d++)
		if (strlen(d->name) == len && !memcmp(d->name, name, len))
			return d;
	return NULL;
}

/* A word of the list that is an option's value, after ',' instead of ':', or another option misspelt. */
static int
unknown(const char *text, size_t len)
{
	const struct option_def *near = NULL;
	size_t best = SIZE_MAX;
	int64_t v;
	for (const struct option_def *d = option_table(); d->name; d++) {
		bool several = d->kind == KIND_VALUE && d->value->kind == VALUE_WORDS;
		if (several && value_parse(d->value, text, &v) == 0)
			return err_set(-EINVAL,
				"unknown option '%s'; words of '%s' have ':' between them", text,
				d->name);
		if (d->kind != KIND_REFUSED && guess_nearer(text, len, d->name, &best))
			near = d;
	}
	return near ? err_set(-EINVAL, "unknown option '%s'; '%s' is one", text, near->name)
		    : err_set(-EINVAL, "unknown option '%s'; try 'zarrfs --help'", text);
}

/* Options that belong to fstab, to systemd and to whoever writes comments there. */
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
		return 0; /* mount(8) says rw wherever nobody said ro */
	switch (d->kind) {
	case KIND_IGNORED_VALUE: return 0;
	case KIND_REFUSED: return err_set(-EINVAL, "option '%s': %s", d->name, d->help);
	case KIND_VALUE: break;
	case KIND_FLAG:
	case KIND_IGNORED:
		if (eq)
			return err_set(-EINVAL, "option '%s' takes no value", d->name);
		if (d->kind == KIND_FLAG)
			*field(o, d) = 1;
		return 0;
	}
	if (!eq)
		return err_set(-EINVAL, "option '%s' needs a value: %s=%s", d->name, d->name,
			value_form(d->value));
	int r = value_parse(d->value, eq + 1, field(o, d));
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
	for (const struct option_def *d = option_table(); d->name; d++) {
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

enum { LONG_LS = 256, LONG_CAT };

/* One letter of the command line. In mount(8)'s helpers -f, -s, -n, -v and -t mean what they mean to mount. */
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
take_operands(struct opts *o, int n, char **operand)
{
	bool cli = o->job == JOB_LS || o->job == JOB_CAT;
	if (o->command && cli)
		return err_set(-EINVAL, "--ls and --cat run no command");
	if (o->command)
		o->job = JOB_RUN;
	if (n < 1)
		return err_set(-EINVAL, "no store given; try 'zarrfs --help'");
	if (n > 2)
		return err_set(
			-EINVAL, "'%s' is one argument too many; try 'zarrfs --help'", operand[2]);
	o->store = operand[0];
	if (!*o->store)
		return err_set(-EINVAL, "the store's name is empty");
	if (cli) {
		o->path = n > 1 ? operand[1] : "";
		if (o->job == JOB_CAT && n < 2)
			return err_set(-EINVAL, "--cat needs a store and a path in it");
		return 0;
	}
	if (n < 2)
		return err_set(-EINVAL, "no mount point given; try 'zarrfs --help'");
	o->mountpoint = operand[1];
	if (o->userns && !o->command)
		return err_set(-EINVAL, "option 'userns' wants a command: -- COMMAND");
	return 0;
}

int
opts_parse(int argc, char **argv, struct opts *ret)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{"ls", no_argument, NULL, LONG_LS},
		{"cat", no_argument, NULL, LONG_CAT},
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
	      "\n"
	      "Shows every variable of a Zarr store as plain files: VAR (flat), VAR.nc, VAR.csv, "
	      "VAR.npy.\n"
	      "Unmount with: fusermount3 -u MOUNTPOINT\n"
	      "\n"
	      "  -f             stay in the foreground, messages to stderr\n"
	      "  -d             the same, with all that can be said\n"
	      "  -h, --help     this text\n"
	      "  -V, --version  the version\n"
	      "\n"
	      "Options after -o:\n",
		to);
	for (const struct option_def *d = option_table(); d->name; d++) {
		if (d->kind != KIND_FLAG && d->kind != KIND_VALUE)
			continue;
		int n = d->kind == KIND_FLAG
				? fprintf(to, "  %s", d->name)
				: fprintf(to, "  %s=%s", d->name, value_form(d->value));
		fprintf(to, "%*s%s", n < HELP_COLUMN ? HELP_COLUMN - n : 1, "", d->help);
		fprintf(to, d->standard ? " (default: %s)\n" : "\n", d->standard);
	}
	fputs("\nAccepted without effect:", to);
	for (const struct option_def *d = option_table(); d->name; d++)
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

int
opts_config(const struct opts *o, struct buf *ret)
{
	struct opts copy = *o;
	int r = 0;
	for (const struct option_def *d = option_table(); d->name && r == 0; d++) {
		int64_t v = d->kind == KIND_FLAG || d->kind == KIND_VALUE ? *field(&copy, d) : 0;
		if (d->kind == KIND_FLAG)
			r = buf_addf(ret, "%s=%s\n", d->name, v ? "yes" : "no");
		if (d->kind == KIND_VALUE)
			r = config_value(d, v, ret);
	}
	return r;
}

enum { META_MAX = 1 << 30 }; /* consolidated metadata of the largest stores known is 200 MB */

static void
warn(const char *what)
{
	log_warn("%s", what);
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
		.zmap =
			{
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
				.verify = o->verify,
				.transport = o->transport ? "libs3" : NULL,
				.http_token_file = value_text(o->http_token_file),
				.cache_dir = value_text(o->cache_dir),
				.cache_size = (uint64_t)o->cache_size,
				.warn = warn,
			},
		.endian = (enum endian)o->endian,
		.strlen = (uint32_t)o->strlen,
		.list = (unsigned)o->list,
		.nc = (enum nc_form)o->nc,
		.unlimited = value_text(o->unlimited),
		.uid = (uid_t)o->uid,
		.gid = (gid_t)o->gid,
		.umask = (mode_t)o->umask,
	};
}

enum log_level
opts_level(const struct opts *o)
{
	return (enum log_level)o->loglevel;
}

/* The lists of words are in the order of the enums they stand for. */
static const struct value endian_word = {VALUE_WORD, .words = "native|little|big|stored"};
static const struct value consolidated_word = {VALUE_WORD, .words = "prefer|trust|ignore"};
static const struct value missing_word = {VALUE_WORD, .words = "404|403"};
static const struct value level_word = {VALUE_WORD, .words = "error|warning|info|debug"};
static const struct value list_words = {VALUE_WORDS, .words = "flat|nc|csv|npy|cdl|dataset"};
static const struct value nc_word = {VALUE_WORD, .words = "auto|cdf1|cdf2|cdf5"};
static const struct value direct_io_word = {VALUE_WORD, .words = "no|yes"};
static const struct value dimension_name = {VALUE_TEXT, .words = "NAME"};
static const struct value ttl_seconds = {VALUE_TTL, .max = 1000000000};
static const struct value timeout_seconds = {VALUE_SECONDS, .min = 1, .max = 86400};
static const struct value width_number = {VALUE_NUMBER, .min = 1, .max = 1 << 20};
static const struct value memory_size = {VALUE_SIZE, .min = 16 << 20, .max = INT64_MAX};
static const struct value cache_bytes = {VALUE_SIZE, .min = 1 << 20, .max = INT64_MAX};
static const struct value directory_name = {VALUE_TEXT, .words = "DIR"};
static const struct value read_ahead_number = {VALUE_NUMBER, .min = 0, .max = 1 << 20};
static const struct value threads_number = {VALUE_NUMBER, .min = 16, .max = 1024};
static const struct value connections_number = {VALUE_NUMBER, .min = 1, .max = 1024};
static const struct value transport_word = {VALUE_WORD, .words = "curl|libs3"};
static const struct value yes_or_no = {VALUE_WORD, .words = "false|true"};
static const struct value addressing_word = {VALUE_WORD, .words = "auto|path|virtual"};
static const struct value profile_name = {VALUE_TEXT, .words = "NAME|anon"};
static const struct value region_name = {VALUE_TEXT, .words = "REGION"};
static const struct value endpoint_url = {VALUE_TEXT, .words = "URL"};
static const struct value file_name = {VALUE_TEXT, .words = "FILE"};
static const struct value user_name = {VALUE_USER};
static const struct value group_name = {VALUE_GROUP};
static const struct value mode_octal = {VALUE_OCTAL, .max = 0777};

#define AT(member) .at = offsetof(struct opts, member)

static const struct option_def table[] = {
	{"endian", KIND_VALUE, &endian_word, "native", AT(endian), "byte order of flat files"},
	{"strlen", KIND_VALUE, &width_number, "128", AT(strlen),
		"width of strings that nothing says more about, in bytes"},
	{"list", KIND_VALUE, &list_words, NULL, AT(list),
		"what is listed, with ':' between; the rest opens by name (default: flat:nc, and "
		"cdl where metadata are consolidated)"},
	{"nc", KIND_VALUE, &nc_word, "auto", AT(nc), "format of netCDF files"},
	{"direct_io", KIND_VALUE, &direct_io_word, "no", AT(direct_io),
		"whether read() of a netCDF file goes past the kernel's pages"},
	{"unlimited", KIND_VALUE, &dimension_name, NULL, AT(unlimited),
		"the dimension that netCDF files have records of"},
	{"metadata_ttl", KIND_VALUE, &ttl_seconds, "60", AT(metadata_ttl),
		"how old metadata may get before they are looked at again"},
	{"consolidated", KIND_VALUE, &consolidated_word, "prefer", AT(consolidated),
		"what consolidated metadata are good for"},
	{"missing", KIND_VALUE, &missing_word, "404", AT(missing),
		"the answer for chunks that are not there; 403: refused is absent, too"},
	{"memory", KIND_VALUE, &memory_size, NULL, AT(memory),
		"cap of all caches (default: a quarter of RAM or of the cgroup's limit, at most "
		"4G)"},
	{"timeout", KIND_VALUE, &timeout_seconds, "60", AT(timeout),
		"longest time for one operation"},
	{"follow", KIND_FLAG, .at = offsetof(struct opts, follow),
		.help = "follow symlinks that lead out of the store"},
	{"uid", KIND_VALUE, &user_name, NULL, AT(uid),
		"owner of all files (default: the mounting user)"},
	{"gid", KIND_VALUE, &group_name, NULL, AT(gid),
		"group of all files (default: the mounting user's)"},
	{"umask", KIND_VALUE, &mode_octal, "000", AT(umask), "permissions to take away"},
	{"allow_other", KIND_FLAG, .at = offsetof(struct opts, allow_other),
		.help = "let other users in"},
	{"allow_root", KIND_FLAG, .at = offsetof(struct opts, allow_root), .help = "let root in"},
	{"noexec", KIND_FLAG, .at = offsetof(struct opts, noexec),
		.help = "no programs are run from the mount"},
	{"userns", KIND_FLAG, .at = offsetof(struct opts, userns),
		.help = "mount for COMMAND alone, in a user namespace"},
	{"read_ahead_kb", KIND_VALUE, &read_ahead_number, "1024", AT(read_ahead_kb),
		"the kernel's readahead, where root mounts; 0: leave it"},
	{"max_threads", KIND_VALUE, &threads_number, "64", AT(max_threads),
		"requests of the kernel under way at once"},
	{"connections", KIND_VALUE, &connections_number, "32", AT(connections),
		"connections to a remote store at once"},
	{"tls_verify", KIND_VALUE, &yes_or_no, "true", AT(tls_verify),
		"whether https certificates are verified"},
	{"ca_bundle", KIND_VALUE, &file_name, NULL, AT(ca_bundle),
		"certificates to trust (default: $AWS_CA_BUNDLE, else the system's)"},
	{"profile", KIND_VALUE, &profile_name, NULL, AT(profile),
		"S3: profile of ~/.aws to take keys from; anon: requests are not signed"},
	{"region", KIND_VALUE, &region_name, NULL, AT(region), "S3: region of the bucket"},
	{"endpoint", KIND_VALUE, &endpoint_url, NULL, AT(endpoint),
		"S3: server to ask, where it is not Amazon's or Google's"},
	{"addressing", KIND_VALUE, &addressing_word, "auto", AT(addressing),
		"S3: where the bucket's name stands, in the path or before the host's"},
	{"requester_pays", KIND_FLAG, .at = offsetof(struct opts, requester_pays),
		.help = "S3: agree to pay for requests"},
	{"verify", KIND_VALUE, &yes_or_no, "false", AT(verify),
		"S3: whether whole objects are compared with the MD5 that their ETags are"},
	{"transport", KIND_VALUE, &transport_word, "curl", AT(transport),
		"S3: by what requests are made; libs3: for servers that know signatures V2 only"},
	{"http_token_file", KIND_VALUE, &file_name, NULL, AT(http_token_file),
		"bearer token for an https store (default: $ZARRFS_HTTP_TOKEN, else ~/.netrc)"},
	{"cache_dir", KIND_VALUE, &directory_name, NULL, AT(cache_dir),
		"keep what is read of a remote store in this directory, across mounts"},
	{"cache_size", KIND_VALUE, &cache_bytes, "10G", AT(cache_size),
		"how large that may become"},
	{"loglevel", KIND_VALUE, &level_word, "info", AT(loglevel), "what is said"},
	{"rw", KIND_REFUSED, .help = "this version mounts read-only"},
	{"remount", KIND_REFUSED, .help = "unmount, then mount again"},
	{"auto_unmount", KIND_REFUSED,
		.help = "not supported; a dead mount is replaced by the next one"},
	{"ro", KIND_IGNORED},
	{"defaults", KIND_IGNORED},
	{"default_permissions", KIND_IGNORED},
	{"nonempty", KIND_IGNORED},
	{"_netdev", KIND_IGNORED},
	{"auto", KIND_IGNORED},
	{"noauto", KIND_IGNORED},
	{"nofail", KIND_IGNORED},
	{"user", KIND_IGNORED_VALUE},
	{"nouser", KIND_IGNORED},
	{"users", KIND_IGNORED},
	{"owner", KIND_IGNORED},
	{"group", KIND_IGNORED},
	{"dev", KIND_IGNORED},
	{"nodev", KIND_IGNORED},
	{"suid", KIND_IGNORED},
	{"nosuid", KIND_IGNORED},
	{"exec", KIND_IGNORED},
	{"async", KIND_IGNORED},
	{"sync", KIND_IGNORED},
	{"dirsync", KIND_IGNORED},
	{"atime", KIND_IGNORED},
	{"noatime", KIND_IGNORED},
	{"diratime", KIND_IGNORED},
	{"nodiratime", KIND_IGNORED},
	{"relatime", KIND_IGNORED},
	{"norelatime", KIND_IGNORED},
	{"strictatime", KIND_IGNORED},
	{"nostrictatime", KIND_IGNORED},
	{"lazytime", KIND_IGNORED},
	{"nolazytime", KIND_IGNORED},
	{"silent", KIND_IGNORED},
	{"loud", KIND_IGNORED},
	{"comment", KIND_IGNORED_VALUE},
	{0},
};

static const struct option_def *
option_table(void)
{
	return table;
}
