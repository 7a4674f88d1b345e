"""What AWS refuses, or takes and never acts on, where clients and the local AWS take it.

Lengths, patterns and enums are those of botocore's model, of which clients check the least lengths
only. What no model has is a rule here, with the page of AWS's documentation that states it. That
the destinations in a bucket's notifications exist is tried by the local AWS too.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any, Final

import jmespath  # type: ignore[import-untyped]
import re2
from botocore.session import Session

from bucketcast.notifications.document import part_of
from tests.e2e.iam import Call

PUT: Final = "PutBucketNotificationConfiguration"
URL: Final = "function-url"
"""The service of a request to a function's URL; its parameters are `Body` and `ContentType`."""
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/javascript")
_TYPES: Final = ("S", "N", "B", "SS", "M", "L", "DataType", "StringValue")
_ENCODED: Final = r"([\w./!*'()+-]|%[0-9A-F]{2})*"
_MIB: Final = 1 << 20


Rule = tuple[str, str, str, Callable[[Any], bool]]
"""Calls, as `service:Operation`; a page; a path in their parameters; what holds for its values."""


def _like(pattern: str) -> Callable[[Any], bool]:
    return lambda text: re.fullmatch(pattern, text, re.ASCII | re.DOTALL) is not None


def _up_to(most: int) -> Callable[[Any], bool]:
    return lambda value: _bytes(value) <= most


def _bytes(value: Any) -> int:
    """Return the bytes of names and values, as SQS and DynamoDB count them; numbers count more."""
    if isinstance(value, dict):
        return _bytes([*value.values(), *(name for name in value if name not in _TYPES)])
    return sum(map(_bytes, value)) if isinstance(value, list) else len(str(value or "").encode())


def _are_apart(entries: Sequence[Any]) -> bool:
    """Return True if no two entries of a bucket take the same event of the same key."""
    for one, other in combinations(map(part_of, entries), 2):
        names = [(first, second) for first in one.events for second in other.events]
        if any(fnmatchcase(*pair) or fnmatchcase(*pair[::-1]) for pair in names):
            begins, ends = (sorted(each, key=len) for each in zip(one[1:], other[1:], strict=True))
            if begins[1].startswith(begins[0]) and ends[1].endswith(ends[0]):
                return False
    return True


def _uses_its_names(write: Mapping[str, Any]) -> bool:
    texts = [str(text) for name, text in write.items() if name.endswith("Expression")]
    given = (write.get(f"ExpressionAttribute{kind}", ()) for kind in ("Names", "Values"))
    return {*re.findall(r"[:#]\w+", " ".join(texts))} == {name for each in given for name in each}


def _fits_a_call(request: Mapping[str, str]) -> bool:
    is_text = request.get("ContentType", "").startswith(_TEXTS)
    return len(request["Body"]) * (1 if is_text else 4 / 3) <= 6 * _MIB


