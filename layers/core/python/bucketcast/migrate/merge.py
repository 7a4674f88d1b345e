"""Merge variables over stored settings as MinIO does, and convert them to Bucketcast's options.

A variable wins over a stored value, an empty one counts as unset, and a target that only variables
define needs its `…_ENABLE…`. MinIO's switches accept only `on`, except `enable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bucketcast import targets
from bucketcast.config.target import switch
from bucketcast.config.variables import overrides, prefix
from bucketcast.errors import did_you_mean
from bucketcast.migrate.minio_keys import ABOUT_THE_SERVER, FORMER, WITHOUT_USE
from bucketcast.migrate.parsed import LeftOut, Parsed, TargetId, listed
from bucketcast.rules import Rule
from bucketcast.settings.options import Option, options_of

ANY_NOTIFY = "MINIO_NOTIFY_"
SYNC_EVENTS = "MINIO_API_SYNC_EVENTS"
_STORE = ("queue_dir", "queue_limit")


@dataclass(frozen=True, slots=True)
class Merged:
    """`targets` hold only values that differ from the defaults, in the order of declaration."""

    sync_events: bool
    targets: Mapping[TargetId, Mapping[str, str]]
    rules: tuple[Rule, ...]
    left_out: tuple[LeftOut, ...]


def merge(parsed: Parsed) -> Merged:
    """Merge stored settings and variables.

    Raises:
        ConfigErrors: every error found.
    """
    sync_events = parsed.variables.pop(SYNC_EVENTS, "") or parsed.sync_events
    configured: dict[TargetId, dict[str, str]] = {}
    for kind in targets.kinds():
        configured |= _joined(kind, parsed)
    _leave_out_other_variables(parsed)
    taken: dict[TargetId, Mapping[str, str]] = {}
    off: list[str] = []
    for target, values in configured.items():
        enable = switch(values.pop("enable", "") or "on")
        if enable == "off":
            off.append(str(target))
            continue
        if enable != "on":
            parsed.error(f"{target}.enable", f"found '{enable}'", "allowed is on or off")
        taken[target] = _in_options(target, values, parsed)
    if off:
        parsed.leave_out(listed(off), "switched off in MinIO")
    parsed.checked()
    return Merged(sync_events == "on", taken, tuple(parsed.rules), tuple(parsed.left_out))


def _joined(kind: str, parsed: Parsed) -> dict[TargetId, dict[str, str]]:
    """Return the kind's targets: stored settings overridden by the environment."""
    stored = {target: values for target, values in parsed.stored.items() if target.kind == kind}
    said, errors = overrides(kind, _every_key(kind), parsed.variables)
    parsed.errors += errors
    for id_, texts in said.items():
        target = TargetId(kind, id_)
        given = {key: text for key, text in texts.items() if text}
        if target in stored or "enable" in given:
            stored[target] = stored.get(target, {}) | given
        elif given:
            parsed.leave_out(
                str(target),
                f"MinIO ignores it, as {prefix(kind)}ENABLE is not set for it",
            )
    return stored


def _every_key(kind: str) -> dict[str, Option]:
    """Return the kind's options, and placeholders for MinIO's other keys."""
    declared: Any = targets.load(kind).Settings
    options = dict(options_of(declared))
    for key in (*FORMER.get(kind, {}), *WITHOUT_USE.get(kind, {})):
        options.setdefault(key, replace(options["comment"], key=key, variable=key.upper()))
    return options


def _leave_out_other_variables(parsed: Parsed) -> None:
    known = [prefix(kind) for kind in targets.kinds()]
    others = []
    for name in parsed.variables:
        if name.startswith(tuple(known)):
            continue
        if name.startswith(ANY_NOTIFY):
            near = did_you_mean(name, known)
            parsed.error(name, "unknown variable", f"{near}allowed prefixes are {', '.join(known)}")
        else:
            others.append(name)
    if others:
        parsed.leave_out(listed(others), ABOUT_THE_SERVER)


def _in_options(target: TargetId, values: Mapping[str, str], parsed: Parsed) -> dict[str, str]:
    declared: Any = targets.load(target.kind).Settings
    options = options_of(declared)
    former = FORMER.get(target.kind, {})
    without_use = WITHOUT_USE.get(target.kind, {})
    taken: dict[str, str] = {}
    for key, text in values.items():
        where = f"{target}.{key}"
        option = options.get(former.get(key, key))
        if option is None and key in without_use:
            if text not in ("", "0", "0s", "off"):
                parsed.leave_out(where, without_use[key])
        elif option is None:
            near = did_you_mean(key, options)
            parsed.error(where, "unknown key", f"{near}allowed are {', '.join(options)}")
        elif option.key in _STORE:
            if text not in ("", "0"):
                parsed.leave_out(where, "the target's SQS queue replaces it, without a limit")
        else:
            said = _as_minio_reads(where, option, text.strip(), parsed)
            if said and said != option.default:
                taken[option.key] = said
    own_first = sorted(options, key=lambda key: key not in declared.__annotations__)
    return {key: taken[key] for key in own_first if key in taken}


def _as_minio_reads(where: str, option: Option, text: str, parsed: Parsed) -> str:
    if option.type != "on|off" or text in ("", "on", "off"):
        return text
    if text.lower() != "false":
        parsed.leave_out(where, f"'{text}': MinIO accepts only 'on' for on, so it was off")
    return "off"
