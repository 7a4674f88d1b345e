"""One deployed stack for all tests here, ended with the run; each test has a prefix of its own."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest

from tests.conftest import start_or_fail
from tests.e2e.deployment import BUCKETS, Consumers, Local, write_configuration
from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.tls import Tls
from tests.servers.webhook import WebhookServer

ACCOUNT = "000000000000"


@pytest.fixture(scope="session")
def consumers(servers_folder: Path, tls: Tls) -> Iterator[Consumers]:
    """Servers of our own: other tests clear theirs, and make them fail."""
    with ExitStack() as running:

        def start(kind: str, name: str) -> object:
            server = start_or_fail(kind, servers_folder / "e2e" / name, tls)
            running.callback(server.stop)
            return server

        webhook, flaky = start("webhook", "webhook"), start("webhook", "flaky")
        postgres, redis = start("postgres", "postgres"), start("redis", "redis")
        assert isinstance(webhook, WebhookServer)
        assert isinstance(flaky, WebhookServer)
        assert isinstance(postgres, PostgresServer)
        assert isinstance(redis, RedisServer)
        yield Consumers(webhook, flaky, postgres, redis)


@pytest.fixture(scope="session")
def system(
    consumers: Consumers, servers_folder: Path, request: pytest.FixtureRequest
) -> Iterator[System]:
    """The stack of the app as it is, deployed by the CDK into an emulator of its own."""
    folder = servers_folder / "e2e"
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    config = folder / "bucketcast.toml"
    write_configuration(config, BUCKETS, consumers.targets(), dynamic="postgres,redis,webhook")
    with config.open("a", encoding="utf-8") as more:
        more.write('[pipeline]\nbuckets = ["*"]\n')
    local = Local(folder / "local")
    try:
        local.start_emulator()
        _make_buckets_with_notifications(local)
        local.up(config)
        deployed = System(local, consumers, config, elsewhere)
        # Every function starts here once: the tests are about what comes after that.
        deployed.fares()
        yield deployed
        # The local AWS lets every function do everything, and takes every value. AWS does not.
        assert deployed.beyond_their_rights() == []
        assert deployed.faulty_requests() == []
        if _all_of_them(request.session):
            unused = deployed.unused_rights()
            assert not unused, "\n".join(unused)
        deployed.close()
    finally:
        local.stop()


def _all_of_them(session: pytest.Session) -> bool:
    """Whether every file here was run, so that what nothing used is a right too many."""
    files = set(Path(__file__).parent.glob("test_*.py"))
    return {item.path for item in session.items} >= files and not session.testsfailed


@pytest.fixture
def receiver(
    servers_folder: Path, tls: Tls, request: pytest.FixtureRequest
) -> Iterator[WebhookServer]:
    """A webhook of this test alone."""
    server = start_or_fail("webhook", servers_folder / "e2e" / request.node.name, tls)
    assert isinstance(server, WebhookServer)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mc(system: System, servers_folder: Path) -> Mc:
    return Mc(system, servers_folder / "mc")


@pytest.fixture
def bucket(system: System, prefix: str) -> str:
    """Create a bucket that is not attached."""
    name = prefix.strip("/")[-40:].strip("-")
    system.s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    """The first part of the keys of one test, and of its rules."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-")
    return f"{name}-{uuid4().hex[:6]}/"


@pytest.fixture
def rule(system: System, prefix: str) -> Callable[..., None]:
    """Add a rule for the keys of this test in the bucket uploads: `rule("webhook.primary")`."""

    def add(*targets: str, suffix: str = "", event: str = "put,delete") -> None:
        options = ["--prefix", prefix, *(["--suffix", suffix] if suffix else [])]
        for target in targets:
            system.add_rule("uploads", target, *options, event=event)

    return add


def _make_buckets_with_notifications(local: Local) -> None:
    """What somebody had before Bucketcast came: it must stay as it is."""
    where: Any = {
        "endpoint_url": local.endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
    }
    s3, sqs = boto3.client("s3", **where), boto3.client("sqs", **where)
    queue = sqs.create_queue(QueueName="theirs")["QueueUrl"]
    assert queue.endswith(f"/{ACCOUNT}/theirs")
    s3.create_bucket(Bucket="archive")
    theirs: Any = {
        "Id": "theirs",
        "QueueArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:theirs",
        "Events": ["s3:ObjectCreated:*"],
        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "theirs/"}]}},
    }
    s3.put_bucket_notification_configuration(
        Bucket="archive", NotificationConfiguration={"QueueConfigurations": [theirs]}
    )
    for each in (s3, sqs):
        each.close()
