#!/bin/bash
# What a store refuses is told to the program that wrote it, once, though another one was told before, or closed a duplicate, and a
# refresh has named it.
. "$(dirname "$0")/functions.sh"

cp -r "$data/sample.zarr" "$tmp/s.zarr"
must_mount "fault+file://$tmp/s.zarr#fault.kind=eacces&fault.calls=put&fault.file=$tmp/broken" rw
"$python" - "$mnt" "$tmp/broken" <<'END' || fail "two programs"
import errno, os, subprocess, sys

mount, broken = sys.argv[1:]
# the other program, which has none of the files open that this one writes, and says what it is told
other = subprocess.Popen([sys.executable, "-uc", """
import os, sys
file = None
for line in sys.stdin:
    try:
        if line.split()[0] == "open":
            file = os.open(line.split()[1], int(line.split()[2]))
        else:
            {"fsync": os.fsync, "close": os.close}[line.strip()](file)
        print(0)
    except OSError as e:
        print(e.errno)
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def told(fn, file):
    try:
        fn(file)
    except OSError as e:
        return e.errno
    return 0

def other_told(*what):
    print(*what, file=other.stdin, flush=True)
    return int(other.stdout.readline())

for name in f"{mount}/sst", f"{mount}/sst.nc":
    for what in (mount, os.O_RDONLY), (name, os.O_RDWR):
        for ends in os.fsync, os.close:
            case = f"{name}, {what}, {ends}: "
            file = os.open(name, os.O_RDWR)
            at = os.fstat(file).st_size - 4
            was = os.pread(file, 4, at)
            assert other_told("open", *what) == 0, case + "the other opens"
            # before anything is written: a file that was closed may be released, and all stored, only then
            open(broken, "w").close()
            os.pwrite(file, bytes(b ^ 1 for b in was), at)
            is_told = other_told("fsync")
            assert is_told == errno.EACCES, case + f"the other is told {is_told}"
            subprocess.run(["true"]) # which closes the file, too
            open(f"{mount}/.zarrfs/refresh").read()
            os.unlink(broken)
            subprocess.run(["true"])
            assert other_told("close") == 0, case + "the other closes"
            heard = told(ends, file)
            assert heard == errno.EACCES, case + f"this is told {heard}"
            if ends == os.fsync:
                assert told(os.fsync, file) == 0, case + "again"
                assert told(os.close, file) == 0, case + "when it is closed"
            open(f"{mount}/.zarrfs/refresh").read()
            file = os.open(name, os.O_RDWR)
            assert told(os.close, file) == 0, case + "a new one"
other.stdin.close()
assert other.wait() == 0
END
umount_store
