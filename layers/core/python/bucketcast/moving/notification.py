"""Notification XML of a bucket: `GET ?notification`, or `mc admin cluster bucket export`.

Each configuration in it becomes a rule. MinIO knows `QueueConfiguration` only; what S3 has beside
it is a rule too where it names a target of MinIO, and left out where it names one of AWS: S3 itself
goes on sending there.
"""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from bucketcast import names
from bucketcast.arn import PREFIX, Arn
from bucketcast.moving.found import Found, kind_of
from bucketcast.rules import Rule

ROOT = "NotificationConfiguration"
_TARGETS = {
    "QueueConfiguration": ("Queue",),
    "TopicConfiguration": ("Topic",),
    "CloudFunctionConfiguration": ("CloudFunction",),
}


def read(text: str, name: str, found: Found, *, bucket: str) -> None:
    """Read the document of the file of this name as that of a bucket."""
    if "<!DOCTYPE" in text:  # nor can it define entities
        found.wrong(name, "found a DOCTYPE", f"a {ROOT} without one, as MinIO and S3 write it")
        return
    try:
        root = ET.fromstring(text)  # noqa: S314 - it has no DOCTYPE
    except ET.ParseError as error:
        found.wrong(name, f"no XML: {error}", f"a {ROOT}")
        return
    if _tag(root) != ROOT:
        found.wrong(name, f"found {_tag(root)}", f"a {ROOT}")
        return
    if not bucket:
        allowed = "--bucket NAME, as the XML does not say it: one bucket's XML a run"
        found.wrong(name, "found no bucket's name", allowed)
    for number, each in enumerate(root, 1):
        where = f"{name}: {_tag(each)} {''.join(_texts(each, 'Id')) or number}"
        if _tag(each) in _TARGETS:
            _read_rule(each, bucket, where, found)
        else:
            found.leave_out(where, "it is S3's own, and stays in the bucket's notifications there")


def _read_rule(each: ET.Element, bucket: str, where: str, found: Found) -> None:
    text = "".join(_texts(each, *_TARGETS[_tag(each)]))
    if text.startswith("arn:aws"):
        found.leave_out(f"{where} ({text})", "S3 itself sends there, as its own notification")
        return
    try:
        arn = Arn.parse(text)
        events = names.from_words(",".join(_texts(each, "Event")))
    except ValueError as error:
        found.wrong(where, str(error), f"an ARN such as {PREFIX}:ID:KIND, and event names")
        return
    if kind_of(arn.type) is None:
        found.wrong(where, f"unknown kind '{arn.type}' in {text}", "a kind that MinIO has")
    filters: dict[str, list[str]] = {"prefix": [], "suffix": []}
    for rule in _below(each, "FilterRule"):
        key, value = "".join(_texts(rule, "Name")).lower(), "".join(_texts(rule, "Value"))
        if key not in filters:
            found.wrong(where, f"found a filter '{key}'", "allowed are prefix and suffix")
        filters.setdefault(key, []).append(value)
    if max(map(len, filters.values())) > 1:
        found.wrong(where, "found a filter twice", "allowed are one prefix and one suffix")
    prefix, suffix = ("".join(filters[key]) for key in ("prefix", "suffix"))
    found.rules.append(
        Rule(bucket=bucket, arn=arn.plain, events=events, prefix=prefix, suffix=suffix)
    )


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _below(element: ET.Element, *tags: str) -> Iterator[ET.Element]:
    return (each for each in element.iter() if _tag(each) in tags)


def _texts(element: ET.Element, *tags: str) -> list[str]:
    return [(each.text or "").strip() for each in _below(element, *tags)]
