"""The kinds of a scanner's finding: each has an event, and a threshold of its own."""

from typing import Final, Literal

import msgspec

PREFIX: Final = "s3:Scanner:"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of finding: `description` says what is one, and its event's name ends in `name`.

    `option` is the key of its threshold in the pipeline's settings, and `default` the value. That
    limits the versions or the `bytes` of a key, of which so many are a finding, or the `folders`
    directly below a prefix; of versions and folders more are one. `elements` are the response
    elements of its event, by the columns of a finding.
    """

    name: str
    description: str
    option: str
    default: int
    limits: Literal["versions", "bytes", "folders"]
    elements: dict[str, str] = {}

    @property
    def event(self) -> str:
        """The name of its event."""
        return f"{PREFIX}{self.name}"


MANY_VERSIONS: Final = Kind(
    name="ManyVersions",
    description="an object with more versions",
    option="alert_excess_versions",
    default=1_000,
    limits="versions",
    elements={"versions": "x-minio-versions"},
)
LARGE_VERSIONS: Final = Kind(
    name="LargeVersions",
    description="an object whose versions are this large together, in bytes,",
    option="alert_versions_size",
    default=1 << 40,  # a constant in MinIO
    limits="bytes",
    elements={"versions": "x-minio-versions-count", "bytes": "x-minio-versions-size"},
)
BIG_PREFIX: Final = Kind(
    name="BigPrefix",
    description="a prefix with more sub-folders",
    option="alert_excess_folders",
    default=50_000,
    limits="folders",
)
KINDS: Final = {kind.name: kind for kind in (MANY_VERSIONS, LARGE_VERSIONS, BIG_PREFIX)}
