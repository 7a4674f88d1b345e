"""The worst input that each limit which meets the gateway allows.

Each is measured in a process of its own, which has imported what the gateway imports.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count, islice
from typing import Any
from unittest.mock import Mock

import msgspec
from msgspec.structs import replace

from bucketcast import limits
from bucketcast.deployment import DeployedTarget
from bucketcast.dynamic_targets.api import AdminConfig
from bucketcast.errors import BucketcastError
from bucketcast.gateway import bucket_list
from bucketcast.gateway.admin.encryption import encrypt
from bucketcast.gateway.server import allow_open_files
from bucketcast.notifications.api import conversion, document
from bucketcast.rules import cost
from bucketcast.state import rule_items
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.topics.api import responses
from bucketcast.topics.api.form import Form
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.topics import page
from bucketcast.topics.errors import TopicError
from bucketcast.topics.policy import Policy
from bucketcast.users import RIGHTS, User
from bucketcast.users.aws import Users
from bucketcast.web import threads
from tests.unit.gateway.served import connected, sent, served
from tests.unit.limits.of_ingest import (
    PATTERNS,
    Row,
    Taken,
    filled,
    made,
    measured,
    peak_mb,
)
from tests.unit.web.requests import signed

HOOK = "arn:minio:sqs::a:webhook"


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
    most = limits.MOST_XML_BYTES // len(part)
    inside = "".join(part.replace("#", f"{number}") for number in range(most))
    text = f"<{document.ROOT}>{inside[: limits.MOST_XML_BYTES - 100]}</{document.ROOT}>".encode()
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


def headers() -> bytes:
    """Return a head of as many headers as there may be."""
    return b"GET / HTTP/1.1\r\n" + b"%b:a\r\n" % (b"x" * 127) * (limits.MOST_HEADERS - 2)


def small_body() -> bytes:
    """Return a call with a body that is not counted, but for its last byte."""
    body = b"x" * limits.MOST_SMALL_BODY_BYTES
    head = sent(signed("PUT", "/images/a", body), **{"Content-Length": f"{len(body)}"})
    return head + body[1:]


def large_object() -> bytes:
    """Return a call for a large object."""
    return sent(signed("GET", "/images/a-8"))


def connect(begins_and_number: tuple[Callable[[], bytes], int]) -> Taken:
    """Open connections that begin so, and read nothing; then serve another call.

    How long that waits is bounded by its socket's time-out.
    """
    begins, number = begins_and_number
    beginning = begins()  # signed now: a signature is valid for 15 minutes
    allow_open_files()
    with served() as (port, _), ExitStack() as opened:
        for _ in range(number):
            opened.enter_context(connected(port)).sendall(beginning)
        time.sleep(3)
        began = time.process_time()
        with connected(port) as user:
            user.sendall(sent(signed("GET", "/images")))
            assert (answer := user.recv(12)) == b"HTTP/1.1 200", answer
        return Taken(peak_mb(), time.process_time() - began)


def read_slowly(number: int) -> Taken:
    """Read as many large objects slowly; return what as many as are streamed at once would take."""
    before = peak_mb()
    taken = connect((large_object, number))
    return Taken(before + (taken.megabytes - before) * limits.MOST_STREAMS / number, taken.seconds)


def patterns(wildcard: str, user: int = 0) -> list[str]:
    """Return as many patterns of buckets' names as a user may have, as long as they may be."""
    most = limits.MOST_USER_PATTERNS
    length = limits.MOST_USER_PATTERNS_CHARACTERS // most
    return [f"{user}.{number}{wildcard * length}"[:length] for number in range(most)]


