"""Merge variables over stored settings as MinIO does, and convert them to Bucketcast's options.

A variable wins over a stored value, an empty one counts as unset, and a target that only variables
define needs its `…_ENABLE…`. MinIO's switches accept only `on`, except `enable`. Unknown keys are
kept: the deploy's own reader names them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bucketcast import targets
from bucketcast.config.target_reader import switch
from bucketcast.config.variables import overrides, prefix
from bucketcast.dynamic_targets.kvs import REDACTED
from bucketcast.errors import did_you_mean
from bucketcast.migrate.parsed import ABOUT_THE_SERVER, LeftOut, Parsed, TargetId, join_names
from bucketcast.rules import Rule
from bucketcast.settings.options import Option, options_of, own_first

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
        configured |= _merge_kind(kind, parsed)
    _leave_out_other_variables(parsed)
    converted: dict[TargetId, Mapping[str, str]] = {}
    disabled: list[str] = []
    for target, values in configured.items():
        enable = switch(values.pop("enable", "") or "on")
        if enable == "off":
            disabled.append(str(target))
            continue
        if enable != "on":
            parsed.error(f"{target}.enable", f"found '{enable}'", "allowed is on or off")
        for key in (key for key, value in values.items() if value == REDACTED):
            parsed.error(f"{target}.{key}", f"found {REDACTED}", "allowed is the secret itself")
        converted[target] = _convert(target, values, parsed)
    if disabled:
        parsed.leave_out(join_names(disabled), "switched off in MinIO")
    parsed.raise_errors()
    return Merged(sync_events == "on", converted, tuple(parsed.rules), tuple(parsed.left_out))


def _merge_kind(kind: str, parsed: Parsed) -> dict[TargetId, dict[str, str]]:
    """Return the kind's targets: stored settings overridden by the environment."""
    stored = {target: values for target, values in parsed.stored.items() if target.kind == kind}
    declared: Any = targets.load(kind).Settings
    variables, errors = overrides(kind, options_of(declared), parsed.variables)
    parsed.errors += errors
    for id_, raw_values in variables.items():
        target = TargetId(kind, id_)
        values = {key: value for key, value in raw_values.items() if value}
        if target in stored or "enable" in values:
            stored[target] = stored.get(target, {}) | values
        elif values:
            parsed.leave_out(
                str(target),
                f"MinIO ignores it, as {prefix(kind)}ENABLE is not set for it",
            )
    return stored


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
        parsed.leave_out(join_names(others), ABOUT_THE_SERVER)


def _convert(target: TargetId, values: Mapping[str, str], parsed: Parsed) -> dict[str, str]:
    options = own_first(targets.load(target.kind).Settings)
    converted: dict[str, str] = {}
    for key, value in values.items():
        where = f"{target}.{key}"
        option = options.get(key)
        if option is None:
            converted[key] = value
        elif option.key in _STORE:
            if value not in ("", "0"):
                parsed.leave_out(where, "the target's SQS queue replaces it, without a limit")
        else:
            read_value = _as_minio_reads(where, option, value.strip(), parsed)
            if read_value and read_value != option.default:
                converted[option.key] = read_value
    return {key: converted[key] for key in (*options, *converted) if key in converted}


def _as_minio_reads(where: str, option: Option, value: str, parsed: Parsed) -> str:
    if option.type != "on|off" or value in ("", "on", "off"):
        return value
    if value.lower() != "false":
        parsed.leave_out(where, f"'{value}': MinIO accepts only 'on' for on, so it was off")
    return "off"
