"""two_writers.py FILE OTHER [MODEL]: a file of two mounts at once: blocks of 100 bytes in turn through the one and the other, with fsync now
and then. MODEL, a copy of the file, gets the same bytes."""

import os
import sys
import threading

BLOCK, BLOCKS = 100, 40


def bytes_of(block):
    return bytes([block + 1]) * BLOCK


def write(name, even):
    fd = os.open(name, os.O_RDWR)
    for k in range(even, BLOCKS, 2):
        os.pwrite(fd, bytes_of(k), BLOCK * k)
        if k % 8 == even:
            os.fsync(fd)
    os.close(fd)


threads = [threading.Thread(target=write, args=(sys.argv[1 + i], i)) for i in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if len(sys.argv) > 3:
    with open(sys.argv[3], "r+b") as model:
        model.write(b"".join(map(bytes_of, range(BLOCKS))))
