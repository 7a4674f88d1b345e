"""Two users of two tenants: what each gets of the other's buckets, objects, rules and topics."""

import hashlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.e2e.test_listen import Listener

DENIED, HEAD_DENIED = "403 AccessDenied", "403 403"
KEY = "a.txt"


class User:
    """A user who is no administrator, with a bucket, an object, a rule and a topic."""

    def __init__(self, system: System, folder: Path, name: str, tenant: str) -> None:
        self.system = system
        self.name, self.tenant = name, tenant
        self.bucket, self.topic = f"{name}-bucket", f"arn:aws:sns:us-east-1:{tenant}:{name}"
        self.add(f"{name}-*=read,write,notify,create")
        self.mc = Mc(system, folder / name, self.keys)
        self.mc("mb", f"local/{self.bucket}")
        self.s3.put_object(Bucket=self.bucket, Key=KEY, Body=name.encode())
        self.sns.create_topic(Name=name, Attributes={"push-endpoint": "http://127.0.0.1:9/"})
        self.mc("event", "add", f"local/{self.bucket}", "arn:minio:sqs::primary:webhook")

    def add(self, *rights: str) -> None:
        """Add the user; as often as it is called, it is another one."""
        words = ["--tenant", self.tenant, *(word for each in rights for word in ("--bucket", each))]
        ran = self.system.bucketcast("user", "add", self.name, *words, "--json")
        assert ran.code == 0, ran.err
        self.use(ran.document)

    def use(self, keys: Mapping[str, str]) -> None:
        self.keys = {name: keys[name] for name in ("access_key", "secret_key")}
        self.s3, self.sns = (self.system.through(each, self.keys) for each in ("s3", "sns"))

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
    """The calls of a user about a bucket, by boto3, presigned URLs, mc and curl."""
    s3, at = by.s3, {"Bucket": bucket, "Key": KEY}
    source = {"CopySource": {"Bucket": bucket, "Key": KEY}}
    own = {"Bucket": by.bucket, "Key": "copy"}
    lifecycle = {"Rules": [{"Status": "Enabled", "Prefix": "", "Expiration": {"Days": 1}}]}

    def presigned(operation: str, method: str) -> object:
        request = urllib.request.Request(  # noqa: S310 - the gateway's
            s3.generate_presigned_url(operation, at), method=method
        )
        return urllib.request.urlopen(request, timeout=180)  # noqa: S310 - as above

    def copy_part() -> object:
        upload = s3.create_multipart_upload(**own)["UploadId"]
        try:
            return s3.upload_part_copy(**own, **source, PartNumber=1, UploadId=upload)
        finally:
            s3.abort_multipart_upload(**own, UploadId=upload)

    def mc(*words: str) -> str:
        ran = by.mc.run(*words)
        said = ran.out + ran.err
        denied = ran.code and ("Access Denied" in said or "Insufficient permissions" in said)
        return DENIED if denied else said

    return {
        "HeadBucket": lambda: s3.head_bucket(Bucket=bucket),
        "GetBucketLocation": lambda: s3.get_bucket_location(Bucket=bucket),
        "ListObjectsV2": lambda: s3.list_objects_v2(Bucket=bucket),
        "ListObjectVersions": lambda: s3.list_object_versions(Bucket=bucket),
        "HeadObject": lambda: s3.head_object(**at),
        "GetObject": lambda: s3.get_object(**at),
        "GetObject, presigned": lambda: presigned("get_object", "GET"),
        "GetObject, bucket in host": lambda: by.curl(
            "GET", f"/{KEY}", f"{bucket}.localhost:{by.system.local.gateway_port}"
        ),
        "GetObjectTagging": lambda: s3.get_object_tagging(**at),
        "CopyObject from it": lambda: s3.copy_object(**own, **source),
        "UploadPartCopy from it": copy_part,
        "PutObject": lambda: s3.put_object(**at, Body=b"x"),
        "PutObject, presigned": lambda: presigned("put_object", "PUT"),
        "PutObjectAcl": lambda: s3.put_object_acl(**at, ACL="public-read"),
        "CopyObject to it": lambda: s3.copy_object(
            **at, CopySource={"Bucket": by.bucket, "Key": KEY}
        ),
        "CreateMultipartUpload": lambda: s3.create_multipart_upload(**at),
        "DeleteObject": lambda: s3.delete_object(**at),
        "DeleteObjects": lambda: s3.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": KEY}]}
        ),
        "GetBucketPolicy": lambda: s3.get_bucket_policy(Bucket=bucket),
        "PutBucketPolicy": lambda: s3.put_bucket_policy(Bucket=bucket, Policy="{}"),
        "PutBucketVersioning": lambda: s3.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        ),
        "PutBucketLifecycle": lambda: s3.put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration=lifecycle
        ),
        "CreateBucket": lambda: s3.create_bucket(Bucket=bucket),
        "DeleteBucket": lambda: s3.delete_bucket(Bucket=bucket),
        "GET ?notification": lambda: s3.get_bucket_notification_configuration(Bucket=bucket),
        "PUT ?notification": lambda: s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={}
        ),
        "DELETE ?notification": lambda: by.curl("DELETE", f"/{bucket}?notification="),
        "GET ?events": lambda: by.curl("GET", f"/{bucket}?events=s3%3AObjectCreated%3A%2A"),
        "mc mb": lambda: mc("mb", f"local/{bucket}"),
        "mc ls": lambda: mc("ls", f"local/{bucket}"),
        "mc cat": lambda: mc("cat", f"local/{bucket}/{KEY}"),
        "mc event add": lambda: mc(
            "event", "add", f"local/{bucket}", "arn:minio:sqs::primary:webhook"
        ),
        "mc admin info": lambda: by.curl("GET", "/minio/admin/v3/info"),
        "metrics": lambda: by.curl("GET", "/minio/v2/metrics/cluster"),
    }


