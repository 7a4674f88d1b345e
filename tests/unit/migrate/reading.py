"""One file of MinIO's, read and merged as a migration does, and what is wrong with it."""

from dataclasses import dataclass

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.migrate import files, merge
from bucketcast.migrate.parsed import Parsed


@dataclass(frozen=True)
class Reading:
    """Texts of one file, which says by its name what it is."""

    name: str

    def read(self, text: str) -> Parsed:
        return files.read([(self.name, text)])

    def settle(self, text: str) -> merge.Merged:
        return merge.merge(self.read(text))

    def problems(self, text: str) -> list[str]:
        with pytest.raises(ConfigErrors) as refused:
            self.settle(text)
        return [str(error) for error in refused.value.errors]
