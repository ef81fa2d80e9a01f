"""picture_browser.py MNT FOLDER: the pictures of a store of picture.py as Chromium draws them, against Pillow. What a page finds is text at its end."""

import os
import re
import subprocess
import sys
import zlib

import numpy as np
from PIL import Image

import picture
from stores import Check

# Of what is neither opaque nor transparent a canvas does not give the colours that it got: only its transparency counts.
PAGE = """<!doctype html><body>%s<pre></pre><script>
onload = () => {
    const table = Array.from({length: 256}, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1; return n; });
    const lines = Array.from(document.images, image => {
        const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
        const width = canvas.width = image.naturalWidth, height = canvas.height = image.naturalHeight;
        let sum = -1;
        context.drawImage(image, 0, 0);
        const pixels = width ? context.getImageData(0, 0, width, height).data : [];
        pixels.forEach((v, i) => { sum = table[(sum ^ (pixels[i | 3] == 255 || i %% 4 == 3 ? v : 0)) & 255] ^ sum >>> 8; });
        return [image.alt, width, height, ~sum >>> 0].join(" ");
    });
    document.querySelector("pre").textContent = "\\n" + lines.join("\\n") + "\\nend";
};
</script>"""
BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--allow-file-access-from-files", "--dump-dom"]


def pictures():
    """NAME for NAME.png, and those of one index of the leading dimensions."""
    for name, _, _, _, shows in picture.variables():
        for at in shows.get("at", [()]):
            yield ".".join([name, *map(str, at)])


def pillow(path):
    with Image.open(path) as image:
        pixels = np.array(image.convert("RGBA"))
    pixels[pixels[..., 3] < 255, :3] = 0
    return "%d %d %d" % (pixels.shape[1], pixels.shape[0], zlib.crc32(pixels.tobytes()))


def main(mnt, folder):
    check, names = Check(), list(pictures())
    page = os.path.join(folder, "page.html")
    with open(page, "w", encoding="utf8") as file:
        file.write(PAGE % "".join('<img alt="%s" src="file://%s/%s.png">' % (name, mnt, name) for name in names))
    done = subprocess.run(BROWSER + ["--user-data-dir=%s/profile" % folder, "file://" + page], stdin=subprocess.DEVNULL, capture_output=True, timeout=500, check=False)
    shown = dict(re.findall(r"^(\S+) (\d+ \d+ \d+)$", done.stdout.decode(), re.M))
    check.that("\nend" in done.stdout.decode(), "the browser did not end: %s" % done.stderr[-2000:].decode(errors="replace"))
    for name in names:
        check.same("size and sum of %s.png" % name, shown.get(name), pillow("%s/%s.png" % (mnt, name)))
    print("%d pictures" % len(names))
    check.end()


main(*sys.argv[1:])
