#include "check.h"

#include "base/clean.h"
#include "base/url.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* scheme, host, path, backend, shown */
static void
url_is(const char *store, const char *const want[5], unsigned mode)
{
	struct url u = {0};
	CHECK_INT(url_parse(store, &u), 0);
	if (!u.backend)
		fprintf(stderr, "%s:\n", store);
	CHECK_STR(u.scheme, want[0]);
	CHECK_STR(u.host, want[1]);
	CHECK_STR(u.path, want[2]);
	CHECK_STR(u.backend, want[3]);
	CHECK_STR(u.shown, want[4]);
	CHECK_INT(u.mode, mode);
	url_free(&u);
}

#define URL_IS(store, mode, ...) url_is(store, (const char *const[5]){__VA_ARGS__}, mode)

static void
url_fails(const char *store, const char *why)
{
	struct url u = {.mode = 77};
	CHECK_INT(url_parse(store, &u), -EINVAL);
	CHECK_STR(err_text(), why);
	CHECK_INT(u.mode, 77);
}

static void
test_references(void)
{
	static const struct {
		const char *begin, *backend;
	} files[] = {{" \n{\"version\": 1", "kerchunk_file"}, {"\xef\xbb\xbf{", "kerchunk_file"},
		{"\x1f\x8b\x08", "kerchunk_file"}, {"\x28\xb5\x2f\xfd", "kerchunk_file"},
		{"PK\3\4", "zip"}, {"[1]", "zip"}, {"", "zip"}};
	char file[] = "/tmp/zarrfs-url-XXXXXX";
	int fd = mkstemp(file);
	CHECK(fd >= 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		size_t len = strlen(files[i].begin);
		CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, files[i].begin, len, 0) == (ssize_t)len);
		URL_IS(file, 0, "", "", file, files[i].backend, file);
	}
	close(fd);
	unlink(file);
	URL_IS("s3://b/x.json.zst", 0, "s3", "b", "/x.json.zst", "kerchunk_file",
		"s3://b/x.json.zst");
	URL_IS("https://h/x.JSON", 0, "https", "h", "/x.JSON", "kerchunk_file", "https://h/x.JSON");
	URL_IS("s3://b/x.nc.zarr#mode=kerchunk", URL_KERCHUNK, "s3", "b", "/x.nc.zarr",
		"kerchunk_file", "s3://b/x.nc.zarr#mode=kerchunk");
	URL_IS("s3://b/x.parq#mode=kerchunk", URL_KERCHUNK, "s3", "b", "/x.parq", "s3",
		"s3://b/x.parq#mode=kerchunk");
	url_fails("s3://b/x#mode=kerchunk,zip", "the URL says both 'zip' and 'kerchunk'");
}

static void
test_paths(void)
{
	char dir[] = "/tmp/zarrfs-url-XXXXXX";
	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	CLEAN(clean_free) char *here = getcwd(NULL, 0);
	char want[256], file[256];
	snprintf(want, sizeof want, "%s/era5.zarr", here);
	URL_IS("era5.zarr", 0, "", "", want, "dir", want);
	URL_IS(".//./era5.zarr///", 0, "", "", want, "dir", want);
	snprintf(file, sizeof file, "file://%s", "era5.zarr");
	URL_IS(file, 0, "file", "", want, "dir", file);
	snprintf(want, sizeof want, "%s/run#3.zarr", here);
	URL_IS("run#3.zarr", 0, "", "", want, "dir", want);
	snprintf(want, sizeof want, "%s/100%%25 ?x=1.zarr", here);
	URL_IS("100%25 ?x=1.zarr", 0, "", "", want, "dir", want);
	URL_IS(".", 0, "", "", here, "dir", here);
	URL_IS("/", 0, "", "", "/", "dir", "/");
	URL_IS("/data/../x/", 0, "", "", "/data/../x", "dir", "/data/../x");
	URL_IS("/data/absent.zarr.ZIP", 0, "", "", "/data/absent.zarr.ZIP", "zip",
		"/data/absent.zarr.ZIP");

	CHECK_INT(mkdir("d.zip", 0700), 0);
	snprintf(want, sizeof want, "%s/d.zip", here);
	URL_IS("d.zip", 0, "", "", want, "dir", want);
	close(open("plain", O_CREAT | O_WRONLY, 0600));
	snprintf(want, sizeof want, "%s/plain", here);
	URL_IS("plain", 0, "", "", want, "zip", want);
	unlink("plain");
	rmdir("d.zip");
	CHECK(chdir("/") == 0 && rmdir(dir) == 0);
}

