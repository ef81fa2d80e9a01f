/* LZMA in three wrappings, numbered as Python's lzma module does: .xz, .lzma ("alone"), and raw
 * with the filters named in the configuration. The first two describe themselves and are told apart
 * by their bytes. */
#include "codec/codec.h"

#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>
#include <inttypes.h>
#include <lzma.h>

enum { FORMAT_XZ = 1, FORMAT_ALONE = 2, FORMAT_RAW = 3 };

/* A dictionary larger than what any preset makes is for data larger than a chunk. */
static const uint64_t memory_max = (uint64_t)256 << 20;

/* clang-format off */
#define LIBLZMA(F) \
	F(lzma_alone_encoder) F(lzma_auto_decoder) F(lzma_code) F(lzma_easy_encoder) F(lzma_end) \
	F(lzma_lzma_preset) F(lzma_raw_decoder) F(lzma_raw_decoder_memusage) F(lzma_raw_encoder) \
	F(lzma_stream_encoder)
/* clang-format on */
LAZY_LIBRARY(liblzma, LIBLZMA, SONAME_LZMA)

union filter_options {
	lzma_options_lzma lzma;
	lzma_options_delta delta;
	lzma_options_bcj bcj;
};

struct lzma {
	int64_t format, check;
	uint32_t preset;
	size_t nfilters; /* 0: the preset's */
	lzma_filter filter[LZMA_FILTERS_MAX + 1];
	union filter_options options[LZMA_FILTERS_MAX];
};

static int
read_number32(const struct json *dict, const char *key, uint32_t *value)
{
	int64_t v;
	int r = codec_number(dict, key, *value, 0, UINT32_MAX, &v);
	if (r == 0)
		*value = (uint32_t)v;
	return r;
}

static int
read_lzma_options(const struct json *dict, lzma_options_lzma *o)
{
	uint32_t preset = LZMA_PRESET_DEFAULT;
	int r = read_number32(dict, "preset", &preset);
	if (r < 0)
		return r;
	if (liblzma.lzma_lzma_preset(o, preset))
		return err_set(-EINVAL, "'preset' %" PRIu32 " is unknown", preset);
	uint32_t mode = (uint32_t)o->mode, mf = (uint32_t)o->mf;
	struct {
		const char *key;
		uint32_t *value;
	} fields[] = {
		{"dict_size", &o->dict_size},
		{"lc", &o->lc},
		{"lp", &o->lp},
		{"pb", &o->pb},
		{"nice_len", &o->nice_len},
		{"depth", &o->depth},
		{"mode", &mode},
		{"mf", &mf},
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		r = read_number32(dict, fields[i].key, fields[i].value);
		if (r < 0)
			return r;
	}
	o->mode = (lzma_mode)mode;
	o->mf = (lzma_match_finder)mf;
	return 0;
}

static int
read_filter(const struct json *dict, lzma_filter *f, union filter_options *o)
{
	int64_t id;
	int r = codec_number(dict, "id", -1, 0, INT64_MAX, &id);
	if (r < 0)
		return r;
	*f = (lzma_filter){.id = (lzma_vli)id};
	switch (f->id) {
	case LZMA_FILTER_LZMA1:
	case LZMA_FILTER_LZMA2: f->options = &o->lzma; return read_lzma_options(dict, &o->lzma);
	case LZMA_FILTER_DELTA:
		o->delta = (lzma_options_delta){.type = LZMA_DELTA_TYPE_BYTE, .dist = 1};
		f->options = &o->delta;
		return read_number32(dict, "dist", &o->delta.dist);
	case LZMA_FILTER_X86:
	case LZMA_FILTER_POWERPC:
	case LZMA_FILTER_IA64:
	case LZMA_FILTER_ARM:
	case LZMA_FILTER_ARMTHUMB:
	case LZMA_FILTER_SPARC:
		f->options = &o->bcj;
		return read_number32(dict, "start_offset", &o->bcj.start_offset);
	default: return err_set(-ENOTSUP, "unknown lzma filter %" PRId64, id);
	}
}

static int
read_filters(const struct json *config, struct lzma *z)
{
	const struct json *list = config ? json_get(config, "filters") : NULL;
	size_t n = json_count(list);
	if (n > LZMA_FILTERS_MAX)
		return err_set(-EINVAL, "%zu filters, lzma has at most %d", n, LZMA_FILTERS_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = read_filter(json_at(list, i), &z->filter[i], &z->options[i]);
		if (r < 0)
			return r;
	}
	z->nfilters = n;
	z->filter[n].id = LZMA_VLI_UNKNOWN;
	return 0;
}

