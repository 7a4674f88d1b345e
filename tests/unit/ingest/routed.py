"""Messages of the ingress queue, routed as ingest does it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bucketcast.delivery.messages import Item, Message, Received
from bucketcast.delivery.policy import Policy, Term
from bucketcast.ingest import routing
from bucketcast.ingest.aws.object_facts import ObjectReader
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import Facts, Routes, RuleLookup, Wants
from bucketcast.settings.environment import ObjectFacts

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def items(messages: Iterable[tuple[str, str]]) -> list[Item]:
    """The events of messages, as ingest opens them."""
    nowhere: Any = None
    intake = Intake(lambda _: {}, None, nowhere)
    received = (Message(name, name, body, 1, 1) for name, body in messages)
    opened = (Received(one, Term(1, 1, 1, one.history, Policy())) for one in received)
    return [Item(one, each) for one in opened for each in intake.open(one)]


def route(
    messages: Iterable[tuple[str, str]], rulebook: RuleLookup, facts: Facts | None = None
) -> Routes:
    return routing.route(items(messages), rulebook, facts, lambda: 30.0)


def object_reader(s3: "S3Client", facts: ObjectFacts) -> ObjectReader:
    """The reader of ingest, without dynamic targets."""
    return ObjectReader(
        s3,
        facts,
        "Bucketcast-ingest",
        deployed=lambda _: True,
        dynamic=lambda _: Wants(),
    )


def batches(routes: Routes) -> dict[str, list[Item]]:
    return {to.arn: batch for to, batch in routes.batches.items()}
