"""Say what of that which rules or listeners ask for does not arrive from a bucket."""

import json
import shlex
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from bucketcast.rules import Rule
from bucketcast.rules.sent_events import EVENTBRIDGE, EVENTS, WHOLE, Part


def not_sent(asked: Sequence[Rule], parts: Sequence[Part], deployed: Mapping[str, str]) -> str:
    """Return what to change if some of what is asked for of a bucket is in no part, else "".

    `parts` are what arrives; without one the bucket is not attached, which is said elsewhere.
    `deployed` are the transports of the deploy's buckets.
    """
    singles = [replace(rule, events=(event,)) for rule in asked for event in rule.events]
    beyond = [one for one in singles if all(part.with_rules([one]) != part for part in parts)]
    if not beyond or not parts:
        return ""
    bucket, part = asked[0].bucket, parts[0]
    wider = (WHOLE if part == EVENTBRIDGE else part.with_rules(beyond))._asdict()
    if bucket in deployed:
        keys = {"via": "both"} if part == EVENTBRIDGE else {**wider}
        given = [
            f"{key} = {json.dumps(value, ensure_ascii=False)}"
            for key, value in keys.items()
            if value != getattr(part, key, "")
        ]
        how = f"write {', '.join(given)} into [bucket.{bucket}] of bucketcast.toml, and deploy"
    else:
        events = "" if wider["events"] == EVENTS else ",".join(wider["events"])
        options = {"event": events, "prefix": wider["prefix"], "suffix": wider["suffix"]}
        words = [f" --{name} {shlex.quote(value)}" for name, value in options.items() if value]
        how = f"run `bucketcast bucket attach {bucket}{''.join(words)}`"
    sent = "; ".join(map(str, parts))
    return f"of {bucket} S3 sends only {sent}: {how}, so that all comes that is asked for"
