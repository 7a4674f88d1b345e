"""Parse a bucket's notification XML: `GET ?notification`, or `mc admin cluster bucket export`.

Each configuration in it becomes a rule. MinIO has `QueueConfiguration` only; S3's other kinds
become rules too if they name a target of MinIO, and are skipped if they name one of AWS, since S3
itself keeps sending there.
"""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from bucketcast import targets
from bucketcast.destination import PREFIX, TargetArn
from bucketcast.event import names
from bucketcast.migrate.parsed import Parsed
from bucketcast.rules import Rule

ROOT = "NotificationConfiguration"
_BY_FACTS = "allowed are prefix and suffix; add this rule with `event add --tag` or `--metadata`"
_TARGETS = {
    "QueueConfiguration": ("Queue",),
    "TopicConfiguration": ("Topic",),
    "CloudFunctionConfiguration": ("CloudFunction",),
}


def read(text: str, name: str, parsed: Parsed, *, bucket: str) -> None:
    """Parse the document of the file with this name, as that of a bucket."""
    if "<!DOCTYPE" in text:  # nor can it define entities
        parsed.error(name, "found a DOCTYPE", f"a {ROOT} without one, as MinIO and S3 write it")
        return
    try:
        root = ET.fromstring(text)  # noqa: S314 - it has no DOCTYPE
    except ET.ParseError as error:
        parsed.error(name, f"invalid XML: {error}", f"a {ROOT}")
        return
    if _tag(root) != ROOT:
        parsed.error(name, f"found {_tag(root)}", f"a {ROOT}")
        return
    if not bucket:
        allowed = "give it with --bucket NAME, one bucket per run"
        parsed.error(name, "missing bucket", allowed)
    for number, element in enumerate(root, 1):
        where = f"{name}: {_tag(element)} {''.join(_texts(element, 'Id')) or number}"
        if _tag(element) in _TARGETS:
            _read_rule(element, bucket, where, parsed)
        else:
            parsed.leave_out(where, "it is S3's own and stays in the bucket's notifications")


def _read_rule(element: ET.Element, bucket: str, where: str, parsed: Parsed) -> None:
    arn_text = "".join(_texts(element, *_TARGETS[_tag(element)]))
    if arn_text.startswith("arn:aws"):
        parsed.leave_out(f"{where} ({arn_text})", "S3 itself sends there")
        return
    try:
        arn = TargetArn.parse(arn_text)
        events = names.from_words(",".join(_texts(element, "Event")))
    except ValueError as error:
        parsed.error(where, str(error), f"an ARN such as {PREFIX}:ID:KIND, and event names")
        return
    if arn.kind not in targets.kinds():
        parsed.error(where, f"unknown kind '{arn.type}' in {arn_text}", "allowed are MinIO's kinds")
    filters: dict[str, list[str]] = {"prefix": [], "suffix": []}
    if id_ := "".join(_texts(element, "Id")):
        parsed.leave_out(f"the Id '{id_}' of {bucket}", "rules get an id of their own")
    if any(_descendants(element, "S3Tags", "S3Metadata", "Tag")):
        parsed.error(where, "found a filter by tags or metadata", _BY_FACTS)
        return
    for rule in _descendants(element, "FilterRule"):
        key, value = "".join(_texts(rule, "Name")).lower(), "".join(_texts(rule, "Value"))
        if key not in filters:
            parsed.error(where, f"found a filter '{key}'", "allowed are prefix and suffix")
        filters.setdefault(key, []).append(value)
    if max(map(len, filters.values())) > 1:
        parsed.error(where, "duplicate filter", "allowed are one prefix and one suffix")
    prefix, suffix = ("".join(filters[key]) for key in ("prefix", "suffix"))
    parsed.rules.append(
        Rule(bucket=bucket, arn=arn.plain, events=events, prefix=prefix, suffix=suffix)
    )


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _descendants(element: ET.Element, *tags: str) -> Iterator[ET.Element]:
    return (child for child in element.iter() if _tag(child) in tags)


def _texts(element: ET.Element, *tags: str) -> list[str]:
    return [(child.text or "").strip() for child in _descendants(element, *tags)]
