"""An AWS that answers inside the process."""

import io
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any
from unittest.mock import DEFAULT, Mock

import pytest
from hypothesis import settings
from moto import mock_aws
from moto.core.utils import camelcase_to_underscores, method_names_from_class
from moto.s3.notifications import S3NotificationEvent
from moto.sqs.models import Queue, SQSBackend

from bucketcast import cli
from bucketcast.state.counters import STEP
from tests.command_result import CommandResult
from tests.unit.dynamic_targets.account import Account
from tests.unit.moto_aws import ENTRY, REGION, MotoAws, client, make_bucket, make_state_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

Run = Callable[..., CommandResult]
Deploy = Callable[..., MotoAws]
Watch = Callable[..., Mock]

METHOD_NAMES = cache(method_names_from_class)
UNDERSCORES = cache(camelcase_to_underscores)

settings.register_profile("unit", max_examples=50)
settings.load_profile("unit")


@pytest.fixture
def anyio_backend() -> str:
    """Coroutines that are tests run as the functions and the gateway do."""
    return "asyncio"


@pytest.fixture
def mocked_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No call leaves the process, and no credentials of the machine are used."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "BUCKETCAST_STACK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, REGION)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv(STEP, "0")  # each batch is counted at once, as by a local deploy
    # moto does not know S3's latest events yet, and would call functions, which it does in Docker.
    monkeypatch.setattr(S3NotificationEvent, "is_event_valid", lambda _: True)
    no_mappings = property(lambda _: {}, lambda *_: None)
    monkeypatch.setattr(Queue, "lambda_event_source_mappings", no_mappings, raising=False)
    # moto walks through the set, which another thread may change meanwhile.
    groups = property(lambda queue: {each.group_id for each in [*queue._pending_messages]} - {None})
    monkeypatch.setattr(Queue, "pending_message_groups", groups)
    # Nothing here uses `requests`, for which moto would make a thousand answers a test.
    monkeypatch.setattr("moto.core.models.RESPONSES_METHODS", [])
    # Computed for each call, and by each message that is received: no test waits for days.
    monkeypatch.setattr("moto.core.responses.method_names_from_class", METHOD_NAMES)
    monkeypatch.setattr("moto.sqs.models.camelcase_to_underscores", UNDERSCORES)
    monkeypatch.setattr(SQSBackend, "is_message_valid_based_on_retention_period", lambda *_: True)
    with mock_aws():
        yield


@pytest.fixture
def deploy(mocked_aws: None, monkeypatch: pytest.MonkeyPatch) -> Deploy:  # noqa: ARG001
    """Deploy a stack with these targets, each a kind, a type and an id."""
    return partial(MotoAws, monkeypatch)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Watch an operation of a client, which first raises these errors."""

    def watch(client: Any, operation: str, *errors: Exception) -> Mock:
        watched = Mock(wraps=getattr(client, operation), side_effect=chain(errors, repeat(DEFAULT)))
        monkeypatch.setattr(client, operation, watched)
        return watched

    return watch


@pytest.fixture
def s3(mocked_aws: None) -> "S3Client":  # noqa: ARG001 - it answers
    made: S3Client = client("s3")
    return made


@pytest.fixture
def sqs(mocked_aws: None) -> "SQSClient":  # noqa: ARG001 - it answers
    made: SQSClient = client("sqs")
    return made


@pytest.fixture
def dynamodb(mocked_aws: None) -> "DynamoDBClient":  # noqa: ARG001 - it answers
    made: DynamoDBClient = client("dynamodb")
    return made


@pytest.fixture
def state_table(dynamodb: "DynamoDBClient") -> str:
    return make_state_table(dynamodb)


@pytest.fixture
def account(state_table: str) -> Account:
    return Account(state_table)


def cells(table: str) -> list[list[str]]:
    """The filled cells of a piped table, line by line."""
    return [re.split(r"  +", line) for line in table.splitlines()]


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    """A deployed stack with two targets, and the bucket uploads attached."""
    make_bucket("uploads", QueueConfigurations=[ENTRY])
    return deploy(("webhook", "webhook", "primary"), ("postgres", "postgresql", "main"))


class Typed(io.StringIO):
    """What somebody types on a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(aws: MotoAws, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> CommandResult:
        code = cli.main(words, aws=lambda **_: aws)
        captured = capsys.readouterr()
        said = captured.out + captured.err
        if not {"--json", "config", "import", "export"}.intersection(words):
            # People read one name of a target everywhere, `webhook:primary`.
            arn = re.search(r"(?<!^ARN: )arn:minio:sqs:\S*:[\w-]+:\w+", said, re.MULTILINE)
            assert arn is None
        return CommandResult(code, captured.out, captured.err)

    return run
