/* The files that keys and settings are in: .aws's INI, and netcdf-c's .ncrc. */
#include "backends/s3/ini.h"
#include "backends/s3/ncrc.h"

#include "base/buf.h"
#include "test/check.h"

static int
write_down(void *arg, const struct ini_entry *e)
{
	return buf_addf(arg, "[%.*s]%.*s%s%.*s=%.*s;", (int)e->section_len, e->section,
		(int)e->parent_len, e->parent ? e->parent : "", e->parent ? "." : "",
		(int)e->key_len, e->key, (int)e->value_len, e->value);
}

static void
check_ini(const char *text, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(ini_parse(text, strlen(text), write_down, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
}

static void
test_ini(void)
{
	check_ini("[default]\nregion = eu-west-1\n\n# no\n; no\n[ profile x ] # c\r\na=b=c\r\n",
		"[default]region=eu-west-1;[profile x]a=b=c;");
	check_ini("[a]\ns3 =\n  addressing_style = path\n\tx=1\nkey=v # c\nk2=v#w ;c\nk3 = ; c",
		"[a]s3=;[a]s3.addressing_style=path;[a]s3.x=1;[a]key=v;[a]k2=v#w;[a]k3=;");
	check_ini("no section=1\n[broken\nx=1\n]\n=\n==\njunk\n  k = v",
		"[]no section=1;[]x=1;[]k=v;");
	check_ini("", "");
}

static void
check_rc(const char *text, const char *host, const char *path, const char *want)
{
	size_t place;
	char *got = ncrc_find(
		text, strlen(text), &(struct ncrc_want){host, path, "AWS.PROFILE"}, &place);
	if (want)
		CHECK_STR(got, want);
	else
		CHECK(!got);
	free(got);
}

static void
test_rc(void)
{
	check_rc("AWS.PROFILE=a\n", "h", "/x", "a");
	check_rc("# AWS.PROFILE=a\naws.profile = b \r\n", "h", "/x", "b");
	check_rc("AWS.PROFILE=a\n[https://h:1]AWS.PROFILE=b\nAWS.PROFILE=c", "h:1", "/x", "b");
	check_rc("AWS.PROFILE=a\n[https://h:1]AWS.PROFILE=b\nAWS.PROFILE=c", "h", "/x", "c");
	check_rc("[https://h/x]AWS.PROFILE=long\n[https://h]AWS.PROFILE=short\n", "h", "/x/y",
		"long");
	check_rc("[https://h/x]AWS.PROFILE=long\n[https://h]AWS.PROFILE=short\n", "h", "/xy",
		"short");
	check_rc("[https://h/x", "h", "/x", NULL);
	check_rc("[]=\nAWS.REGION=a", "h", "", NULL);
}

int
main(void)
{
	test_ini();
	test_rc();
	return check_end();
}
