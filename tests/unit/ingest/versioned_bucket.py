"""A bucket with versions that changes by chance, and S3's records of that."""

import random
from typing import TYPE_CHECKING, Any

from tests.unit.samples import TIME, record

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def record_of(name: str, key: str, moment: int, **item: Any) -> dict[str, Any]:
    """S3's record of what happened at a moment."""
    family = "Created" if name == "Put" else "Removed"
    made = record(key, eventName=f"Object{family}:{name}")
    made["s3"]["object"] |= {"sequencer": f"{moment:016X}", **item}
    made["eventTime"] = TIME[:-4] + f"{moment % 1000:03}Z"
    made["responseElements"] = {"x-amz-request-id": f"R{moment}"}
    return made


class VersionedBucket:
    """One that is put to, deleted from and undeleted by chance, and S3's records of it."""

    def __init__(self, s3: "S3Client", chance: random.Random) -> None:
        self._s3 = s3
        self._chance = chance
        self._moment = 0

    def changed(self) -> dict[str, Any]:
        self._moment += 1
        key = self._chance.choice("abcd")
        versions = self._versions(key)
        what = self._chance.choice(["put", "put", "delete", "version", "version"])
        if what == "put" or not versions:
            made = self._s3.put_object(Bucket="uploads", Key=key, Body=b"x" * self._moment)
            return record_of(
                "Put",
                key,
                self._moment,
                versionId=made["VersionId"],
                size=self._moment,
                eTag=made["ETag"].strip('"'),
            )
        if what == "delete":
            marker = self._s3.delete_object(Bucket="uploads", Key=key)["VersionId"]
            return record_of("DeleteMarkerCreated", key, self._moment, versionId=marker)
        # Half of the time the one that shows, so that another comes up.
        version = self._chance.choice([versions[0], self._chance.choice(versions)])
        self._s3.delete_object(Bucket="uploads", Key=key, VersionId=version)
        return record_of("Delete", key, self._moment, versionId=version)

    def _versions(self, key: str) -> list[str]:
        """All of a key, markers too, the one that shows first."""
        found = self._s3.list_object_versions(Bucket="uploads", Prefix=key)
        every: list[Any] = [*found.get("Versions", []), *found.get("DeleteMarkers", [])]
        every.sort(key=lambda each: not each["IsLatest"])
        return [each["VersionId"] for each in every]

    def listing(self) -> dict[str, tuple[int, str]]:
        found = self._s3.list_objects_v2(Bucket="uploads").get("Contents", [])
        return {f"uploads/{each['Key']}": (each["Size"], each["ETag"].strip('"')) for each in found}
