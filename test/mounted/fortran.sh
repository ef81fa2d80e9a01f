#!/bin/bash
# A Fortran program reads a variable by direct access and as a stream, with Fortran's own order of dimensions.
. "$(dirname "$0")/functions.sh"
needs gfortran

gfortran -O1 -o "$tmp/fortran" "$here/fortran.f90" || exit 1
"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr"
same "the sum of the planes" "$("$tmp/fortran" "$mnt/t2m" 37 61 50)" "$("$tmp/fortran" "$tmp/want/t2m" 37 61 50)"
same "the sum of the planes, as Python has it" "$("$tmp/fortran" "$mnt/t2m" 37 61 50)" \
	"$("$python" -c 'import sys, numpy; a = numpy.fromfile(sys.argv[1], "f4").reshape(50, -1); print("%.1f" % (a.sum(1, "f8") * numpy.arange(1, 51)).sum())' "$tmp/want/t2m")"
