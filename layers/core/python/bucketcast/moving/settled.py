"""What MinIO's files amount to: variables joined in as MinIO does it, in Bucketcast's own options.

A variable wins over what is stored, an empty one counts as unset, and a target that only variables
know needs its `…_ENABLE…`. Of MinIO's switches only the word `on` is on, `enable` apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bucketcast import targets
from bucketcast.config.reading import switch
from bucketcast.config.variables import overrides, prefix
from bucketcast.errors import did_you_mean
from bucketcast.moving.found import Found, LeftOut, TargetId, listed
from bucketcast.moving.known import ABOUT_THE_SERVER, FORMER, WITHOUT_USE
from bucketcast.options import Option, options_of
from bucketcast.rules import Rule

ANY_NOTIFY = "MINIO_NOTIFY_"
SYNC_EVENTS = "MINIO_API_SYNC_EVENTS"
_STORE = ("queue_dir", "queue_limit")


@dataclass(frozen=True, slots=True)
class Settled:
    """`targets` have only what differs from the defaults, in the order of their declaration."""

    sync_events: bool
    targets: Mapping[TargetId, Mapping[str, str]]
    rules: tuple[Rule, ...]
    left_out: tuple[LeftOut, ...]


def settle(found: Found) -> Settled:
    """Join what was found.

    Raises:
        ConfigErrors: with every mistake.
    """
    sync_events = found.variables.pop(SYNC_EVENTS, "") or found.sync_events
    configured: dict[TargetId, dict[str, str]] = {}
    for kind in targets.kinds():
        configured |= _joined(kind, found)
    _leave_out_other_variables(found)
    taken: dict[TargetId, Mapping[str, str]] = {}
    off: list[str] = []
    for target, values in configured.items():
        enable = switch(values.pop("enable", "") or "on")
        if enable == "off":
            off.append(str(target))
            continue
        if enable != "on":
            found.wrong(f"{target}.enable", f"found '{enable}'", "allowed is on or off")
        taken[target] = _in_options(target, values, found)
    if off:
        found.leave_out(listed(off), "switched off in MinIO")
    found.checked()
    return Settled(sync_events == "on", taken, tuple(found.rules), tuple(found.left_out))


def _joined(kind: str, found: Found) -> dict[TargetId, dict[str, str]]:
    """The kind's targets, what is stored under what the environment says."""
    stored = {target: values for target, values in found.stored.items() if target.kind == kind}
    said, mistakes = overrides(kind, _every_key(kind), found.variables)
    found.mistakes += mistakes
    for id_, texts in said.items():
        target = TargetId(kind, id_)
        given = {key: text for key, text in texts.items() if text}
        if target in stored or "enable" in given:
            stored[target] = stored.get(target, {}) | given
        elif given:
            found.leave_out(
                str(target),
                f"to MinIO there is no such target: {prefix(kind)}ENABLE for it is not set",
            )
    return stored


def _every_key(kind: str) -> dict[str, Option]:
    """The kind's options, and stand-ins for MinIO's keys that are none."""
    declared: Any = targets.load(kind).Settings
    options = dict(options_of(declared))
    for key in (*FORMER.get(kind, {}), *WITHOUT_USE.get(kind, {})):
        options.setdefault(key, replace(options["comment"], key=key, variable=key.upper()))
    return options


def _leave_out_other_variables(found: Found) -> None:
    known = [prefix(kind) for kind in targets.kinds()]
    others = []
    for name in found.variables:
        if name.startswith(tuple(known)):
            continue
        if name.startswith(ANY_NOTIFY):
            near = did_you_mean(name, known)
            found.wrong(name, "unknown variable", f"{near}it begins with {', '.join(known)}")
        else:
            others.append(name)
    if others:
        found.leave_out(listed(others), ABOUT_THE_SERVER)


def _in_options(target: TargetId, values: Mapping[str, str], found: Found) -> dict[str, str]:
    declared: Any = targets.load(target.kind).Settings
    options = options_of(declared)
    former = FORMER.get(target.kind, {})
    without_use = WITHOUT_USE.get(target.kind, {})
    taken: dict[str, str] = {}
    for key, text in values.items():
        where = f"{target}.{key}"
        known = options.get(former.get(key, key))
        if known is None and key in without_use:
            if text not in ("", "0", "0s", "off"):
                found.leave_out(where, without_use[key])
        elif known is None:
            near = did_you_mean(key, options)
            found.wrong(where, "unknown key", f"{near}allowed are {', '.join(options)}")
        elif known.key in _STORE:
            if text not in ("", "0"):
                found.leave_out(where, "the target's SQS queue is the store, without a limit")
        else:
            said = _as_minio_reads(where, known, text.strip(), found)
            if said and said != known.default:
                taken[known.key] = said
    own_first = sorted(options, key=lambda key: key not in declared.__annotations__)
    return {key: taken[key] for key in own_first if key in taken}


def _as_minio_reads(where: str, known: Option, text: str, found: Found) -> str:
    if known.type != "on|off" or text in ("", "on", "off"):
        return text
    if text.lower() != "false":
        found.leave_out(where, f"'{text}': MinIO takes only the word on for on, so it was off")
    return "off"