_ENTRIES: Final = "[NotificationConfiguration.*[?Events][]]"
_ITEMS: Final = "[Item, TransactItems[].*.Item[]][]"
_KEYS: Final = "[Key, Item, TransactItems[].*.[Key, Item][]][].*.S"
_MESSAGES: Final = "[@, Entries[]][]"
_ATTRIBUTES: Final = f"{_MESSAGES}.MessageAttributes"
_SENT: Final = f"{_MESSAGES}.[MessageBody, MessageAttributes.*.StringValue][][]"
_ORDER: Final = f"{_MESSAGES}.[MessageGroupId, MessageDeduplicationId][]"
_NAME: Final = r"(?!(?i:aws|amazon)\.)(?=.{1,256}$)[\w-]+(\.[\w-]+)*"
_FILTERS, _SQS = "Configuring event notifications using object key name filtering", "SQS quotas"
RULES: Final[tuple[Rule, ...]] = (
    (f"s3:{PUT}", _FILTERS, f"{_ENTRIES}[].Filter.Key.FilterRules[].Value", _like(_ENCODED)),
    (f"s3:{PUT}", _FILTERS, _ENTRIES, _are_apart),
    (f"s3:{PUT}", "Amazon S3 quotas", _ENTRIES, lambda entries: len(entries) <= 100),
    (f"s3:{PUT}", "FIFO queues", f"{_ENTRIES}[].QueueArn", lambda arn: arn[-5:] != ".fifo"),
    ("s3:*", "Bucket naming rules", "[Bucket]", _like(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")),
    ("s3:*", "Naming objects", "[Key, Delete.Objects[].Key][]", _up_to(1_024)),
    ("sqs:*Batch", _SQS, "[Entries]", lambda entries: 0 < len(entries) <= 10),
    ("sqs:*Batch", _SQS, "Entries[].Id", _like(r"[\w-]{1,80}")),
    ("sqs:*Batch", _SQS, "[Entries[].Id]", lambda ids: len(ids) == len({*ids})),
    ("sqs:*Batch", _SQS, "[Entries[].[MessageBody, MessageAttributes]]", _up_to(_MIB)),
    ("sqs:SendMessage", _SQS, "[[MessageBody, MessageAttributes]]", _up_to(_MIB)),
    ("sqs:*", _SQS, _SENT, _like("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")),
    ("sqs:*", _SQS, _ORDER, _like("[!-~]{1,128}")),
    ("sqs:*", _SQS, _ATTRIBUTES, lambda attributes: len(attributes) <= 10),
    ("sqs:*", _SQS, f"{_ATTRIBUTES} | [].keys(@)[]", _like(_NAME)),
    ("sqs:*", _SQS, f"{_ATTRIBUTES}.*.DataType[]", _like(r"(String|Number|Binary)(\..+)?")),
    ("sqs:*", _SQS, "[QueueName]", _like(r"[\w-]{1,75}(\.fifo|[\w-]{0,5})")),
    ("sqs:*", _SQS, f"{_MESSAGES}.DelaySeconds", lambda seconds: seconds <= 900),
    ("sqs:*", _SQS, f"{_MESSAGES}.VisibilityTimeout", lambda seconds: seconds <= 43_200),
    ("dynamodb:*", "Quotas in DynamoDB", _ITEMS, _up_to(400 << 10)),
    ("dynamodb:*", "Quotas in DynamoDB", f"[{_ITEMS}]", _up_to(4 * _MIB)),
    ("dynamodb:*", "Quotas in DynamoDB", _KEYS, bool),
    ("dynamodb:*", "Expressions", "[@, TransactItems[].*[]][]", _uses_its_names),
    ("secretsmanager:CreateSecret", "CreateSecret", "[Name]", _like(r"[\w/+=.@-]{1,512}")),
    ("events:PutRule", "EventBridge quotas", "[EventPattern]", _up_to(2_048)),
    ("glue:StartJobRun", "StartJobRun", "[Arguments]", _up_to(260 << 10)),
    ("lambda:Invoke", "Lambda quotas", "[Payload]", _up_to(6 * _MIB)),
    (f"{URL}:*", "Lambda quotas", "[@]", _fits_a_call),
)


def faults(calls: Sequence[Call]) -> list[str]:
    """Return what is wrong with the calls, each once, in words."""
    found = {f"{call.function}: {call.operation}: {text}" for call in calls for text in _of(call)}
    return sorted(found)


def _of(call: Call) -> Iterator[str]:
    if call.service != URL:
        model = _SESSION.get_service_model(call.service).operation_model(call.operation)
        if model.input_shape:
            yield from _against_shape(model.input_shape, call.parameters, "")
    for calls, page, path, holds in RULES:
        if fnmatchcase(f"{call.service}:{call.operation}", calls):
            for value in jmespath.search(path, call.parameters) or ():
                if value is not None and not holds(value):
                    yield f"{path} is {str(value)[:200]} ({page})"


_SESSION: Final = Session()


def _against_shape(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Compare with a shape of the model; the type is the client's care."""
    least, most, allowed, pattern = map(shape.metadata.get, ("min", "max", "enum", "pattern"))
    size = value if isinstance(value, int | float) else len(value)
    if size < (least or size) or size > (most or size):
        yield f"{path} has {size}, allowed are {least} to {most}"
    # S3 itself answers `Prefix`, and takes it back: issue 389 of aws/aws-sdk.
    if allowed and value not in allowed and shape.name != "FilterRuleName":
        yield f"{path} is '{value}', allowed are {', '.join(allowed)}"
    # Only re2 knows \p{L} and its like.
    if pattern and not (re2 if r"\p{" in pattern else re).fullmatch(pattern, value):
        yield f"{path} is '{value[:80]}', allowed is {pattern}"
    if shape.type_name == "structure":
        for name, each in value.items():
            yield from _against_shape(shape.members[name], each, f"{path}.{name}")
    elif shape.type_name == "list":
        for each in value:
            yield from _against_shape(shape.member, each, f"{path}[]")
    elif shape.type_name == "map":
        for name, each in value.items():
            yield from _against_shape(shape.key, name, f"{path}.{name}")
            yield from _against_shape(shape.value, each, f"{path}.{name}")
