"""A store in the bucket `bucket` of $S3_ENDPOINT, for tests that compare what is stored there (see stores.py)."""

import importlib.machinery
import importlib.util
import json
import os

import zarr

import as_v3
import stores


def client():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools/s3")
    loader = importlib.machinery.SourceFileLoader("s3_tool", path)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("s3_tool", loader))
    loader.exec_module(tool)
    return tool.Client(os.environ["S3_ENDPOINT"])


class Stored:
    """Those below a key, as they were at the last look."""

    def __init__(self, key):
        self.client, self.key, self.content = client(), key, {}

    def look(self):
        found = {}

        def one(key):
            status, _, body = self.client.ask("GET", "/bucket/" + key)
            if status == 200:
                found[key[len(self.key) + 1:]] = body
        self.client.all(one, list(self.client.keys("bucket", self.key + "/")))
        self.content = found

    def array(self, name):
        return zarr.open_group(self.content, "r")[name][...] if stores.FORM == "v2" else as_v3.values(self.content.get, name)

    def attributes(self, name):
        if stores.FORM == "v2":
            return json.loads(self.content[name + "/.zattrs"])
        return json.loads(self.content[name + "/zarr.json"])["attributes"]
