"""write_past.py MOUNT PAST: handles of one file, a, of 20,000 floats: those that write past the kernel's pages (PAST 1: the kernel lets them be
mapped then), those that read, before and after, and mappings. Each sees at once what another one has written."""
import mmap
import os
import sys
import threading
import time

top, past = sys.argv[1], sys.argv[2] == "1"
name, size = os.path.join(top, "a"), 80000
bad = []


def same(what, got, want):
    if got != want:
        bad.append("%s: %r, not %r" % (what, got, want))


def bytes_read():
    with open(os.path.join(top, ".zarrfs/stats"), encoding="utf8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("zarrfs_fuse_read_bytes_total"))


def written(fd, off, n, byte):
    os.pwrite(fd, bytes([byte]) * n, off)


# a reader and a mapping that come after the writer
w = os.open(name, os.O_RDWR)
r = os.open(name, os.O_RDONLY)
m = mmap.mmap(r, size, prot=mmap.PROT_READ)
for k in range(100):
    off, n = k * 797 % 70000, 1 + k * 91 % 9000
    m[off], os.pread(r, 10, off)
    written(w, off, n, k)
    same("read %d" % k, os.pread(r, n, off), bytes([k]) * n)
    same("mapped %d" % k, m[off:off + n], bytes([k]) * n)
    same("of the writer %d" % k, os.pread(w, n, off), bytes([k]) * n)
os.pread(r, size, 0)
before = bytes_read()
os.pread(r, size, 0)
same("all was asked for again", bytes_read() - before >= size, past)
m.close()
os.close(r)

# bytes of one page, by a mapping and past it, in turn
mine = os.open(name, os.O_RDWR)
m = mmap.mmap(mine, size)
os.pwrite(w, bytes(8192), 8192)
for k in range(0, 240, 2):
    m[8192 + k] = k + 1
    written(w, 8193 + k, 1, k + 2)
    if k % 16 == 0:
        m.flush()
m.flush()
os.fsync(w)
same("a mapping and a writer", os.pread(w, 240, 8192), bytes(range(1, 241)))

# a mapping is looked at while it is written
end = threading.Event()


def look():
    while not end.is_set():
        for at in range(0, size, 4096):
            m[at]


t = threading.Thread(target=look)
t.start()
for k in range(300):
    os.pwrite(w, bytes([k % 251]) * size, 0)
end.set()
t.join()
until = time.monotonic() + 10
while time.monotonic() < until and m[:] != bytes([299 % 251]) * size:
    time.sleep(.05)
same("a mapping after all writes", set(m[:]), {299 % 251})
m[100] = 7
m.flush()
same("one byte by a mapping", os.pread(w, size, 0), bytes([299 % 251]) * 100 + b"\7" + bytes([299 % 251]) * (size - 101))
m.close()
os.close(mine)
os.close(w)

# a reader that has pages, before the writer
r = os.open(name, os.O_RDONLY)
os.pread(r, size, 0)
w = os.open(name, os.O_WRONLY)
for k in range(20):
    written(w, k * 3000, 2500, k)
    same("a reader with pages %d" % k, os.pread(r, 2500, k * 3000), bytes([k]) * 2500)
os.close(w)
same("after close", os.pread(r, 2500, 57000), bytes([19]) * 2500)
os.close(r)
print("\n".join(bad))
sys.exit(bool(bad))
