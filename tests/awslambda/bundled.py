"""Print the folders of a function's bundle and layers, for Lambda's Python on this machine.

python -m tests.awslambda.bundled VERSION FUNCTION LAYER ...

A layer is `core`, `shared`, `gateway` or `client-<kind>`. It runs in the project's environment,
which has what bundles are built with; who reads it may have a client only.
"""

import json
import os
import platform
import sys
from collections.abc import Iterable

from bucketcast_cdk.bundling import ROOT, Bundles
from bucketcast_cdk.platform import Platform


def folders(version: str, function: str, layers: Iterable[str]) -> list[str]:
    """Return what is on a function's path: its own folder, then those of its layers.

    They have bytecode, as they do on AWS: the Python of the local functions compiles them.
    """
    os.environ["PATH"] = f"{ROOT}/.local/lambda-venv/bin{os.pathsep}{os.environ['PATH']}"
    bundles = Bundles(ROOT, Platform(version, platform.machine(), here=False))
    found = [bundles.layer(name) for name in layers]
    return [str(bundles.function(function)), *(str(each / "python") for each in found if each)]


if __name__ == "__main__":
    of_python, of_function, *of_layers = sys.argv[1:]
    sys.stdout.write(json.dumps(folders(of_python, of_function, of_layers)))