@pytest.mark.parametrize("first", [0, 1])
def test_users_have_nothing_of_one_another(
    system: System, users: tuple[User, User], first: int
) -> None:
    by, other = users[first], users[1 - first]
    before = len(refusals(system, by))
    absent = f"absent-{by.name}"
    for bucket in (other.bucket, absent):
        given = calls(by, bucket)
        found = {name: answer(act) for name, act in given.items()}
        assert found == {name: HEAD_DENIED if "Head" in name else DENIED for name in given}
    of_topics: list[Callable[[], object]] = [
        lambda: by.sns.get_topic_attributes(TopicArn=other.topic),
        lambda: by.sns.delete_topic(TopicArn=other.topic),
        lambda: by.sns.set_topic_attributes(
            TopicArn=other.topic, AttributeName="OpaqueData", AttributeValue="x"
        ),
    ]
    assert {answer(act) for act in of_topics} == {"403 AuthorizationError"}
    assert answer(lambda: bind(by, other.topic)) == DENIED
    # Every refusal is in the audit log; mc makes more calls than one.
    least = 2 * len(calls(by, absent)) + len(of_topics) + 1
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


def test_who_listens_to_all_buckets_hears_of_those_with_notify(
    system: System, users: tuple[User, User]
) -> None:
    one, two = users
    path = "/?events=s3%3AObjectCreated%3A%2A&ping=1"
    with closing(Listener(system, path, keys=one.keys)) as listener:
        for number in range(3):
            two.s3.put_object(Bucket=two.bucket, Key=KEY, Body=b"two")
            one.s3.put_object(Bucket=one.bucket, Key=KEY, Body=b"%d" % number)
        system.until_equal("the own events", listener.keys, [KEY] * 3)
        buckets = [json.loads(line)["Records"] for line in listener.lines()]
        assert {one_["s3"]["bucket"]["name"] for all_ in buckets for one_ in all_ or ()} == {
            one.bucket
        }


def test_rights_are_given_keys_rotated_and_users_removed(
    system: System, users: tuple[User, User]
) -> None:
    """Each takes effect within five seconds."""
    one, two = users

    def read() -> str:
        return answer(lambda: two.s3.get_object(Bucket=one.bucket, Key=KEY))

    for rights, expected in (("read", "done"), ("none", DENIED)):
        ran = system.bucketcast("user", "set", two.name, "--bucket", f"{one.name}-*={rights}")
        assert ran.code == 0, ran.err
        system.until_equal(f"bob has {rights}", read, expected)
    old = two.keys
    ran = system.bucketcast("user", "key", "add", two.name, "--json")
    new = ran.document
    for keys in (new, old):
        two.use(keys)
        assert two.s3.get_object(Bucket=two.bucket, Key=KEY)["Body"].read()
    assert system.bucketcast("user", "key", "rm", two.name, old["access_key"]).code == 0
    system.until_equal(
        "the old key is refused", lambda: answer(two.s3.list_buckets), "403 InvalidAccessKeyId"
    )
    two.use(new)
    assert two.s3.list_buckets()["Buckets"]
    # Another user of the same name inherits nothing, also not what that user made.
    assert system.bucketcast("user", "rm", two.name).code == 0
    system.until_equal(
        "the removed user is refused", lambda: answer(two.s3.list_buckets), "403 InvalidAccessKeyId"
    )
    two.add()
    assert two.s3.list_buckets()["Buckets"] == []
    assert answer(lambda: two.s3.get_object(Bucket=two.bucket, Key=KEY)) == DENIED
    refused = answer(lambda: two.sns.get_topic_attributes(TopicArn=two.topic))
    assert refused == "403 AuthorizationError"
    assert answer(lambda: two.s3.create_bucket(Bucket=two.bucket)) == DENIED


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
