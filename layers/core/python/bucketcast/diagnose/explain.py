"""Explain an event: each rule's answer, and the message that each target would get.

It uses the same sources, rules, conditions and shapes as ingest and dispatch, and sends nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bucketcast import deployment as deployed
from bucketcast import targets
from bucketcast.aws import clients
from bucketcast.aws.clients import Aws
from bucketcast.destination import Destination, TopicArn
from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex
from bucketcast.settings.options import read
from bucketcast.state.dynamic_targets import Table
from bucketcast.targets.base import Target


@dataclass(frozen=True, slots=True)
class Answer:
    """A rule's answer to an event.

    `because` is the first condition that failed; if the rule matched, the conditions that were
    assumed to hold for want of data, or "".
    """

    event: Event
    rule: Rule
    matched: bool
    because: str


@dataclass(frozen=True, slots=True)
class Message:
    """The exact message that a target would get for an event; `target` is its ARN."""

    event: Event
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Explanation:
    """All answers, in the order of events and rules, and their consequences.

    `missing` are matched ARNs without a deployed target, `not_logged` hints about events that only
    CloudTrail reports, and does not log, or that S3 does not send.
    """

    events: Sequence[Event]
    answers: Sequence[Answer]
    messages: Sequence[Message]
    missing: Sequence[str]
    not_logged: Sequence[str] = ()


def explain(
    events: Sequence[Event],
    rules: Callable[[str], Sequence[Rule]],
    target: Callable[[Destination], Target | None],
) -> Explanation:
    """Match each event with its bucket's rules; `target` returns a destination's target.

    A target only formats the event: no connection is opened and no secret is read.
    """
    answers = [_answer(event, rule) for event in events for rule in rules(event.bucket)]
    indexes = {bucket: RuleIndex(rules(bucket)) for bucket in {event.bucket for event in events}}
    hits = [
        (replace(event, rule=hit.rule, named=hit.named), hit.to)
        for event in events
        for hit in indexes[event.bucket].match(event)
    ]
    resolved = {to: target(to) for to in dict.fromkeys(to for _, to in hits)}
    missing = [to.arn for to, resolution in resolved.items() if resolution is None]
    return Explanation(events, answers, list(_messages(hits, resolved)), missing)


def _answer(event: Event, rule: Rule) -> Answer:
    failure = rule.failure(event)
    if failure:
        return Answer(event, rule, matched=False, because=failure)
    unknown = [str(condition) for condition in rule.conditions if condition.unknown_facts(event)]
    because = f"taken as met, as the values are unknown: {'; '.join(unknown)}" if unknown else ""
    return Answer(event, rule, matched=True, because=because)


def _messages(
    hits: Iterable[tuple[Event, Destination]], targets: Mapping[Destination, Target | None]
) -> Iterator[Message]:
    for event, to in hits:
        target = targets[to]
        if target is not None:
            yield Message(event, to.arn, target.headers(event), target.body(event))


def offline_target(to: Destination, deployment: deployed.Deployed, aws: Aws) -> Target | None:
    """Return a target without its secrets, to format events with; None if it does not exist."""
    settings: Mapping[str, str]
    if isinstance(to, TopicArn):
        with clients.aws_errors():
            topic = Table(deployment.state_table, aws.dynamodb).topic(to)
        if topic is None or not topic.kind:
            return None
        name, settings = topic.kind, topic.settings
    else:
        found = next((target for target in deployment.targets if target.arn == to.arn), None)
        if found is None:
            return None
        name, settings = found.kind, deployed.settings(found, aws)
    kind = targets.load(name)
    return kind(read(kind.Settings, settings))
