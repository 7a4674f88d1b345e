"""The deployed stack from outside: AWS's clients and the `bucketcast` command."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from minio import Minio

from bucketcast.limits import LONGEST_OUTAGE_PAUSE_SECONDS, SQS_CALL_MESSAGES
from tests.command_result import CommandResult
from tests.e2e import iam, request_rules
from tests.e2e.commands import run
from tests.e2e.deployment import STACK, Consumers, Local
from tests.waiting import WAIT_SECONDS, last_seen

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

T = TypeVar("T")
RETURN_SECONDS = WAIT_SECONDS + LONGEST_OUTAGE_PAUSE_SECONDS
"""For a target that was down, which is tried again the later the longer that took."""
COMMAND_SECONDS = 180.0
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead-letter message, with its attributes as plain text."""

    body: str
    attributes: Mapping[str, str]


class Deployed:
    """One deployed stack; `elsewhere` is a folder that commands run in."""

    def __init__(self, local: Local, config: Path, elsewhere: Path) -> None:
        self.local = local
        self.config = config
        self.elsewhere = elsewhere
        self.environment = local.exported()
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """A client with just what `.local/env` says."""
        if service not in self._clients:
            self._clients[service] = boto3.client(  # type: ignore[call-overload]
                service,
                endpoint_url=self.environment["AWS_ENDPOINT_URL"],
                region_name=self.environment["AWS_REGION"],
                aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
                config=Config(max_pool_connections=32, read_timeout=120),
            )
        return self._clients[service]

    def beyond_their_rights(self) -> list[str]:
        """What functions and jobs have called although their roles do not let them, in words."""
        # As a process the gateway makes buckets too, and says so to ingest; its function does not.
        made = (
            f"{STACK}-gateway may not sqs:SendMessage on {self._account.queue(f'{STACK}-ingress')}"
        )
        return [each for each in self.refused(iam.recorded(self.local.calls)) if each != made]

    def faulty_requests(self) -> list[str]:
        """What AWS would refuse of the calls of functions, jobs and commands, in words."""
        return request_rules.faults(iam.recorded(self.local.calls))

    def unused_rights(self) -> list[str]:
        """Which rights nothing has used, of those that the tests can use, in words."""
        return iam.unused(iam.recorded(self.local.calls), self._roles(STACK), self._account)

    def refused(self, calls: Sequence[iam.Call], stack: str = STACK) -> list[str]:
        """Which of these calls the roles do not let a stack's functions make, in words."""
        return iam.refused(calls, self._roles(stack), self._account)

    def _roles(self, stack: str) -> dict[str, list[iam.Statement]]:
        functions, glue, users = (self.client(name) for name in ("lambda", "glue", "iam"))
        roles = iam.roles_of(functions, glue, users, f"{stack}-")
        # The gateway's process also does what the function for listeners does.
        roles.get(f"{stack}-gateway", []).extend(roles.get(f"{stack}-listen", []))
        return roles

    @property
    def _account(self) -> iam.Account:
        return iam.Account(self.ingress.rsplit("/", 2)[1], self.environment["AWS_REGION"])

    def through(self, service: str, keys: Mapping[str, str] | None = None) -> Any:
        """A client of the gateway, by default with the keys of the local user.

        `keys` is what `bucketcast user add --json` printed.
        """
        own = keys or {
            "access_key": self.environment["BUCKETCAST_ACCESS_KEY"],
            "secret_key": self.environment["BUCKETCAST_SECRET_KEY"],
        }
        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.environment["BUCKETCAST_URL"],
            region_name=self.environment["AWS_REGION"],
            aws_access_key_id=own["access_key"],
            aws_secret_access_key=own["secret_key"],
            config=Config(
                signature_version="s3v4", read_timeout=120, retries={"total_max_attempts": 1}
            ),
        )

    def minio(self) -> Minio:
        """MinIO's own client, likewise."""
        where = self.environment
        return Minio(
            endpoint=where["BUCKETCAST_URL"].removeprefix("http://"),
            access_key=where["BUCKETCAST_ACCESS_KEY"],
            secret_key=where["BUCKETCAST_SECRET_KEY"],
            secure=False,
        )

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    @property
    def s3(self) -> "S3Client":
        found: S3Client = self.client("s3")
        return found

    @property
    def sqs(self) -> "SQSClient":
        found: SQSClient = self.client("sqs")
        return found

    @cached_property
    def outputs(self) -> dict[str, str]:
        stacks = self.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return {each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]}

    @cached_property
    def targets(self) -> dict[str, dict[str, str]]:
        """The outputs of the targets by `<kind>.<id>`."""
        texts = [text for key, text in self.outputs.items() if key.startswith("Target")]
        return {f"{each['kind']}.{each['id']}": each for each in map(json.loads, texts)}

    @property
    def ingress(self) -> str:
        return self.environment["BUCKETCAST_INGRESS_QUEUE_URL"]

    def bucketcast(
        self, *arguments: str, within: float = COMMAND_SECONDS, **variables: str
    ) -> CommandResult:
        """Run the command as a user with the exported variables does, and these on top."""
        return run(arguments, self.elsewhere, self.environment | variables, within=within)

    def add_rule(self, bucket: str, target: str, *options: str, event: str = "put,delete") -> None:
        """`bucketcast event add`; the rule is in force when this returns."""
        arn = self.targets[target]["arn"]
        ran = self.bucketcast("event", "add", bucket, arn, "--event", event, "--ahead", *options)
        assert ran.code == 0, f"event add ended with {ran.code}: {ran.out}{ran.err}"

    def fares(self) -> dict[str, dict[str, Any]]:
        """What `bucketcast target ls --json` says, by `<kind>.<id>`."""
        ran = self.bucketcast("target", "ls", "--json", "--wait", "150")
        assert ran.code == 0, ran.err
        return {f"{each['kind']}.{each['id']}": each for each in ran.document["targets"]}

    def put(self, bucket: str, key: str, body: bytes = b"x") -> str:
        """Put an object; its ETag as S3 gave it, without the quotation marks."""
        return self.s3.put_object(Bucket=bucket, Key=key, Body=body)["ETag"].strip('"')

    def send(self, queue: str, bodies: Sequence[str]) -> None:
        """Write messages straight onto a queue, ten in a call."""
        for start in range(0, len(bodies), SQS_CALL_MESSAGES):
            part = bodies[start : start + SQS_CALL_MESSAGES]
            entries: Any = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(part)]
            answer = self.sqs.send_message_batch(QueueUrl=queue, Entries=entries)
            assert not answer.get("Failed"), answer["Failed"]

    def depth(self, queue: str) -> int:
        """Messages in a queue, those in flight and delayed too."""
        wanted: Any = {"QueueUrl": queue, "AttributeNames": _DEPTHS}
        return sum(map(int, self.sqs.get_queue_attributes(**wanted)["Attributes"].values()))

    def depths(self) -> dict[str, int]:
        """All queues but the empty ones. In the order of the flow: nothing slips past the look."""
        urls = [self.ingress, *(each["queue"] for each in self.targets.values())]
        urls += [dead_of(self.ingress), *(each["dead"] for each in self.targets.values())]
        found = {url.rpartition("/")[2]: self.depth(url) for url in urls}
        return {name: depth for name, depth in found.items() if depth}

    def dead_letters(self, queue: str, count: int) -> list[DeadLetter]:
        """Wait for this many messages in a dead-letter queue, and take all out of it."""
        found: list[DeadLetter] = []

        def take() -> list[DeadLetter]:
            answer = self.sqs.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
            )
            for message in answer.get("Messages", ()):
                attributes = message.get("MessageAttributes", {})
                plain = {name: each.get("StringValue", "") for name, each in attributes.items()}
                found.append(DeadLetter(message["Body"], plain))
                self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            return found

        self.until(f"{count} messages in {queue}", take, lambda seen: len(seen) >= count)
        return found

    def until(
        self,
        what: str,
        look: Callable[[], T],
        wanted: Callable[[T], bool],
        *,
        within: float = WAIT_SECONDS,
    ) -> T:
        """Look until it is as wanted; else fail with what was seen and how the system fares."""
        seen = last_seen(look, wanted, within)
        if not wanted(seen):
            last = repr(seen)[:3_000]
            raise AssertionError(f"not within {within:.0f} s: {what}\nseen: {last}\n{self}")
        return seen

    def until_equal(
        self, what: str, look: Callable[[], T], wanted: T, *, within: float = WAIT_SECONDS
    ) -> None:
        """As `until`, for one value; pytest shows what differs."""
        seen = last_seen(look, lambda seen: seen == wanted, within)
        assert seen == wanted, f"not within {within:.0f} s: {what}\n{self}"

    def until_settled(self, *, within: float = WAIT_SECONDS) -> None:
        """Wait until no event is on its way any more."""
        self.until("no message waits", self._waiting, lambda waiting: not waiting, within=within)

    def _waiting(self) -> dict[str, int]:
        return {name: depth for name, depth in self.depths().items() if not name.endswith("-dead")}

    def __str__(self) -> str:
        """How it fares, for a test that fails."""
        return f"queues: {self.depths()}\nthe emulator's log ends:\n{self.local.log_tail()}"


class System(Deployed):
    """The deployed stack that most tests share, with its consumers."""

    def __init__(self, local: Local, consumers: Consumers, config: Path, elsewhere: Path) -> None:
        super().__init__(local, config, elsewhere)
        self.consumers = consumers


@contextmanager
def repeated(step: Callable[[], object], seconds: float) -> Iterator[None]:
    """Do a step again and again, so many seconds apart, beside what is done meanwhile."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            step()

    with ThreadPoolExecutor(1) as pool:
        repeating = pool.submit(repeat)
        try:
            yield
        finally:
            ended.set()
    repeating.result()


def dead_of(queue: str) -> str:
    return f"{queue}-dead"