def know_users(wildcard: str) -> Taken:
    """Read all users, and judge a call of each of a hundred."""

    def items(_: str) -> Iterator[Mapping[str, Any]]:
        for number in range(limits.MOST_USERS):
            keys = tuple(f"{number}{key}" for key in range(limits.MOST_USER_KEYS))
            grants = dict.fromkeys(patterns(wildcard, number), RIGHTS)
            user = User(f"{number}", "x" * 64, "x" * 64, keys, grants=grants)
            yield {"text": {"S": msgspec.json.encode(user).decode()}}

    users = Users("", "", Mock(), Mock())
    users._items = Mock(items=items)
    began = time.process_time()
    known = users.all()
    for user in known[:100]:
        user.rights_on("a" * 63)
    return Taken(peak_mb(), time.process_time() - began)


def list_buckets(wildcard: str) -> Taken:
    """Return from a page of S3's, of 10,000 buckets, those that a user may see."""
    user = User("", "", "", (), grants=dict.fromkeys(patterns(wildcard), RIGHTS))
    names = (f"{number:05}{'a' * 58}" for number in range(10_000))
    page = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in names)
    began = time.process_time()
    bucket_list._filter(f"<ListAllMyBucketsResult>{page}</ListAllMyBucketsResult>".encode(), user)
    return Taken(peak_mb(), time.process_time() - began)


def topics(_: object = None) -> Iterator[Topic]:
    """Yield topics with attributes as long as they may be, which XML makes longer."""
    text = "&" * (limits.MOST_ATTRIBUTES_BYTES - 100) + "😀"
    for number in count():
        arn = f"arn:aws:sns:us-east-1::t{number}"
        yield Topic(arn=arn, kind="", id="", owner="", attributes={"OpaqueData": text})


def list_topics(_: object) -> Taken:
    """Answer as many calls at once as there are threads, each with the longest page."""
    table: Any = Mock(topics=lambda *_: topics())
    pages = [page(table, "", limits.MOST_PAGE_TOPICS)[0] for _ in range(threads._THREADS)]
    began = time.process_time()
    with ThreadPoolExecutor(threads._THREADS) as pool:
        listed = [{"Topics": {"member": [*map(responses.fields, each)]}} for each in pages]
        kept = [*pool.map(partial(responses.response, "ListTopics", request_id=""), listed)]
    assert all(kept)
    return Taken(peak_mb(), time.process_time() - began)


