#!/bin/sh
# soname.sh LIBRARY CC...: prints the name by which the dynamic linker finds what -lLIBRARY links with (libzip.so.4 for zip)
library=$1
shift
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$@" -shared -o "$dir/x" -Wl,--no-as-needed "-l$library" && readelf -d "$dir/x" >"$dir/needed" || exit 1
name=$(sed -n "s/.*(NEEDED).*\[\(lib$library\.[^]]*\)\]/\1/p" "$dir/needed")
if [ -z "$name" ]; then
	echo "soname.sh: there is no shared library of lib$library" >&2
	exit 1
fi
echo "$name"
