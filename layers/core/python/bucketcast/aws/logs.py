"""Read an object's traces from the functions' logs: lines of `bucketcast.delivery.tracing`."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.delivery import tracing

LATE_MS: Final = 120_000
"""How much later than the newest line another may appear."""
_ANY_TRACE: Final = '"trace"'


class Found(NamedTuple):
    """A log line and its time in Unix ms."""

    at: int
    line: tracing.Line


def about(trace_id: str, functions: Iterable[str], since: int, aws: Aws) -> Iterator[Found]:
    """Return the lines of these functions with a trace id of this prefix, since Unix ms.

    Raises:
        AwsError: AWS cannot be reached.
    """
    for function in functions:
        yield from _lines(_events(function, f'"{trace_id}"', since, aws))


class Follower:
    """Reads the trace lines of functions as they appear, each once.

    A line may become visible after later ones. So each look goes back beyond the newest line, and
    the ids of the lines within that time are remembered.
    """

    def __init__(self, functions: Iterable[str], since: int, aws: Aws) -> None:
        self._aws = aws
        self._since = since
        self._newest = dict.fromkeys(functions, since)
        self._seen: dict[str, dict[Hashable, int]] = {function: {} for function in self._newest}

    def poll(self) -> Iterator[Found]:
        """Yield the lines that are new since the last call.

        Raises:
            AwsError: AWS cannot be reached; the next call yields what this one did not.
        """
        for function in self._newest:
            yield from self._new_lines(function)

    def _new_lines(self, function: str) -> Iterator[Found]:
        seen = self._seen[function]
        start = max(self._since, self._newest[function] - LATE_MS)
        named = _by_id(_events(function, _ANY_TRACE, start, self._aws))
        new = [event for id_, event in named.items() if id_ not in seen]
        seen.update((id_, event["timestamp"]) for id_, event in named.items())
        self._newest[function] = newest = max(seen.values(), default=start)
        self._seen[function] = {each: at for each, at in seen.items() if at >= newest - LATE_MS}
        yield from _lines(new)


def _events(function: str, pattern: str, since: int, aws: Aws) -> Iterator[Any]:
    """Yield the log events of a function; none if it never ran."""
    client = aws.logs
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=f"/aws/lambda/{function}", filterPattern=pattern, startTime=since
    )
    with aws_errors():
        try:
            for page in pages:
                yield from page["events"]
        except client.exceptions.ResourceNotFoundException:
            return


def _lines(events: Iterable[Any]) -> Iterator[Found]:
    for event in events:
        line = tracing.read(event["message"])
        if line is not None:
            yield Found(event["timestamp"], line)


def _by_id(events: Iterable[Any]) -> Mapping[Hashable, Any]:
    """Return log events by id.

    The local AWS gives none: there it is stream, time, text, and how many of these came before.
    """
    found: dict[Hashable, Any] = {}
    same: Counter[Hashable] = Counter()
    for event in events:
        position = (event.get("logStreamName"), event["timestamp"], event["message"])
        same[position] += 1
        found[event.get("eventId") or (*position, same[position])] = event
    return found