static void
test_files(void)
{
	URL_IS("file:///data/era5.zarr", 0, "file", "", "/data/era5.zarr", "dir",
		"file:///data/era5.zarr");
	URL_IS("FILE:/data/era5.zarr", 0, "file", "", "/data/era5.zarr", "dir",
		"FILE:/data/era5.zarr");
	URL_IS("file://localhost/x", 0, "file", "", "/x", "dir", "file://localhost/x");
	URL_IS("file:///a%23b%20c@d", 0, "file", "", "/a#b c@d", "dir", "file:///a%23b%20c@d");
	URL_IS("file:///x.zip#mode=zarr,zip", URL_ZARR | URL_ZIP, "file", "", "/x.zip", "zip",
		"file:///x.zip#mode=zarr,zip");
	URL_IS("file:///x.zip#mode=nczarr,file", URL_NCZARR | URL_FILE, "file", "", "/x.zip", "dir",
		"file:///x.zip#mode=nczarr,file");
	URL_IS("file:///x#zip", URL_ZIP, "file", "", "/x", "zip", "file:///x#zip");
	URL_IS("mem:name", 0, "mem", "", "name", "mem", "mem:name");
	URL_IS("mem://a/b#zarr", URL_ZARR, "mem", "", "a/b", "mem", "mem://a/b#zarr");
}

static void
test_remote(void)
{
	URL_IS("s3://bucket/a/prefix/", 0, "s3", "bucket", "/a/prefix", "s3",
		"s3://bucket/a/prefix/");
	URL_IS("s3://bucket", 0, "s3", "bucket", "", "s3", "s3://bucket");
	URL_IS("s3://b/x.zarr.zip", 0, "s3", "b", "/x.zarr.zip", "zip", "s3://b/x.zarr.zip");
	URL_IS("gs://b_u.cket/p#mode=zarr", URL_ZARR, "gs", "b_u.cket", "/p", "s3",
		"gs://b_u.cket/p#mode=zarr");
	URL_IS("gs3://b/p#mode=nczarr,gs3", URL_NCZARR | URL_GS3, "gs3", "b", "/p", "s3",
		"gs3://b/p#mode=nczarr,gs3");
	URL_IS("https://bucket.s3.eu-west-1.amazonaws.com/p", 0, "https",
		"bucket.s3.eu-west-1.amazonaws.com", "/p", "s3",
		"https://bucket.s3.eu-west-1.amazonaws.com/p");
	URL_IS("https://storage.googleapis.com/b/p", 0, "https", "storage.googleapis.com", "/b/p",
		"s3", "https://storage.googleapis.com/b/p");
	URL_IS("http://localhost:9000/b/p#mode=zarr,s3", URL_ZARR | URL_S3, "http",
		"localhost:9000", "/b/p", "s3", "http://localhost:9000/b/p#mode=zarr,s3");
	URL_IS("http://[::1]:9000/b#s3", URL_S3, "http", "[::1]:9000", "/b", "s3",
		"http://[::1]:9000/b#s3");
	URL_IS("https://host/path#mode=zarr", URL_ZARR, "https", "host", "/path", "http",
		"https://host/path#mode=zarr");
	URL_IS("https://host/x.zip?download=1#zarr", URL_ZARR, "https", "host", "/x.zip", "zip",
		"https://host/x.zip#zarr");
	struct url u = {0};
	CHECK_INT(url_parse("https://host/x.zip?download=1&v=2", &u), 0);
	CHECK_STR(u.query, "download=1&v=2");
	CHECK_STR(u.shown, "https://host/x.zip");
	url_free(&u);
}

static void
test_fragments(void)
{
	struct url u = {0};
	CHECK_INT(url_parse("https://h/"
			    "p#mode=NCZarr,,S3&&AWS.profile=p%26q&aws.region=r&aws.endpoint=http://"
			    "x:1&log&show=fetch&noxarray&"
			    "mode=consolidated,bytes,v2",
			  &u),
		0);
	CHECK_INT(
		u.mode, URL_NCZARR | URL_S3 | URL_NOXARRAY | URL_CONSOLIDATED | URL_BYTES | URL_V2);
	CHECK_STR(url_get(&u, "aws.profile"), "p&q");
	CHECK_STR(url_get(&u, "aws.region"), "r");
	CHECK_STR(url_get(&u, "aws.endpoint"), "http://x:1");
	CHECK_STR(url_get(&u, "log"), "");
	CHECK_STR(url_get(&u, "show"), "fetch");
	CHECK(!url_get(&u, "mode"));
	CHECK_STR(u.wrappers, "");
	CHECK_STR(u.query, "");
	url_free(&u);

	CHECK_INT(
		url_parse(
			"Fault+trace+file:///x#fault.kind=hang&zarr&fault.match=a%2Fb&trace.file=t",
			&u),
		0);
	CHECK_STR(u.wrappers, "fault+trace");
	CHECK_STR(u.scheme, "file");
	CHECK_STR(u.path, "/x");
	CHECK_STR(url_get(&u, "fault.kind"), "hang");
	CHECK_STR(url_get(&u, "fault.match"), "a/b");
	CHECK_STR(u.shown,
		"Fault+trace+file:///x#fault.kind=hang&zarr&fault.match=a%2Fb&trace.file=t");
	url_free(&u);
	CHECK_INT(url_parse("fault+mem:m#fault.calls=get", &u), 0);
	CHECK_STR(u.backend, "mem");
	CHECK_STR(u.path, "m");
	url_free(&u);
	CHECK_INT(url_parse("s3://b#aws.region=x&aws.region=x", &u), 0);
	CHECK_INT(u.npairs, 1);
	url_free(&u);
}

