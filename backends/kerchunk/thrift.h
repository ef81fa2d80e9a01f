/* Apache Thrift's compact protocol, as far as parquet's footers and page headers need it: structs
 * are walked field by field, what is not asked for is skipped. Every step is checked against the
 * end of the bytes. A cursor lives on its user's stack. */
#pragma once

#include "base/buf.h"

enum kerchunk_thrift_type {
	THRIFT_STOP,
	THRIFT_TRUE,
	THRIFT_FALSE,
	THRIFT_BYTE,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_DOUBLE,
	THRIFT_BINARY,
	THRIFT_LIST,
	THRIFT_SET,
	THRIFT_MAP,
	THRIFT_STRUCT,
};

struct kerchunk_thrift {
	const uint8_t *at, *end;
	bool bad; /* the bytes made no sense somewhere: all that came since is 0 or empty */
};

struct kerchunk_thrift_field {
	int16_t id;
	enum kerchunk_thrift_type type;
};

/* The next field of a struct; false: it ends here, or is bad. {0} before the first. */
bool kerchunk_thrift_next(struct kerchunk_thrift *, struct kerchunk_thrift_field *);
/* The value of the field that was found, of any integer type; 0 and bad where it has another. */
int64_t kerchunk_thrift_int(struct kerchunk_thrift *, const struct kerchunk_thrift_field *);
struct span kerchunk_thrift_binary(struct kerchunk_thrift *, const struct kerchunk_thrift_field *);
/* Elements of a list and their type; the elements follow. Never more than there are bytes left. */
uint32_t kerchunk_thrift_list(struct kerchunk_thrift *, const struct kerchunk_thrift_field *,
	struct kerchunk_thrift_field *ret_element);
void kerchunk_thrift_skip(struct kerchunk_thrift *, const struct kerchunk_thrift_field *);
uint64_t kerchunk_thrift_varint(struct kerchunk_thrift *);
