"""A backup file of the letters that purge removes."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from bucketcast.dlq.repack import Plan
from bucketcast.errors import BucketcastError


class Backup:
    """A new file with a line per letter, for its owner only; `add` returns once it is on disk."""

    def __init__(self, path: Path, line: Callable[[Plan], bytes]) -> None:
        self._line = line
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise BucketcastError(f"{path} exists already: choose another name") from None
        except OSError as error:
            raise BucketcastError(f"{path}: {error.strerror}; choose another path") from None
        self._file = os.fdopen(handle, "wb")
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # `add` has written everything to disk; a failed write would only fail again here.
        with suppress(OSError):
            self._file.close()

    def add(self, plans: Sequence[Plan]) -> set[str]:
        """Write letters to the file and return their ids, which may then be removed."""
        try:
            self._file.writelines(self._line(plan) + b"\n" for plan in plans)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise BucketcastError(
                f"{self._path}: {error.strerror}; nothing more is removed"
            ) from None
        return {plan.letter.id for plan in plans}
