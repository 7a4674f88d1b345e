"""Stands in the jobs' package, beside the folder `packages`, in place of what is in there.

Python cannot import a binary module from a zip file, and Glue hands the package over as one. So the
first import from it, in the job and in every worker, unpacks the whole folder, once a machine and
content, and goes on from there. Only the standard library is known here.

`docs/adr/0023-the-jobs-package-unpacks-itself.md`
"""

import importlib
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = "packages/"
"""Where in the zip file the modules are."""
CONTENT = "content"
"""The member whose text is the digest of all others."""


class UnsafeFolderError(Exception):
    """The folder belongs to another user, who could have put anything into it."""


def load(name: str, archive: str) -> None:
    """Put the unpacked module in place of the stand-in that is being imported."""
    folder = str(unpacked(Path(archive)))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    del sys.modules[name]
    importlib.import_module(name)


def unpacked(archive: Path) -> Path:
    """The folder with the modules; any number of processes may ask for it at the same time.

    Raises:
        UnsafeFolderError: somebody else was there first.
    """
    with zipfile.ZipFile(archive) as held:
        digest = held.read(CONTENT).decode()
        parent = Path(tempfile.gettempdir())
        folder = parent / f"bucketcast-{os.getuid()}-{digest}"
        if not folder.is_dir():
            _unpack(held, folder)
    if folder.lstat().st_uid != os.getuid():
        raise UnsafeFolderError(f"{folder} belongs to another user: remove it")
    return folder / FOLDER


def _unpack(held: zipfile.ZipFile, folder: Path) -> None:
    """Whole or not at all: it gets its name when it is complete."""
    unfinished = tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent)
    try:
        held.extractall(unfinished, [each for each in held.namelist() if each.startswith(FOLDER)])
        Path(unfinished).rename(folder)
    except OSError:
        if not folder.is_dir():  # another process was not first
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
