"""Rules as a document: what `bucketcast event ls --json` prints and `event apply` reads.

::

    {"rules": [{"bucket": "uploads", "arn": "arn:minio:sqs::primary:webhook",
                "event": ["s3:ObjectCreated:*"], "prefix": "in/", "suffix": "", "name": "",
                "conditions": [{"on": "size", "how": "range", "values": ["1KiB-"],
                                "unless": false}]}]}

The keys of a rule are those of `mc event ls --json`, and some more.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.event import names
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.rules.grammar import parse, texts

_FORM = "allowed is what `bucketcast event ls --json` prints"

Rules = dict[str, list[Rule]]
"""By bucket; a bucket without rules has an empty list."""


class _ListedRule(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    bucket: str
    arn: str
    event: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""
    conditions: tuple[Condition, ...] = ()
    name: str = ""
    label: str = ""
    filters: tuple[str, ...] = ()
    id: str = ""
    deployed: bool = True


class _Listing(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    rules: list[_ListedRule]
    bucket: str | None = None
    arn: str | None = None
    status: str = ""


def document(rule: Rule) -> dict[str, Any]:
    """Return a rule's entry, without its bucket."""
    kept = {"label": rule.label, "filters": list(rule.filters)}
    return {
        "id": rule.id,
        "arn": rule.arn,
        "event": list(rule.events),
        "prefix": rule.prefix,
        "suffix": rule.suffix,
        "conditions": [
            {"on": one.on, "how": one.how, "values": list(one.values), "unless": one.unless}
            for one in rule.conditions
        ],
        "name": rule.name,
        **{key: value for key, value in kept.items() if value},
    }


def read(text: bytes, checks: Mapping[str, Callable[[str], object]]) -> Rules:
    """Return the rules of a document; `checks` are by field and raise ValueError.

    Raises:
        ConfigErrors: all that is wrong with it.
    """
    try:
        found = msgspec.json.decode(text, type=_Listing)
    except msgspec.DecodeError as error:
        raise ConfigErrors([ConfigError("file", f"found no listing: {error}", _FORM)]) from None
    if found.arn:
        some = f"found a listing of the rules for {found.arn} only"
        raise ConfigErrors([ConfigError("arn", some, "allowed is one of all rules of a bucket")])
    errors: list[ConfigError] = []
    rules: Rules = {found.bucket: []} if found.bucket else {}
    for number, entry in enumerate(found.rules):
        wrong = _wrong(entry, checks, f"rules[{number}]")
        errors += wrong
        if not wrong:
            rules.setdefault(entry.bucket, []).append(_rule(entry))
    if errors:
        raise ConfigErrors(errors)
    return rules


def _wrong(
    entry: _ListedRule, checks: Mapping[str, Callable[[str], object]], where: str
) -> list[ConfigError]:
    errors = []
    if not isinstance(Destination.of(entry.arn), TopicArn):
        checks = {"arn": TargetArn.parse, **checks}
    for field, check in checks.items():
        if text := getattr(entry, field):
            try:
                check(text)
            except ValueError as error:
                errors.append(ConfigError(f"{where}.{field}", str(error), _FORM))
    try:
        names.from_words(",".join(entry.event))
    except ValueError as error:
        errors.append(ConfigError(f"{where}.event", str(error), _FORM))
    for one in entry.conditions:
        try:
            again = {parse(each, unless=one.unless) for each in texts(one)}
        except ValueError as error:
            errors.append(ConfigError(f"{where}.conditions", str(error), _FORM))
            continue
        if again != {Condition(one.on, (each,), one.how, one.unless) for each in one.values}:
            shown = f"found {one}"
            errors.append(ConfigError(f"{where}.conditions", shown, "no condition means that"))
    return errors


def _rule(entry: _ListedRule) -> Rule:
    return Rule(
        bucket=entry.bucket,
        arn=Destination.of(entry.arn).plain,
        events=names.from_words(",".join(entry.event)),
        prefix=entry.prefix,
        suffix=entry.suffix,
        conditions=entry.conditions,
        name=entry.name,
        label=entry.label,
        filters=entry.filters,
    )
