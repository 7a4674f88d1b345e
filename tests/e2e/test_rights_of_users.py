"""Two users of two tenants: what each gets of the other's buckets, objects, rules and topics."""

import hashlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.mc import Mc
from tests.e2e.system import System

DENIED, HEAD_DENIED = "403 AccessDenied", "403 403"
KEY = "a.txt"


class User:
    """A user who is no administrator, with a bucket, an object, a rule and a topic."""

    def __init__(self, system: System, folder: Path, name: str, tenant: str) -> None:
        self.system = system
        self.name = name
        self.bucket, self.topic = f"{name}-bucket", f"arn:aws:sns:us-east-1:{tenant}:{name}"
        words = ["--tenant", tenant, "--bucket", f"{name}-*=read,write,notify,create"]
        ran = system.bucketcast("user", "add", name, *words, "--json")
        assert ran.code == 0, ran.err
        self.keys = {key: ran.document[key] for key in ("access_key", "secret_key")}
        self.s3, self.sns = (system.through(each, self.keys) for each in ("s3", "sns"))
        self.mc = Mc(system, folder / name, self.keys)
        self.mc("mb", f"local/{self.bucket}")
        self.s3.put_object(Bucket=self.bucket, Key=KEY, Body=name.encode())
        self.sns.create_topic(Name=name, Attributes={"push-endpoint": "http://127.0.0.1:9/"})
        self.mc("event", "add", f"local/{self.bucket}", "arn:minio:sqs::primary:webhook")

    def curl(self, method: str, target: str, host: str = "") -> str:
        """The status and the code of an answer to curl."""
        url = self.system.environment["BUCKETCAST_URL"] + target
        words = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", ":".join(self.keys.values())]
        words += ["-H", f"Host: {host}"] if host else []
        hashed = f"x-amz-content-sha256: {hashlib.sha256().hexdigest()}"
        ran = subprocess.run(
            ["curl", "-sS", "-X", method, "-H", hashed, "-w", "\n%{http_code}", *words, url],
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        body, _, status = ran.stdout.rpartition("\n")
        return f"{status} {_code(body)}"


@pytest.fixture(scope="module")
def users(system: System, servers_folder: Path) -> Iterator[tuple[User, User]]:
    folder = servers_folder / "mc-rights"
    made = [User(system, folder, f"u{uuid4().hex[:8]}", tenant) for tenant in ("lake", "river")]
    yield made[0], made[1]
    admin = system.through("s3")
    for user in made:
        admin.delete_object(Bucket=user.bucket, Key=KEY)
        admin.delete_bucket(Bucket=user.bucket)
        for words in (("topic", "rm", user.topic, "--yes"), ("user", "rm", user.name)):
            assert system.bucketcast(*words).code == 0
    admin.close()


def _code(body: str) -> str:
    return body.partition("<Code>")[2].partition("</Code>")[0]


def answer(act: Callable[[], object]) -> str:
    """The status and the code of a call by an SDK or by mc."""
    try:
        found = act()
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return f"{status} {error.response['Error']['Code']}"
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code} {_code(error.read().decode())}"
    return found if isinstance(found, str) else "done"


def calls(by: User, bucket: str) -> dict[str, Callable[[], object]]:
    """Calls of a user about a bucket, by boto3, presigned URLs, mc and curl.

    What each call needs is in `tests/unit/gateway/test_rights.py`.
    """
    s3 = by.s3

    def mc(*words: str) -> str:
        ran = by.mc.run(*words)
        said = ran.out + ran.err
        denied = ran.code and ("Access Denied" in said or "Insufficient permissions" in said)
        return DENIED if denied else said

    return {
        "HeadBucket": lambda: s3.head_bucket(Bucket=bucket),
        "GetObject, presigned": lambda: urllib.request.urlopen(  # noqa: S310 - the gateway's
            s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": KEY}), timeout=180
        ),
        "GetObject, bucket in host": lambda: by.curl(
            "GET", f"/{KEY}", f"{bucket}.localhost:{by.system.local.gateway_port}"
        ),
        "PUT ?notification": lambda: s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={}
        ),
        "mc event add": lambda: mc(
            "event", "add", f"local/{bucket}", "arn:minio:sqs::primary:webhook"
        ),
        "mc admin info": lambda: by.curl("GET", "/minio/admin/v3/info"),
    }


def test_users_have_nothing_of_one_another(system: System, users: tuple[User, User]) -> None:
    by, other = users
    before = len(refusals(system, by))
    absent = f"absent-{by.name}"
    for bucket in (other.bucket, absent):
        given = calls(by, bucket)
        found = {name: answer(act) for name, act in given.items()}
        assert found == {name: HEAD_DENIED if "Head" in name else DENIED for name in given}
    assert answer(lambda: by.sns.delete_topic(TopicArn=other.topic)) == "403 AuthorizationError"
    assert answer(lambda: bind(by, other.topic)) == DENIED
    # Every refusal is in the audit log; mc makes more calls than one.
    least = 2 * len(calls(by, absent)) + 2
    refused = system.until(
        f"{least} refusals in the audit log",
        lambda: refusals(system, by)[before:],
        lambda seen: len(seen) >= least,
    )
    assert {line["bucket"] for line in refused} >= {other.bucket, absent}
    own = other.s3.get_object(Bucket=other.bucket, Key=KEY)["Body"].read()
    assert own == other.name.encode()
    assert "primary" in other.mc("event", "list", f"local/{other.bucket}")
    assert [each["Name"] for each in by.s3.list_buckets()["Buckets"]] == [by.bucket]


def bind(by: User, topic: str) -> None:
    wanted = {"Id": "x", "TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}
    by.s3.put_bucket_notification_configuration(
        Bucket=by.bucket, NotificationConfiguration={"TopicConfigurations": [wanted]}
    )


def refusals(system: System, user: User) -> list[dict[str, Any]]:
    """The calls of a user that the gateway refused, by its log."""
    text = (system.local.folder / "logs" / "gateway.log").read_text()
    whole = text.rpartition("\n")[0]
    lines = [json.loads(line) for line in whole.splitlines() if '"audit"' in line]
    return [line for line in lines if line["user"] == user.name and line["status"] == 403]


def test_a_bucket_that_another_user_makes_again_starts_clean(
    system: System, users: tuple[User, User]
) -> None:
    """Who made the first one has nothing of the second, and gets none of its events."""
    one, two = users
    name = f"{one.name}-again"
    one.s3.create_bucket(Bucket=name)
    one.mc("event", "add", f"local/{name}", "arn:minio:sqs::primary:webhook")
    rights = ["--bucket", f"{name}=read,write,notify,create"]
    for user, words in ((two, rights), (one, ["--bucket", f"{one.name}-*=none"])):
        ran = system.bucketcast("user", "set", user.name, *words)
        assert ran.code == 0, ran.err
    system.until_equal(
        "the other user removes it",
        lambda: answer(lambda: two.s3.delete_bucket(Bucket=name)),
        "done",
    )
    two.s3.create_bucket(Bucket=name)
    found = two.s3.get_bucket_notification_configuration(Bucket=name)
    assert "QueueConfigurations" not in found
    system.until_equal(
        "the first user is refused",
        lambda: answer(lambda: one.s3.list_objects(Bucket=name)),
        DENIED,
    )
    assert [each["Name"] for each in one.s3.list_buckets()["Buckets"]] == []
    two.s3.delete_bucket(Bucket=name)
