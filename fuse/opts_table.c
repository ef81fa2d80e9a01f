#include "fuse/opts_table.h"

#include "fuse/guess.h"
#include "fuse/opts.h"

/* The lists of words are in the order of the enums they stand for. */
static const struct value endian_word = {VALUE_WORD, .words = "native|little|big|stored"};
static const struct value consolidated_word = {VALUE_WORD, .words = "prefer|trust|ignore"};
static const struct value missing_word = {VALUE_WORD, .words = "404|403"};
static const struct value level_word = {VALUE_WORD, .words = "error|warning|info|debug"};
static const struct value empty_word = {VALUE_WORD, .words = "keep|delete"};
static const struct value codec_word = {VALUE_WORD, .words = "lz4|zstd|zlib|none"};
static const struct value format_word = {VALUE_WORD, .words = "2|3"};
static const struct value chunk_bytes = {VALUE_SIZE, .min = 1, .max = INT32_MAX};
static const struct value list_words = {
	VALUE_WORDS, .words = "flat|nc|csv|npy|cdl|dataset|nc4|png"};
static const struct value nc_word = {VALUE_WORD, .words = "auto|cdf1|cdf2|cdf5|4"};
static const struct value direct_io_word = {VALUE_WORD, .words = "auto|no|yes|all"};
static const struct value dimension_name = {VALUE_TEXT, .words = "NAME"};
static const struct value ttl_seconds = {VALUE_TTL, .max = 1000000000};
static const struct value timeout_seconds = {VALUE_SECONDS, .min = 1, .max = 86400};
static const struct value width_number = {VALUE_NUMBER, .min = 1, .max = 1 << 20};
static const struct value picture_number = {VALUE_NUMBER, .min = 128, .max = 2048};
static const struct value memory_size = {VALUE_SIZE, .min = 16 << 20, .max = INT64_MAX};
static const struct value cache_bytes = {VALUE_SIZE, .min = 1 << 20, .max = INT64_MAX};
static const struct value directory_name = {VALUE_TEXT, .words = "DIR"};
static const struct value read_ahead_number = {VALUE_NUMBER, .min = 0, .max = 1 << 20};
static const struct value threads_number = {VALUE_NUMBER, .min = 16, .max = 1024};
static const struct value connections_number = {VALUE_NUMBER, .min = 1, .max = 1024};
static const struct value transport_word = {VALUE_WORD, .words = "curl|libs3"};
static const struct value yes_or_no = {VALUE_WORD, .words = "false|true"};
static const struct value verify_word = {VALUE_WORD, .words = "auto|false|true"};
static const struct value addressing_word = {VALUE_WORD, .words = "auto|path|virtual"};
static const struct value profile_name = {VALUE_TEXT, .words = "NAME|anon"};
static const struct value region_name = {VALUE_TEXT, .words = "REGION"};
static const struct value endpoint_url = {VALUE_TEXT, .words = "URL"};
static const struct value file_name = {VALUE_TEXT, .words = "FILE"};
static const struct value url_prefix = {VALUE_TEXT, .words = "PREFIX|FROM=>TO"};
static const struct value version_name = {VALUE_TEXT, .words = "branch.NAME|tag.NAME|ID|TIME"};
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
	{"picture", KIND_VALUE, &picture_number, "1024", AT(picture),
		"pixels of the longer side of what a .png shows, at most"},
	{"nc", KIND_VALUE, &nc_word, "auto", AT(nc), "format of .nc files (4: netCDF-4, as .nc4)"},
	{"direct_io", KIND_VALUE, &direct_io_word, "auto", AT(direct_io),
		"whether read() of a netCDF file goes past the kernel's pages (all: of every "
		"file)"},
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
	{"ref", KIND_VALUE, &version_name, NULL, AT(ref),
		"Icechunk: the version that is shown (default: branch.main)"},
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
	{"connections", KIND_VALUE, &connections_number, "128", AT(connections),
		"most connections to a remote store at once"},
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
	{"verify", KIND_VALUE, &verify_word, "auto", AT(verify),
		"S3: whether whole objects are compared with the CRC that the store keeps; true: "
		"or the SHA, or the MD5"},
	{"transport", KIND_VALUE, &transport_word, "curl", AT(transport),
		"S3: by what requests are made; libs3: for servers that know signatures V2 only"},
	{"http_token_file", KIND_VALUE, &file_name, NULL, AT(http_token_file),
		"bearer token for an https store (default: $ZARRFS_HTTP_TOKEN, else ~/.netrc)"},
	{"cache_dir", KIND_VALUE, &directory_name, NULL, AT(cache_dir),
		"keep what is read of a remote store in this directory, across mounts"},
	{"cache_size", KIND_VALUE, &cache_bytes, "10G", AT(cache_size),
		"how large that may become"},
	{"virtual", KIND_TEXTS, &url_prefix, NULL, AT(virtual_urls),
		"where references of kerchunk and Icechunk may lead, or to what place instead"},
	{"rw", KIND_FLAG, .at = offsetof(struct opts, rw), .help = "let files be written"},
	{"writable", KIND_FLAG, .at = offsetof(struct opts, rw),
		.help = "the same, for fstab: mount(8) says rw of itself"},
	{"allow_delete", KIND_FLAG, .at = offsetof(struct opts, allow_delete),
		.help = "rw: let arrays be removed by rm"},
	{"empty_chunks", KIND_VALUE, &empty_word, "keep", AT(empty_chunks),
		"rw: what becomes of chunks that are nothing but fill"},
	{"chunk", KIND_VALUE, &chunk_bytes, "4M", AT(chunk),
		"rw: how large chunks of new variables are at the most, not compressed"},
	{"codec", KIND_VALUE, &codec_word, "lz4", AT(codec),
		"rw: how they are compressed: by blosc's lz4 or zstd, zlib with shuffle, or not"},
	{"shard", KIND_VALUE, &chunk_bytes, NULL, AT(shard),
		"rw: Zarr V3: how large objects that hold many chunks are at the most (default: "
		"none do)"},
	{"zarr_format", KIND_VALUE, &format_word, "2", AT(zarr_format),
		"rw: what a new hierarchy is, as mkdir and --create begin them: Zarr V2 or V3"},
	{"image", KIND_VALUE, &cache_bytes, "64M", AT(image),
		"rw: how much of a netCDF file may wait until its header says what it is"},
	{"loglevel", KIND_VALUE, &level_word, "info", AT(loglevel), "what is said"},
	{"remount", KIND_REFUSED, .help = "unmount, then mount again"},
	{"auto_unmount", KIND_REFUSED,
		.help = "not supported; a dead mount is replaced by the next one"},
	{"ro", KIND_UNDO, AT(rw)},
	{"exec", KIND_UNDO, AT(noexec)},
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

