"""Create, change and delete topics: dynamic targets with attributes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from bucketcast.aws.clients import Aws
from bucketcast.deployment import DynamicSetup, read_outputs
from bucketcast.destination import TopicArn
from bucketcast.dynamic_targets.aws.factory import targets_of
from bucketcast.dynamic_targets.aws.targets import Desired, DynamicTargets, NoDynamicTargetError
from bucketcast.dynamic_targets.validation import ValidatedTarget, validate
from bucketcast.errors import ConfigErrors
from bucketcast.limits import MOST_PAGE_CHARACTERS
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.topics.attributes import HIDDEN, TLS, TopicAttributes
from bucketcast.topics.endpoint import kind_of, push_settings
from bucketcast.topics.errors import TopicError, invalid

_NOT_PUSHED: Final = ValidatedTarget({}, {}, ())


@dataclass(frozen=True, slots=True)
class DesiredTopic:
    """The desired state of a topic; its owner may have `most`, 0 for any number."""

    owner: str
    attributes: TopicAttributes = field(repr=False)
    owner_id: str = ""
    most: int = 0


Change = Callable[[Topic | None, Mapping[str, str]], DesiredTopic]
"""Returns the desired state, given the topic (None: new) and its hidden attributes; or raises."""


class Topics:
    """The topics of one deployment."""

    def __init__(self, setup: DynamicSetup, targets: DynamicTargets) -> None:
        self._setup = setup
        self._targets = targets

    @property
    def per_user(self) -> int:
        """The most topics of a user, 0 for no limit."""
        return self._setup.topics_per_user

    def put(self, arn: TopicArn, change: Change) -> Topic:
        """Create or change a topic.

        Raises:
            TopicError: the change is invalid.
            BucketcastError: AWS refused, or another call is changing the topic.
        """

        def plan(existing: DynamicTarget | None, stored: Mapping[str, str]) -> Desired:
            hidden = {key: stored[key] for key in HIDDEN if key in stored}
            desired = change(existing if isinstance(existing, Topic) else None, hidden)
            attributes = desired.attributes
            topic = Topic(
                arn=arn.arn,
                kind=kind_of(attributes.shown),
                id=arn.id,
                owner=desired.owner,
                owner_id=desired.owner_id,
                attributes=attributes.shown,
            )
            valid = self._validate(topic, attributes.hidden) if topic.kind else _NOT_PUSHED
            return Desired(topic, valid, desired.most)

        return cast("Topic", self._targets.change(arn, plan).target)

    def delete(self, arn: TopicArn, allow: Callable[[Topic], None]) -> bool:
        """Delete a topic with its waiting events, unless `allow` raises; False if there is none.

        Raises:
            BucketcastError: AWS refused, or another call is changing the topic.
        """

        def allowed(existing: DynamicTarget) -> None:
            if isinstance(existing, Topic):
                allow(existing)

        try:
            self._targets.remove(arn, discard=True, allow=allowed)
        except NoDynamicTargetError:
            return False
        return True

    def _validate(self, topic: Topic, hidden: Mapping[str, str]) -> ValidatedTarget:
        """Return the settings of a topic's target, validated like one in the configuration file."""
        settings = push_settings(topic, hidden)
        logs_in_without_tls = settings.get("sasl") == "on" and settings["tls"] == "off"
        if logs_in_without_tls and not self._setup.topics_in_cleartext:
            raise invalid(
                TLS,
                "false beside a login, which would go to the broker in the clear",
                'true, or false if the deploy has allow_secrets_in_cleartext = "on" in [topics]',
            )
        try:
            return validate(self._setup, topic.kind, topic.id, settings, hidden)
        except ConfigErrors as errors:
            # They name the target's settings, and no secret.
            raise TopicError("InvalidArgument", "; ".join(map(str, errors.errors))) from None


def topics_of(stack: str, table: str, aws: Aws) -> Topics:
    """Return the topics of a deployment.

    Raises:
        NoAnswer: the stack does not exist.
        AwsError: AWS does not answer.
    """
    setup = read_outputs(stack, aws).dynamic
    return Topics(setup, targets_of(stack, table, setup, aws))


def page(
    table: Table,
    tenant: str | None,
    limit: int,
    after: str = "",
    keep: Callable[[Topic], bool] = lambda _: True,
) -> tuple[list[Topic], str]:
    """Return up to `limit` topics of a tenant (None: of all), and a marker for the next page.

    Topics with long attributes are fewer. Pass the marker as `after` to get the next page; "" is
    the end.
    """
    topics: list[Topic] = []
    size = 0
    # One more than `limit` shows whether there is another page.
    for topic in filter(keep, table.topics(tenant, after, limit + 1)):
        size += sum(map(len, topic.attributes.values()))
        if len(topics) == limit or (topics and size > MOST_PAGE_CHARACTERS):
            return topics, TopicArn.parse(topics[-1].arn).key
        topics.append(topic)
    return topics, ""
