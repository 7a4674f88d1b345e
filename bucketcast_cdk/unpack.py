"""The stand-in for each package in the jobs' zip file, which unpacks the real ones.

Python cannot import a binary module from a zip file, and Glue distributes the jobs as one. The
first import from it, in the job and in every worker, unpacks the folder `packages`, once per
machine and content, and imports from there. This module may use the standard library only.

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
"""The modules' folder in the zip file."""
CONTENT = "content"
"""The member whose text is the digest of all others."""


def load(name: str, archive: str) -> None:
    """Import the unpacked module instead of the stand-in."""
    folder = str(unpacked(Path(archive)))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    del sys.modules[name]
    importlib.import_module(name)


def unpacked(archive: Path) -> Path:
    """Return the folder with the modules; processes may call this at the same time.

    Raises:
        PermissionError: another user made the folder first.
    """
    with zipfile.ZipFile(archive) as archived:
        digest = archived.read(CONTENT).decode()
        parent = Path(tempfile.gettempdir())
        folder = parent / f"bucketcast-{os.getuid()}-{digest}"
        if not folder.is_dir():
            _unpack(archived, folder)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user: remove it")
    return folder / FOLDER


def _unpack(archived: zipfile.ZipFile, folder: Path) -> None:
    """Unpack into a temporary folder, and rename it when it is complete."""
    unfinished = tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent)
    try:
        archived.extractall(
            unfinished, [name for name in archived.namelist() if name.startswith(FOLDER)]
        )
        Path(unfinished).rename(folder)
    except OSError:
        if not folder.is_dir():  # another process was not first
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
