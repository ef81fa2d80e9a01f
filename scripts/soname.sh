#!/bin/sh
# soname.sh LIBRARY CC...: prints the name by which the dynamic linker finds what -lLIBRARY links with (libzip.so.4 for zip)
library=$1
shift
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$@" -shared -o "$dir/x" -Wl,--no-as-needed "-l$library" && readelf -d "$dir/x" | sed -n "s/.*(NEEDED).*\[\(lib$library\.[^]]*\)\]/\1/p"
