"""Rules as a JSON document, printed by `bucketcast event ls --json`, read by `event apply`.

::

    {"rules": [{"bucket": "uploads", "arn": "arn:minio:sqs::primary:webhook",
                "event": ["s3:ObjectCreated:*"], "prefix": "in/", "suffix": "", "name": "",
                "conditions": [{"on": "size", "how": "range", "values": ["1KiB-"],
                                "unless": false}]}]}

A rule has the keys of `mc event ls --json` and some more.
"""

from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any, Final

import msgspec
from msgspec.structs import asdict

from bucketcast.destination import Destination, TargetArn, TopicArn, short_name
from bucketcast.display import printable
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.event import names
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.rules.grammar import bucket_name, key_part, parse, rule_name, texts

_FORM = "allowed is what `bucketcast event ls --json` prints"

Rules = dict[str, list[Rule]]
"""Rules by bucket; a bucket without rules has an empty list."""


class _ListedRule(Rule, forbid_unknown_fields=True, rename={"events": "event"}, frozen=True):
    events: tuple[str, ...]
    id: str = ""
    deployed: bool = True


class _Listing(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    rules: list[_ListedRule]
    bucket: str | None = None
    arn: str | None = None
    status: str = ""


def document(rule: Rule) -> dict[str, Any]:
    """Return a rule's entry, without its bucket."""
    stored = {
        "label": rule.label,
        "filters": list(rule.filters),
        "disabled": rule.disabled,
    }
    return {
        "id": rule.id,
        "arn": rule.arn,
        "event": list(rule.events),
        "prefix": rule.prefix,
        "suffix": rule.suffix,
        "conditions": [*map(asdict, rule.conditions)],
        "name": rule.name,
        **{key: value for key, value in stored.items() if value},
    }


def conditions_text(rule: Rule) -> str:
    """Return a rule's conditions as shell-quoted options."""
    return " ".join(
        f"--{'not' if condition.unless else 'if'} {quote(text)}"
        for condition in rule.conditions
        for text in texts(condition)
    )


def state(rule: Rule) -> str:
    """Return `off` for a rule that is disabled, else ""."""
    return "off" if rule.disabled else ""


def line(rule: Rule) -> str:
    """Return a rule without its bucket in one line."""
    more = "".join(f" {text}" for text in (conditions_text(rule), rule.name) if text)
    ends = f"prefix='{rule.prefix}' suffix='{rule.suffix}'"
    return printable(f"{rule.to.short} {','.join(rule.events)} {ends}{more}")


def read(text: bytes, name: str) -> Rules:
    """Parse the document called `name`.

    Raises:
        ConfigErrors: every error in the document.
    """
    try:
        listing = msgspec.json.decode(text, type=_Listing)
    except msgspec.DecodeError as error:
        raise ConfigErrors([ConfigError(name, f"found no listing: {error}", _FORM)]) from None
    if listing.arn:
        found = f"found a listing of the rules for {short_name(listing.arn)} only"
        raise ConfigErrors([ConfigError("arn", found, "allowed is one of all rules of a bucket")])
    errors: list[ConfigError] = []
    rules: Rules = {listing.bucket: []} if listing.bucket else {}
    for number, entry in enumerate(listing.rules):
        problems = _check_entry(entry, f"rules[{number}]")
        errors += problems
        if not problems:
            rules.setdefault(entry.bucket, []).append(_rule(entry))
    if errors:
        raise ConfigErrors(errors)
    return rules


def _check_entry(entry: _ListedRule, path: str) -> list[ConfigError]:
    errors = []
    for field, check in _CHECKS.items():
        if text := getattr(entry, field):
            try:
                check(text)
            except ValueError as error:
                errors.append(ConfigError(f"{path}.{field}", str(error), _FORM))
    try:
        names.from_words(",".join(entry.events))
    except ValueError as error:
        errors.append(ConfigError(f"{path}.event", str(error), _FORM))
    for condition in entry.conditions:
        try:
            parsed = {parse(text, unless=condition.unless) for text in texts(condition)}
        except ValueError as error:
            errors.append(ConfigError(f"{path}.conditions", str(error), _FORM))
            continue
        if parsed != {
            Condition(condition.on, (text,), condition.how, condition.unless)
            for text in condition.values
        }:
            found = f"found {condition}"
            errors.append(ConfigError(f"{path}.conditions", found, "no condition means that"))
    return errors


def _check_arn(text: str) -> None:
    if not isinstance(Destination.of(text), TopicArn):
        TargetArn.parse(text)


_CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "arn": _check_arn,
    "bucket": bucket_name,
    "prefix": key_part,
    "suffix": key_part,
    "name": rule_name,
}


def _rule(entry: _ListedRule) -> Rule:
    fields = {name: getattr(entry, name) for name in Rule.__struct_fields__}
    events = names.from_words(",".join(entry.events))
    return Rule(**fields | {"arn": Destination.of(entry.arn).plain, "events": events})