const struct option_def *
opts_table(void)
{
	return table;
}

/* Words of other programs, or of this one's values, and what stands for them here. */
static const struct {
	const char *word, *meant;
} meant[] = {
	{"anon", "profile=anon"},
	{"anonymous", "profile=anon"},
	{"no_sign_request", "profile=anon"},
	{"aws_profile", "profile"},
	{"url", "endpoint"},
	{"insecure", "tls_verify=false"},
	{"no_check_certificate", "tls_verify=false"},
	{"no_verify_ssl", "tls_verify=false"},
	{"ssl_verify", "tls_verify"},
	{"verify_ssl", "tls_verify"},
	{"cacert", "ca_bundle"},
	{"cafile", "ca_bundle"},
	{"use_path_style", "addressing=path"},
	{"use_path_request_style", "addressing=path"},
	{"path_style", "addressing=path"},
	{"readonly", "ro"},
	{"readwrite", "rw"},
	{"write", "rw"},
	{"delete", "allow_delete"},
	{"user_id", "uid"},
	{"group_id", "gid"},
	{"symlinks", "follow"},
	{"verbose", "loglevel=debug"},
	{"debug", "loglevel=debug"},
	{"quiet", "loglevel=error"},
	{"immutable", "metadata_ttl=immutable"},
	{"retries", "timeout"},
	{"max_retries", "timeout"},
	{"workers", "max_threads"},
	{"conns", "connections"},
	{"parallel", "connections"},
	{"branch", "ref"},
	{"tag", "ref"},
	{"snapshot", "ref"},
	{"byteorder", "endian"},
	{"string_length", "strlen"},
	{"netcdf", "nc"},
	{"netcdf_format", "nc"},
	{"nc_format", "nc"},
	{"record_dimension", "unlimited"},
	{"compression", "codec"},
	{"compressor", "codec"},
};

const char *
opts_table_meant(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
		if (guess_same(word, len, meant[i].word))
			return meant[i].meant;
	return NULL;
}
