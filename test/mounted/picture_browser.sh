#!/bin/bash
# VAR.png in a browser, where there is one: maps, curves, flags, grey and photos have the size and the pixels that Pillow reads.
. "$(dirname "$0")/functions.sh"
unset http_proxy HTTP_PROXY no_proxy

needs chromium
"$python" -c "import PIL" 2>/dev/null || skip "no python3-pil"
"$python" "$here/picture.py" make "$tmp/store" || exit 1
must_mount "$tmp/store" list=flat:png,metadata_ttl=3600
"$python" "$here/picture_browser.py" "$mnt" "$tmp" || fail "a browser shows something else"
umount_store
exit $((failures != 0))