static void
test_contradictions(void)
{
	url_fails("file:///x#mode=zarr,zip,file", "the URL says both 'file' and 'zip'");
	url_fails("https://h/x#mode=file&s3", "the URL says both 'file' and 's3'");
	url_fails("file:///x#v2&v3", "the URL says both 'v2' and 'v3'");
	url_fails("file:///x#mode=xarray,noxarray", "the URL says both 'xarray' and 'noxarray'");
	url_fails("s3://b/x#mode=zarr,file", "mode 'file' contradicts 's3:' of the URL");
	url_fails("file:///x#mode=zarr,s3", "mode 's3' contradicts 'file:' of the URL");
	url_fails("s3://b/x#mode=gs3", "mode 'gs3' contradicts 's3:' of the URL");
	url_fails("mem:x#zip", "mode 'zip' contradicts 'mem:' of the URL");
	url_fails("s3://b#aws.region=x&aws.region=y",
		"'aws.region' is in the URL twice, with different values");
	url_fails("file:///x#mode=zar", "unknown mode 'zar' in the URL");
	url_fails("file:///x#zar", "unknown word 'zar' behind the '#' of the URL");
	url_fails("file:///x#fault.kind=x", "unknown word 'fault.kind' behind the '#' of the URL");
	url_fails("trace+file:///x#fault.kind=x",
		"unknown word 'fault.kind' behind the '#' of the URL");
	url_fails("fault+file:///x#faulty.kind=x",
		"unknown word 'faulty.kind' behind the '#' of the URL");
	url_fails("", "no store is named");
	url_fails("ftp://h/x",
		"unknown kind of URL 'ftp:' (there are file, http, https, s3, gs and gs3)");
	url_fails("file://", "the URL names no file");
	url_fails("s3:///x", "the URL names no bucket");
	url_fails("https:///x", "the URL names no host");
	url_fails("https://h:x/p", "'h:x' has no valid port");
	url_fails("https://h:70000/p", "'h:70000' has no valid port");
	url_fails("https://:80/p", "':80' has no valid port");
	url_fails("s3://b:80/p", "'b:80' cannot be the name of a bucket");
	url_fails("https://h st/p", "'h st' cannot be the name of a host");
	url_fails("s3://b/x?y", "a 's3' URL has no query ('?' in a name is %3F)");
	url_fails("s3://b/100%",
		"'%' without two hexadecimal digits in the URL (the character itself is %25)");
	url_fails("s3://b/%00", "%00 in the URL");
	url_fails("s3://b/a\nb", "control character in the URL");
}

static void
secret(const char *store, const char *key)
{
	char why[256];
	snprintf(why, sizeof why,
		"'%s' in the URL would show a secret to every user of this machine: use a profile "
		"or the environment",
		key);
	url_fails(store, why);
}

static void
test_secrets(void)
{
	url_fails("https://user:word@host/p",
		"the URL has user information before '@': use a profile or the environment");
	url_fails("s3://AKIA:key@bucket/p",
		"the URL has user information before '@': use a profile or the environment");
	url_fails("https://h/p#aws.endpoint=http://u:p@h",
		"aws.endpoint in the URL has user information");
	secret("https://h/p?X-Amz-Signature=abc", "X-Amz-Signature");
	secret("https://h/p?a=1&x%2Damz-credential=abc#zarr", "x-amz-credential");
	secret("https://h/p?sig=abc", "sig");
	secret("https://h/p?access_token=abc", "access_token");
	secret("s3://b/p#aws.secret_access_key=abc", "aws.secret_access_key");
	secret("s3://b/p#aws.access_key_id=abc", "aws.access_key_id");
	secret("s3://b/p#X-Amz-Security-Token=abc", "X-Amz-Security-Token");
	secret("s3://b/p#aws.s%65cret=abc", "aws.secret");
}

int
main(void)
{
	test_paths();
	test_references();
	test_files();
	test_remote();
	test_fragments();
	test_contradictions();
	test_secrets();
	return check_end();
}
