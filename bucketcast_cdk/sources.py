"""Where the code is that functions and jobs carry: in a checkout, or in an installed wheel."""

import os
from pathlib import Path
from typing import Final

import bucketcast

CORE: Final = "core"
CLIENT: Final = "client-"
_HERE: Final = Path(__file__).resolve().parent
_IN_WHEEL: Final = _HERE / "bundled"
ROOT: Final = _IN_WHEEL if _IN_WHEEL.is_dir() else _HERE.parent
"""The folder with `functions/`, `glue_jobs/` and `layers/`."""


def package(root: Path) -> Path:
    """Return the folder of the package `bucketcast`; a wheel has it once, beside this package."""
    found = root / "layers" / "core" / "python" / "bucketcast"
    return found if found.is_dir() else Path(bucketcast.__file__).resolve().parent


def layer(root: Path, name: str) -> Path:
    """Return the folder of a layer: `core`, `shared`, `gateway`, `jobs` or `client-<kind>`."""
    if name == CORE:
        return package(root)
    of_client = name.startswith(CLIENT)
    return root / "layers" / (f"clients/{name.removeprefix(CLIENT)}" if of_client else name)


def cache(root: Path) -> Path:
    """Return where bundles are kept: in the checkout, or in the user's cache folder."""
    if root != _IN_WHEEL:
        return root / ".local" / "bundles"
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "bucketcast" / "bundles"
