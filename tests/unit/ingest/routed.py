"""Messages of the ingress queue, routed as ingest does it."""

from collections.abc import Iterable
from typing import Any

from bucketcast.delivery.messages import Item, Message, Received
from bucketcast.delivery.policy import Policy, Term
from bucketcast.ingest import routing
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import Facts, Routes, RuleLookup


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


def batches(routes: Routes) -> dict[str, list[Item]]:
    return {to.arn: batch for to, batch in routes.batches.items()}
