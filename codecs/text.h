/* Text of any length ↔ one element of a dtype: padded bytes, or UCS-4 for U<n>. For the codecs that
 * make elements of texts. */
#pragma once

#include "base/buf.h"
#include "model/dtype.h"

/* S<n>, U<n> and the types of variable length. */
bool text_holds(const struct dtype *);
/* Writes element number i, d->size bytes. -EIO: it is too long, ends in a NUL that padding would
 * hide (variable length only), or is not UTF-8 where it must be (U<n>); the message says which. */
int text_fit(const struct dtype *d, uint64_t i, struct span text, uint8_t *out);
/* Appends the text of element number i. -EINVAL: U<n> with what is no character. */
int text_take(const struct dtype *d, uint64_t i, const uint8_t *element, struct buf *out);
