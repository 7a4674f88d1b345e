"""The worst input that each limit which meets the gateway allows.

Each is measured in a process of its own, which has imported what the gateway imports.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import msgspec

from bucketcast.errors import BucketcastError
from bucketcast.gateway.server import allow_open_files
from bucketcast.notifications.api import conversion, document
from bucketcast.notifications.api.checks import MOST
from bucketcast.rules import cost
from bucketcast.topics.errors import TopicError
from bucketcast.topics.policy import Policy
from bucketcast.web import xml
from tests.unit.gateway.served import connected, sent, served
from tests.unit.limits.of_ingest import PATTERNS, Taken, measured, peak_mb
from tests.unit.web.requests import signed

HOOK = "arn:minio:sqs::a:webhook"
POLICY_BYTES = 30_720
IDLE, SLOW = 2_000, 100


def documents() -> list[str]:
    """Return documents of any form as long as one may be: many parts, much in one, long texts."""
    value = "<FilterRule><Name>{}</Name><Value>{}#</Value></FilterRule>"
    regexes = [
        f"<Filter><S3Key>{value.format('regex', each)}</S3Key></Filter>" for each in PATTERNS
    ]
    tags = value.format("t#", "x" * 1_000) * 3_000
    topics = [*regexes, f"<Filter><S3Tags>{tags}</S3Tags></Filter>", "<Event>x</Event>" * 9_000]
    topic = "<TopicConfiguration><Id>#</Id><Topic>arn:aws:sns:us-east-1::t</Topic>{}"
    queue = f"<QueueConfiguration><Queue>{HOOK}</Queue><Event>s3:ObjectCreated:*</Event>{{}}"
    prefixes = [
        f"<Filter><S3Key>{value.format('prefix', x)}</S3Key></Filter>" for x in ("", "x" * 999)
    ]
    parts = [topic.format(each) + "</TopicConfiguration>" for each in topics]
    parts += [
        queue.format(each) + "</QueueConfiguration>" for each in (*prefixes, "<!--x-->" * 500)
    ]
    return [
        *parts,
        f"<QueueConfiguration>{'x' * 8_000_000}",
        f"<QueueConfiguration a='{'&lt;' * 9_000}'/>",
    ]


def put(part: str) -> Taken:
    """Read and count a document of as many such parts as fit."""
    most = min(xml.MAX_BYTES // len(part), 10_000 if "<Queue>" in part else MOST)
    inside = "".join(part.replace("#", f"{number}") for number in range(most))
    text = f"<{document.ROOT}>{inside[: xml.MAX_BYTES - 100]}</{document.ROOT}>".encode()
    began = time.process_time()
    with suppress(BucketcastError):
        given = document.read(text, [HOOK].__contains__, "us-east-1")
        cost.check(conversion.apply_document("uploads", given, [], whole=False))
    return Taken(peak_mb(), time.process_time() - began)


def judge(patterns: list[str]) -> Taken:
    """Read a topic's policy, and judge by it."""
    allow = {"Effect": "Allow", "Action": "sns:Publish", "Principal": "*", "Resource": patterns}
    text = msgspec.json.encode({"Statement": allow}).decode()
    began = time.process_time()
    with suppress(TopicError):
        Policy.parse(text).evaluate("", "bob", "sns:Publish", "arn:aws:sns:us-east-1::" + "a" * 256)
    return Taken(peak_mb(), time.process_time() - began)


def policies() -> list[list[str]]:
    """Return policies that are as long as one may be, with as many wildcards as it may have."""
    words = (
        ("*a" * 97, 1),
        ("*{}" + "a" * 250, 97),
        ("?" * 97, 1),
        ("*a" * 15_000, 1),
        ("a{}", 3_500),
        ("*{}", 3_500),
    )
    return [[word.format(number) for number in range(many)] for word, many in words]


def connect(heads: list[bytes]) -> Taken:
    """Open connections that send this, and read nothing; then serve another call."""
    allow_open_files()
    with served() as (port, _), ExitStack() as opened:
        for head in heads:
            opened.enter_context(connected(port)).sendall(head)
        time.sleep(3)
        began = time.perf_counter()
        with connected(port) as user:
            user.sendall(sent(signed("GET", "/images")))
            assert user.recv(12) == b"HTTP/1.1 200"
        return Taken(peak_mb(), time.perf_counter() - began)


def worst(given: tuple[Callable[[Any], Taken], Sequence[Any]]) -> Taken:
    """Return the most memory and the most time of these inputs, one after another."""
    measure, inputs = given
    return Taken(*map(max, zip(*map(measure, inputs), strict=True)))


LIMITS: dict[tuple[str, str], Callable[[], Taken]] = {
    ("notifications of a bucket, as XML", f"{xml.MAX_BYTES:,} bytes"): partial(
        measured, worst, (put, documents())
    ),
    ("policy of a topic", f"{POLICY_BYTES:,} bytes"): partial(measured, worst, (judge, policies())),
    ("idle connections", f"{IDLE:,}"): partial(measured, connect, [b""] * IDLE),
    ("slow readers", f"{SLOW:,}"): partial(
        measured, connect, [sent(signed("GET", "/images/a-8"))] * SLOW
    ),
}
