/* A raw LZ4 block, by our decoder and by liblz4: bytes of the whole (u16) and of the part that is
 * wanted (u16), the block. */
#include "test/lz4_both.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	size_t n = data[0] + 256u * data[1] + 1, stop = (data[2] + 256u * data[3]) % (n + 1);
	if (both_decode((struct span){data + HEAD, size - HEAD}, n, stop))
		abort();
	return 0;
}
