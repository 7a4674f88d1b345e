"""The queues: that they exist, have a dead-letter queue, and let S3 and EventBridge write."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from bucketcast.attach import notifications
from bucketcast.delivery.retention import MAX_RECEIVES, RETENTION_DAYS
from bucketcast.doctor import BY_HAND, Finding
from bucketcast.queues import encryption

_VISIBILITY_SECONDS = 5_400
"""Six times the longest that a function runs, as AWS asks for."""
_DAY_SECONDS = 86_400
POLICY = "queue-policy"
KEY_POLICY = "key-policy"
_KEY_ACTIONS = ("kms:GenerateDataKey", "kms:Decrypt")


def queue(
    subject: str, arn: str, dead: str, attributes: Mapping[str, str] | None, kms_key: str = ""
) -> Iterator[Finding]:
    """Check a queue by its attributes, None if it does not exist; `dead` is "" for a DLQ.

    `kms_key` is the ARN of the key that encrypts it, "" for SQS's own.
    """
    name = arn.rpartition(":")[2]
    if attributes is None:
        yield Finding(
            "queue",
            subject,
            "error",
            f"the queue {name} does not exist",
            f"{BY_HAND}: create it again, then run doctor again for its policy and its mapping",
            _create(name, dead, kms_key),
        )
        return
    if dead and _dead_of(attributes) != dead:
        redrive = shlex.quote(json.dumps({"RedrivePolicy": _redrive(dead)}))
        yield Finding(
            "queue",
            subject,
            "error",
            f"the queue {name} has no redrive to {dead.rpartition(':')[2]}",
            "set it: otherwise SQS drops what nobody can take, without a trace",
            f"aws sqs set-queue-attributes --queue-url {_URL.format(name)} --attributes {redrive}",
        )
        return
    count = int(attributes.get("ApproximateNumberOfMessages", 0))
    if not dead and count:
        yield Finding(
            "queue",
            subject,
            "warn",
            f"{count:,} dead letters in {name}",
            "see why, repair the cause, and send them again with `bucketcast dlq redrive`",
            "bucketcast dlq ls",
        )
        return
    yield Finding("queue", subject, "ok", name)


_URL = "$(aws sqs get-queue-url --queue-name {0} --query QueueUrl --output text)"


def policy(
    queue: str, text: str, service: str, source: str, condition: Mapping[str, Any]
) -> Finding:
    """Check that the policy of the ingress queue lets a service write for a source."""
    subject, name = "ingress", queue.rpartition(":")[2]
    if notifications.admits(text, service, source):
        return Finding(POLICY, subject, "ok", f"{service} may write to {name}")
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sqs:SendMessage",
        "Resource": queue,
        "Condition": condition,
    }
    current = json.loads(text or '{"Version": "2012-10-17"}')
    whole = {**current, "Statement": [*notifications.statements(current), statement]}
    attributes = shlex.quote(json.dumps({"Policy": json.dumps(whole)}))
    return Finding(
        POLICY,
        subject,
        "error",
        f"the policy of {name} does not let {service} write: no event arrives",
        "add the statement; events from before are found by `bucketcast reconcile`, or sent by "
        "`bucketcast backfill`",
        f"aws sqs set-queue-attributes --queue-url {_URL.format(name)} --attributes {attributes}",
    )


def key_policy(key: str, text: str, service: str, source: str) -> Finding:
    """Check that the policy of a customer's key lets a service encrypt what it writes."""
    subject, name = "ingress", key.rpartition("/")[2]
    if all(notifications.admits(text, service, source, each) for each in _KEY_ACTIONS):
        return Finding(KEY_POLICY, subject, "ok", f"{service} may use the key {name}")
    return Finding(
        KEY_POLICY,
        subject,
        "error",
        f"the policy of the key {name} does not let {service} use it: what it sends is lost",
        f"add kms:Decrypt and kms:GenerateDataKey for {service}: see docs/operations.md, Secrets; "
        "events from before are found by `bucketcast reconcile`, or sent by `bucketcast backfill`",
    )


def _dead_of(attributes: Mapping[str, str]) -> str:
    found = json.loads(attributes.get("RedrivePolicy") or "{}")
    return str(found.get("deadLetterTargetArn", ""))


def _redrive(dead: str) -> str:
    return json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": str(MAX_RECEIVES)})


def _create(name: str, dead: str, kms_key: str) -> str:
    attributes = {
        "MessageRetentionPeriod": str(RETENTION_DAYS * _DAY_SECONDS),
        **encryption.attributes(kms_key),
        **({"FifoQueue": "true"} if name.endswith(".fifo") else {}),
    }
    if dead:
        attributes |= {
            "VisibilityTimeout": str(_VISIBILITY_SECONDS),
            "RedrivePolicy": _redrive(dead),
        }
    return (
        f"aws sqs create-queue --queue-name {name} "
        f"--attributes {shlex.quote(json.dumps(attributes))}"
    )
