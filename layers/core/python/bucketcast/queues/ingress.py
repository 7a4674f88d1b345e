"""The ingress queue and its dead-letter queue, as ingest uses them.

The body of a message that S3 wrote has no room for its history. A successor carries that in
attributes; a dead letter keeps when its event arrived.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bucketcast.ingest import Incoming, TargetBatch, Unsent
from bucketcast.ingest.ingester import Dead
from bucketcast.queues import Outgoing, Queue, dead_letter
from bucketcast.queues.consumer import ConsumerQueue
from bucketcast.queues.fanout import Fanout

_PREFIX = "bucketcast-"
"""What SNS hands on of its publishers' attributes is called otherwise."""
_NUMBERS = ("since", "tries", "created")


class Ingress(ConsumerQueue):
    """Implements `ingest.Publisher`."""

    def __init__(self, own: Queue, dead: Queue, fanout: Fanout) -> None:
        super().__init__(own, dead)
        self._fanout = fanout

    def send(self, arn: str, batch: TargetBatch) -> Sequence[Unsent]:
        return self._fanout.send(arn, batch)

    def forward(self, arn: str, body: str) -> Unsent | None:
        return self._fanout.forward(arn, body)

    def send_again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]:
        outgoing = [
            Outgoing(one.body, delay=delay, attributes=_attributes(one)) for one in messages
        ]
        return self._try(self._own, outgoing)

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]:
        return self._try(self._dead, [_dead_letter(one) for one in dead])


def incoming(record: Mapping[str, Any]) -> Incoming:
    """Return a message from Lambda's record; attributes that are not ours are ignored."""
    system = record["attributes"]
    beside = record.get("messageAttributes") or {}
    found = {name: beside.get(_PREFIX + name, {}).get("stringValue") or "" for name in _NUMBERS}
    numbers = {name: int(text) for name, text in found.items() if text.isdecimal()}
    return Incoming(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        to=beside.get(f"{_PREFIX}to", {}).get("stringValue") or "",
        **numbers,
    )


def _attributes(one: Incoming) -> dict[str, str]:
    beside = {"since": str(one.since), "tries": str(one.tries), "created": str(one.came)}
    return {_PREFIX + name: text for name, text in (beside | {"to": one.to}).items() if text}


def _dead_letter(dead: Dead) -> Outgoing:
    """Return the dead letter, with its reason and what a redrive needs."""
    one = dead.message
    beside = {f"{_PREFIX}created": str(one.came), f"{_PREFIX}to": one.to, "target": one.to}
    return dead_letter(one.body, dead.reason, error=dead.error, **beside)