/* Raw data need the filters to be decoded; elsewhere they only steer encoding. */
static int
read_config(const struct json *config, struct lzma *z)
{
	int r = codec_number(config, "format", FORMAT_XZ, FORMAT_XZ, FORMAT_RAW, &z->format);
	if (r < 0)
		return r;
	z->check = codec_level(config, "check", -1, -1, LZMA_CHECK_ID_MAX);
	z->preset = LZMA_PRESET_DEFAULT;
	const struct json *preset = config ? json_get(config, "preset") : NULL;
	uint64_t v;
	if (preset && json_uint(preset, &v) == 0 && v <= UINT32_MAX)
		z->preset = (uint32_t)v;
	r = read_filters(config, z);
	if (z->format != FORMAT_RAW) {
		if (r < 0)
			z->nfilters = 0;
		return r == -ENOMEM ? r : 0;
	}
	if (r < 0)
		return r;
	if (!z->nfilters)
		return err_set(-EINVAL, "raw lzma data need 'filters'");
	uint64_t memory = liblzma.lzma_raw_decoder_memusage(z->filter);
	if (memory == UINT64_MAX)
		return err_set(-EINVAL, "these lzma filters cannot follow each other");
	if (memory > memory_max)
		return err_set(-ENOTSUP, "decoding these lzma filters would take %" PRIu64 " MiB",
			memory >> 20);
	return 0;
}

static int
lzma_set_up(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	CLEAN(clean_free) struct lzma *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	if (liblzma_load() < 0)
		return err_add(-ENOTSUP, "it needs liblzma");
	int r = read_config(config, z);
	if (r < 0)
		return r;
	out->bytes = codec_worst(in->bytes);
	*ret = MOVE(z);
	return 0;
}

static int
lzma_failed(lzma_ret r, const char *doing)
{
	switch (r) {
	case LZMA_MEM_ERROR: return err_set(-ENOMEM, "out of memory");
	case LZMA_MEMLIMIT_ERROR:
		return err_set(-EIO, "lzma data would take more than %" PRIu64 " MiB to decode",
			memory_max >> 20);
	case LZMA_FORMAT_ERROR: return err_set(-EIO, "these are no lzma data");
	case LZMA_OPTIONS_ERROR:
		return err_set(-EIO, "cannot %s lzma data with such options", doing);
	case LZMA_DATA_ERROR: return err_set(-EIO, "lzma data are damaged");
	default: return err_set(-EIO, "cannot %s lzma data: they are truncated or damaged", doing);
	}
}

static int
lzma_unpack(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct lzma *z = obj;
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = z->format == FORMAT_RAW
			     ? liblzma.lzma_raw_decoder(&s, z->filter)
			     : liblzma.lzma_auto_decoder(&s, memory_max, LZMA_CONCATENATED);
	if (r == LZMA_OK) {
		s.next_in = in.data;
		s.avail_in = in.len;
		s.next_out = out->data;
		s.avail_out = form->bytes;
		do
			r = liblzma.lzma_code(&s, LZMA_FINISH);
		while (r == LZMA_OK);
	}
	size_t len = form->bytes - s.avail_out, rest = s.avail_in;
	liblzma.lzma_end(&s);
	if (r == LZMA_BUF_ERROR && rest && len == form->bytes)
		return err_set(-EIO, "lzma data decode to more than %zu bytes", form->bytes);
	if (r != LZMA_STREAM_END)
		return lzma_failed(r, "decode");
	if (rest)
		return err_set(-EIO, "%zu bytes follow the end of lzma data", rest);
	out->len = len;
	return 0;
}

static lzma_ret
encoder(const struct lzma *z, lzma_stream *s)
{
	lzma_check check = z->check < 0 ? LZMA_CHECK_CRC64 : (lzma_check)z->check;
	if (z->format == FORMAT_RAW)
		return liblzma.lzma_raw_encoder(s, z->filter);
	if (z->format == FORMAT_ALONE) {
		lzma_options_lzma o;
		if (z->nfilters == 1 && z->filter[0].id == LZMA_FILTER_LZMA1)
			return liblzma.lzma_alone_encoder(s, z->filter[0].options);
		return liblzma.lzma_lzma_preset(&o, z->preset) ? LZMA_OPTIONS_ERROR
							       : liblzma.lzma_alone_encoder(s, &o);
	}
	return z->nfilters ? liblzma.lzma_stream_encoder(s, z->filter, check)
			   : liblzma.lzma_easy_encoder(s, z->preset, check);
}

static int
lzma_pack(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	int err = buf_reserve(out, codec_worst(in.len));
	if (err < 0)
		return err;
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = encoder(obj, &s);
	if (r == LZMA_OK) {
		s.next_in = in.data;
		s.avail_in = in.len;
		s.next_out = out->data;
		s.avail_out = out->cap;
		do
			r = liblzma.lzma_code(&s, LZMA_FINISH);
		while (r == LZMA_OK);
	}
	out->len = out->cap - s.avail_out;
	liblzma.lzma_end(&s);
	return r == LZMA_STREAM_END ? 0 : lzma_failed(r, "encode");
}

const struct codec_ops codec_lzma = {
	.ids = (const char *const[]){"lzma", "numcodecs.lzma", NULL},
	.kind = CODEC_BYTES,
	.open = lzma_set_up,
	.close = free,
	.decode = lzma_unpack,
	.encode = lzma_pack,
};
