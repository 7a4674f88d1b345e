"""Run-time targets, and what the stack provides for them."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from bucketcast.delivery.queue_names import bare, dead_of

TOKEN_LENGTH = 6
"""Hex digits at the end of a queue's name, other ones each time that a target is made.

SQS refuses a name for 60 seconds after a queue of that name was deleted.
"""
State = Literal["on", "off", "kept"]


class RuntimeTarget(msgspec.Struct, frozen=True, kw_only=True):
    """One target made at run time.

    `settings` hold references instead of secrets, and `secret` is the name of the one secret
    that they refer to, or "". `number` grows with every change. `state` is `on`; `off` where its
    settings say enable = off; `kept` where it was removed while messages waited. What is `off`
    is given events, which wait; what is `kept` is given none.
    """

    arn: str
    kind: str
    id: str
    queue: str
    settings: dict[str, str]
    number: int
    secret: str = ""
    state: State = "on"

    @property
    def dead(self) -> str:
        """The name of its dead-letter queue."""
        return dead_of(self.queue)


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack has for run-time targets, as its output says.

    `functions` are names by kind. `queues` is the URL of any queue but for its name, `queue_arns`
    the same of ARNs. `prefix` begins the names of the queues and the functions, `secrets` those of
    the secrets; `queue_end` ends the names of new queues. `timeout` and `visibility` are seconds;
    `max_concurrency` is None where the mappings have no limit of their own. `topic` is the ARN of
    whom the alarms tell, "" for nobody.
    `local` is whether it is one laptop's, `tls_skip_verify` whether whoever deployed it lets
    targets skip the check of certificates elsewhere too. `topics_per_user` is how many topics a
    user may have, 0 for any number. `allow_private` is what webhooks may connect to beyond public
    addresses. `kms_key` is the ARN of the key that queues are encrypted with, "" for SQS's own.
    """

    functions: Mapping[str, str]
    queues: str
    queue_arns: str
    prefix: str
    secrets: str
    timeout: int
    visibility: int
    queue_end: str = ""
    max_concurrency: int | None = None
    topic: str = ""
    local: bool = False
    tls_skip_verify: bool = False
    topics_per_user: int = 0
    allow_private: tuple[str, ...] = ()
    kms_key: str = ""

    def queue_name(self, kind: str, id: str, token: str) -> str:  # noqa: A002 - MinIO's word
        """Return what a target's queue is called."""
        return f"{self.prefix}{kind}-{id}-{token}{self.queue_end}"

    def url(self, queue: str) -> str:
        return f"{self.queues}/{queue}"

    def arn(self, queue: str) -> str:
        return f"{self.queue_arns}:{queue}"


ONCE = "once"
"""The end of the name of the queue that a kind's topics share which are not persistent."""


def once_queue(prefix: str, kind: str) -> str:
    """Return the name of that queue; `prefix` begins the names of all run-time targets' queues."""
    return f"{prefix}{kind}-{ONCE}"


def id_of(queue: str, prefix: str) -> str:
    """Return the id of the target of a queue; `prefix` is the part of its name before the id."""
    return bare(queue.removeprefix(prefix))[: -TOKEN_LENGTH - 1]
