"""What buckets hold, by their last whole scans, in the state table, for MinIO's metrics."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from bucketcast.state.table import EXPIRES, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "#usage"
_KEPT_SECONDS: Final = 90 * 86_400
"""A bucket that is not scanned for so long, as it may be gone, is forgotten."""


class BucketUsage(msgspec.Struct, frozen=True):
    """What a bucket holds; None is what the source of its scan did not list.

    `bytes` are of all versions, `versions` are all with delete markers, and `sizes` are current
    objects by MinIO's class of sizes.
    """

    objects: int
    versions: int | None
    delete_markers: int | None
    bytes: int | None
    sizes: Mapping[str, int]


class Usages:
    """The usage of a deployment's buckets."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._items = Partition(table, PARTITION, client)

    def put(self, bucket: str, usage: BucketUsage, taken: float) -> bool:
        """Store a bucket's usage at a Unix time, unless a newer one is stored; return True if so.

        Raises:
            ClientError: DynamoDB refused.
        """
        item = {
            "taken": {"N": f"{taken:.3f}"},
            "usage": {"B": msgspec.json.encode(usage)},
            EXPIRES: {"N": f"{taken + _KEPT_SECONDS:.0f}"},
        }
        return self._items.put(
            bucket,
            item,
            ConditionExpression="attribute_not_exists(taken) OR taken <= :taken",
            ExpressionAttributeValues={":taken": item["taken"]},
        )

    def read(self) -> Iterator[tuple[str, BucketUsage]]:
        """Yield the usage of each bucket, by name.

        Raises:
            ClientError: DynamoDB refused.
        """
        for item in self._items.items():
            yield item["key"]["S"], msgspec.json.decode(item["usage"]["B"], type=BucketUsage)
