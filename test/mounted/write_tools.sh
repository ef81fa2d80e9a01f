#!/bin/bash
# Programs that write flat files: Fortran by direct access and as a stream, C through stdio (Perl), rsync in place and by a temporary file,
# sed -i, mv, and one like fsx; each as it does to a plain copy. rsync takes files of equal sizes and seconds for equal ones unless told -I.
. "$(dirname "$0")/functions.sh"

needs gfortran rsync perl
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" - "$tmp/s.zarr" <<'END' || exit 1
import sys
import numcodecs
import numpy as np
import stores
values = np.arange(30000.0).reshape(30, 20, 50)
stores.put(sys.argv[1], "a", values, {"_ARRAY_DIMENSIONS": ["t", "y", "x"]}, chunks=(7, 9, 50), compressor=numcodecs.Blosc("zstd"), fill_value=0)
END
must_mount "$tmp/s.zarr" rw,unlimited=t
cp "$mnt/a" "$tmp/plain"

cat >"$tmp/direct.f90" <<'END'
program direct
  implicit none
  character(4096) :: name
  double precision :: plane(50, 20)
  integer :: k
  call get_command_argument(1, name)
  open (10, file=trim(name), access='direct', form='unformatted', recl=8*1000, status='old')
  do k = 1, 30, 3
    read (10, rec=k) plane
    plane(:, 3:5) = -k
    write (10, rec=k) plane
  end do
  plane = 42
  write (10, rec=31) plane
  close (10)
  open (10, file=trim(name), access='stream', form='unformatted', status='old')
  write (10, pos=1 + 8*12345) 1d0, 2d0, 3d0
  close (10)
end program
END
gfortran -o "$tmp/direct" "$tmp/direct.f90" || exit 1

# alike WHAT: what is stored is the plain copy
alike()
{
	cmp "$mnt/a" "$tmp/plain" || fail "after $1"
	"$python" -c 'import sys, stores; sys.stdout.buffer.write(stores.flat(stores.values(sys.argv[1], "a")))' "$tmp/s.zarr" |
		cmp - "$tmp/plain" || fail "after $1, as stored"
}

for file in "$mnt/a" "$tmp/plain"; do
	"$tmp/direct" "$file" || fail "Fortran"
done
alike Fortran
for file in "$mnt/a" "$tmp/plain"; do
	perl -e 'open F, "+<", $ARGV[0] or die; for (1 .. 40) { seek F, 5003 * $_, 0; print F "perl$_" } close F or die' "$file" || fail "perl"
done
alike perl
head -c 248000 /dev/urandom >"$tmp/new"
rsync -I --inplace "$tmp/new" "$mnt/a" || fail "rsync --inplace"
cp "$tmp/new" "$tmp/plain"
alike "rsync --inplace"
head -c 248000 /dev/urandom >"$tmp/new"
rsync -I --no-whole-file --inplace "$tmp/new" "$mnt/a" || fail "rsync by differences"
cp "$tmp/new" "$tmp/plain"
alike "rsync by differences"
head -c 248000 /dev/urandom >"$tmp/new"
cp "$tmp/new" "$tmp/plain"
rsync -aI "$tmp/new" "$mnt/a" || fail "rsync"
alike rsync
head -c 248000 /dev/urandom >"$tmp/new"
cp "$tmp/new" "$tmp/plain"
cp "$tmp/new" "$mnt/next" || fail "cp to a new name"
mv "$mnt/next" "$mnt/a" || fail "mv"
alike "cp and mv"
for file in "$mnt/a" "$tmp/plain"; do
	LC_ALL=C sed -i 's/a/b/g' "$file" || fail "sed -i"
done
alike "sed -i"
# like fsx: of its length, and growing and cut to whole rows (FSX_SEED, FSX_STEPS)
seed=${FSX_SEED:-$$}
gcc -o "$tmp/fsx" "$here/write_tools.c" || exit 1
for row in 0 8000; do
	"$tmp/fsx" "$mnt/a" "$tmp/plain" "$seed" "${FSX_STEPS:-300}" $row || fail "fsx, row $row, seed $seed"
	alike "fsx, row $row, seed $seed"
done
umount_store
