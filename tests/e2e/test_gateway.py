"""The gateway before S3: every client's calls go through it as if it were not there."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from minio import Minio

from tests.e2e.mc import Mc
from tests.e2e.system import System

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# Of each answer, or of the connection that it comes by.
_OWN = ("x-amz-request-id", "x-amz-id-2", "x-amzn-requestid", "date", "transfer-encoding")
LARGE = 24 * 1024 * 1024


@pytest.fixture(scope="module")
def through(system: System) -> Iterator["S3Client"]:
    """boto3's client with what `.local/env` says of the gateway."""
    client = system.through("s3")
    yield client
    client.close()


@pytest.fixture(scope="module")
def minio(system: System) -> Minio:
    return system.minio()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    file = tmp_path / "large.bin"
    file.write_bytes(os.urandom(LARGE))
    return file


def same(s3: "S3Client", key: str, file: Path) -> bool:
    body = s3.get_object(Bucket="uploads", Key=key)["Body"].read()
    return hashlib.sha256(body).digest() == hashlib.sha256(file.read_bytes()).digest()


@pytest.mark.parametrize(
    "key", ["plain.txt", "ü b+c/(d)~'!*.txt", "a//b//", "%2e%2e/%41", "ends in dots..", "☃?x=1#y"]
)
def test_any_key_is_the_same_on_both_sides(
    system: System, through: "S3Client", prefix: str, key: str
) -> None:
    metadata = {"note": "two  blanks", "empty": ""}
    put = through.put_object(Bucket="uploads", Key=prefix + key, Body=b"x" * 100, Metadata=metadata)
    found = system.s3.get_object(Bucket="uploads", Key=prefix + key)
    assert (found["ETag"], found["Body"].read()) == (put["ETag"], b"x" * 100)
    assert found["Metadata"]["note"] == "two blanks" or found["Metadata"] == metadata
    listed = through.list_objects_v2(Bucket="uploads", Prefix=prefix)["Contents"]
    assert [each["Key"] for each in listed] == [prefix + key]
    through.delete_object(Bucket="uploads", Key=prefix + key)
    assert system.s3.list_objects_v2(Bucket="uploads", Prefix=prefix)["KeyCount"] == 0


def test_answers_and_errors_are_those_of_s3(
    system: System, through: "S3Client", prefix: str
) -> None:
    system.put("uploads", prefix + "a", b"0123456789")

    def both(call: str, **given: Any) -> list[Any]:
        seen = []
        for client in (through, system.s3):
            try:
                answer = getattr(client, call)(Bucket="uploads", **given)
            except ClientError as error:
                answer = error.response
            meta = answer.pop("ResponseMetadata")
            for name in _OWN:
                meta["HTTPHeaders"].pop(name, None)
            for name in ("RequestId", "HostId", "RetryAttempts", "MaxAttemptsReached"):
                meta.pop(name, None)
            body = answer.pop("Body").read() if "Body" in answer else b""
            error_ = {**answer.pop("Error", {}), "RequestId": "", "HostId": ""}
            seen.append((meta, answer, body, error_))
        return seen

    for call, given in (
        ("get_object", {"Key": prefix + "a", "Range": "bytes=2-4"}),
        ("get_object", {"Key": prefix + "a", "Range": "bytes=100-"}),
        ("head_object", {"Key": prefix + "a"}),
        ("head_object", {"Key": prefix + "none"}),
        ("get_object", {"Key": prefix + "none"}),
        ("get_object", {"Key": prefix + "a", "IfNoneMatch": '"781e5e245d69b566979b86e28d23f2c7"'}),
        ("get_object_tagging", {"Key": prefix + "a"}),
        ("get_bucket_location", {}),
        ("head_bucket", {}),
        ("get_bucket_lifecycle_configuration", {}),
    ):
        gateway, direct = both(call, **given)
        assert gateway == direct, call


def test_a_large_file_in_parts_by_each_client(
    system: System, through: "S3Client", minio: Minio, mc: Mc, prefix: str, large: Path
) -> None:
    through.upload_file(str(large), "uploads", prefix + "boto3")
    minio.fput_object(bucket_name="uploads", object_name=prefix + "minio", file_path=str(large))
    mc("cp", str(large), f"local/uploads/{prefix}mc")
    for name in ("boto3", "minio", "mc"):
        assert same(system.s3, prefix + name, large), name
        assert same(through, prefix + name, large), name
    back = large.with_name("back")
    mc("cp", f"local/uploads/{prefix}boto3", str(back))
    assert back.read_bytes() == large.read_bytes()


def test_secret_key_is_in_two_files_only(system: System) -> None:
    secret = system.environment["BUCKETCAST_SECRET_KEY"]
    holders = []
    for folder, _, names in os.walk(system.local.folder):
        for path in (Path(folder, name) for name in names):
            with suppress(FileNotFoundError):  # the emulator removes what a function ran in
                if path.is_file() and secret.encode() in path.read_bytes():
                    holders.append(path.name)
    assert sorted(holders) == ["env", "gateway-user.json"]
    assert json.loads((system.local.folder / "gateway-user.json").read_text())
