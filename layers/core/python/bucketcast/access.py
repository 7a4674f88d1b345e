"""Access events: the calls that CloudTrail must log for the rules of a bucket, and no others.

S3 notifies nobody of reads, and of nothing that concerns a bucket as a whole. CloudTrail logs them,
and its data events cost money: so a trail's selectors name just the operations and prefixes that a
rule asks for. These functions take a trail's selectors as CloudTrail gives them and return new ones
in which only ours differ. They do not call AWS.

Source: "Logging data events" and "PutEventSelectors" of the CloudTrail documentation.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bucketcast import wiring
from bucketcast.errors import BucketcastError
from bucketcast.names import expand
from bucketcast.rules import Rule
from bucketcast.sources.cloudtrail import BUCKET_CALLS, OBJECT_CALLS

PRICE: Final = "$1.00 per million calls logged, found or not"
CALLS: Final = MappingProxyType(
    {call: name for call, name in OBJECT_CALLS.items() if call != "PutObjectRetention"}
)
"""The event's name by the API call, but for what S3 notifies of by itself."""
MANAGEMENT: Final = MappingProxyType(
    {
        "Name": "Management events, writing",
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "readOnly", "Equals": ["false"]},
        ],
    }
)
"""What a trail of our own logs while no rule asks for more: buckets made and removed."""
# A trail takes 500 values in all its selectors, and others need some.
_MOST_PREFIXES: Final = 50
_WILD = re.compile(r"[*?]")

Selector = Mapping[str, Any]


class NotSelectableError(BucketcastError):
    """The trail's selectors cannot be shared; the text says the cure."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the rules of a bucket ask for: S3's API calls, and prefixes of keys ("" is any)."""

    calls: tuple[str, ...]
    prefixes: tuple[str, ...]


def asked(rules: Iterable[Rule]) -> Asked:
    """Which calls have to be logged for these rules, and for which keys."""
    calls: set[str] = set()
    prefixes: set[str] = set()
    for rule in rules:
        names = {name for given in rule.events for name in expand(given)}
        wanted = {call for call, name in CALLS.items() if name in names}
        if wanted:
            calls |= wanted
            prefixes.add(_WILD.split(rule.prefix, maxsplit=1)[0])
    few = [one for one in sorted(prefixes) if not one.startswith(tuple(prefixes - {one}))]
    return Asked(tuple(sorted(calls)), tuple(few) if len(few) <= _MOST_PREFIXES else ("",))


def is_logged_only(events: Iterable[str]) -> bool:
    """Whether nobody but CloudTrail tells of any of these events."""
    return {single for given in events for single in expand(given)} <= set(CALLS.values())


def selected(found: Mapping[str, Any], name: str) -> Asked | None:
    """What our selector with this name asks for; None where there is none."""
    for selector in found.get("AdvancedEventSelectors") or ():
        if selector.get("Name") == name:
            fields = {each["Field"]: each for each in selector["FieldSelectors"]}
            starts = [arn.partition("/")[2] for arn in fields["resources.ARN"]["StartsWith"]]
            return Asked(tuple(sorted(fields["eventName"]["Equals"])), tuple(starts))
    return None


def selector(name: str, bucket_arn: str, wanted: Asked) -> dict[str, Any]:
    """An advanced event selector for what is asked of one bucket."""
    return {
        "Name": name,
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Data"]},
            {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
            {"Field": "eventName", "Equals": list(wanted.calls)},
            {
                "Field": "resources.ARN",
                "StartsWith": [f"{bucket_arn}/{prefix}" for prefix in wanted.prefixes],
            },
        ],
    }


def selectors(
    found: Mapping[str, Any], name: str, bucket_arn: str, wanted: Asked
) -> list[dict[str, Any]]:
    """The trail's selectors with ours for one bucket; without ours where no rule asks.

    Raises:
        NotSelectableError: the trail logs data events by basic selectors.
    """
    kept = [each for each in _advanced(found) if each.get("Name") != name]
    return [*kept, selector(name, bucket_arn, wanted)] if wanted.calls else kept


def selector_name(stack: str, bucket: str) -> str:
    """By what our selector for a bucket is known."""
    return f"{stack}: access events of {bucket}"


def rule_name(stack: str, bucket: str) -> str:
    """The EventBridge rule of an attached bucket's access events: no bucket is called so."""
    return wiring.rule_name(stack, f"access_{bucket}")


def pattern(bucket: str) -> dict[str, Any]:
    """What an EventBridge rule must match to take a bucket's calls that succeeded."""
    return {
        "source": ["aws.s3"],
        "detail-type": ["AWS API Call via CloudTrail"],
        "detail": {
            "eventSource": ["s3.amazonaws.com"],
            "eventName": [*CALLS, *BUCKET_CALLS],
            "requestParameters": {"bucketName": [bucket]},
            "errorCode": [{"exists": False}],
        },
    }


def _advanced(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The selectors in the form that knows operations; of basic ones those for management alone."""
    if advanced := found.get("AdvancedEventSelectors"):
        return list(advanced)
    return [_of_basic(each) for each in found.get("EventSelectors") or ()]


def _of_basic(basic: Selector) -> dict[str, Any]:
    if basic.get("DataResources") or basic.get("ExcludeManagementEventSources"):
        raise NotSelectableError(
            "the trail has basic event selectors for data events: switch it to advanced event "
            "selectors in CloudTrail's console, which keeps what they say, or name another trail"
        )
    fields: list[dict[str, Any]] = [{"Field": "eventCategory", "Equals": ["Management"]}]
    kinds: Mapping[str, Sequence[str]] = {"ReadOnly": ["true"], "WriteOnly": ["false"]}
    if only := kinds.get(basic.get("ReadWriteType", "All")):
        fields.append({"Field": "readOnly", "Equals": list(only)})
    return {"Name": "Management events", "FieldSelectors": fields}