def export(value: str) -> Taken:
    """Write the configuration of all dynamic targets."""
    settings = {"endpoint": value * (limits.MOST_SETTINGS_BYTES // len(value) - 20) + "😀"}
    text = msgspec.json.encode(settings)
    every = []
    for number in range(limits.MOST_TARGETS):
        item = DynamicTarget(arn="", kind="webhook", id="", settings=msgspec.json.decode(text))
        arn = f"arn:minio:sqs::{number}:webhook"
        every.append(DeployedTarget(arn, "webhook", f"{number}", "", "", "", item))
    deployed: Any = Mock(all_targets=every, dynamic=Mock(queue_end=""))
    began = time.process_time()
    assert encrypt(AdminConfig(lambda: deployed, Mock()).export(), "secret")
    return Taken(peak_mb(), time.process_time() - began)


def read_topics(_: object) -> Taken:
    """Read all topics with a queue, as `mc admin info` and each reading of the metrics do."""
    settings = {"opaque_data": "x" * (limits.MOST_SETTINGS_BYTES - 100) + "😀"}
    table, items = Table("", Mock()), Mock(put_part=lambda _, item, **__: item)
    table._items = items
    for topic in islice(topics(), limits.MOST_QUEUED_TOPICS):
        named = replace(topic, queue="q", settings=settings)
        task: Any = Mock(key=topic.arn, holder="")
        table.commit(task, None, named, None)
    stored = [call.args[1] for call in items.commit.call_args_list]
    items.items = lambda _: stored
    began = time.process_time()
    assert len(table.targets()) == limits.MOST_QUEUED_TOPICS
    return Taken(peak_mb(), time.process_time() - began)


def show_rules(prefix: str) -> Taken:
    """Answer with the rules of a bucket."""
    stored = filled(made(prefix=prefix))
    assert stored
    began = time.process_time()
    rules = rule_items.unpack(stored[1])
    document.write([conversion.configuration(rule) for rule in rules])
    return Taken(peak_mb(), time.process_time() - began)


def fill_form(more: str) -> Taken:
    """Read the attributes of a topic from a form."""
    pairs = (f"Attributes.entry.{n}.key={n}&Attributes.entry.{n}.value=" for n in range(490))
    text = "&".join(pairs) + more + more[-1] * limits.MOST_FORM_BYTES
    began = time.process_time()
    with suppress(TopicError):
        parse_attributes(Form.parse(text[: limits.MOST_FORM_BYTES].encode()).attributes)
    return Taken(peak_mb(), time.process_time() - began)


def worst(measure: Callable[[Any], Taken], inputs: Sequence[Any]) -> Taken:
    """Return the most memory and the most time of these inputs, one after another."""
    return Taken(*map(max, zip(*map(measure, inputs), strict=True)))


def put_at_once(part: str) -> Taken:
    """Read as many of the longest documents at once as are held."""
    number = limits.MOST_BODIES_BYTES // limits.MOST_XML_BYTES
    with ThreadPoolExecutor(number) as pool:
        taken = [*pool.map(put, [part] * number)]
    return Taken(peak_mb(), max(taken).seconds)


def row(name: str, filled_limits: str, measure: Callable[[Any], Taken], *given: Any) -> Row:
    """Return a row with the worst of these inputs."""
    return Row(name, tuple(filled_limits.split()), partial(measured, worst, measure, given))


FORMS = (
    "%F0%9F%98%80" * 20_000,
    f"&push-endpoint=http://u:{'x' * (limits.MOST_ENDPOINT_CHARACTERS - 50)}@host&Policy=",
    f"&user-name=u&push-endpoint=kafka://host&password={'x' * limits.MOST_LOGIN_BYTES}",
)
FORM = "MOST_FORM_BYTES MOST_FORM_FIELDS MOST_LOGIN_BYTES MOST_ENDPOINT_CHARACTERS"
PAGE = "MOST_PAGE_TOPICS MOST_PAGE_CHARACTERS MOST_ATTRIBUTES_BYTES"
OF_USER = "MOST_USER_PATTERNS MOST_USER_PATTERNS_CHARACTERS"
WILDCARDS = ("*a", "[!b]", "a", "*")
DOCUMENTS = documents()
ROWS = (
    row("XML", "MOST_XML_BYTES MOST_XML_ELEMENTS MOST_XML_LEVELS", put, *DOCUMENTS),
    row("XML at once", "MOST_BODIES_BYTES MOST_USER_BODIES_BYTES", put_at_once, *DOCUMENTS[-4:-2]),
    row("rules of an answer", "MOST_BUCKET_RULES_BYTES", show_rules, "#" + "&" * 1_010),
    row("policy of a topic", "MOST_POLICY_BYTES MOST_POLICY_WILDCARDS", judge, *policies()),
    row("form of a topic", FORM, fill_form, *FORMS),
    row("topics of an answer", PAGE, list_topics, None),
    row("topics with a queue", "MOST_QUEUED_TOPICS", read_topics, None),
    row("dynamic targets", "MOST_TARGETS MOST_SETTINGS_BYTES", export, "x", "\n"),
    row("users", "MOST_USERS MOST_USER_KEYS", know_users, *WILDCARDS),
    row("buckets of an answer", OF_USER, list_buckets, *WILDCARDS),
    row("idle connections", "MOST_CONNECTIONS", connect, (bytes, limits.MOST_CONNECTIONS)),
    row("headers", "MOST_HEADERS MOST_HEADERS_BYTES", connect, (headers, limits.MOST_CONNECTIONS)),
    row("small bodies", "MOST_SMALL_BODY_BYTES", connect, (small_body, limits.MOST_CONNECTIONS)),
    row("slow readers", "MOST_STREAMS MOST_USER_STREAMS", read_slowly, 100),
)
