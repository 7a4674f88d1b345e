"""The items of what is made at run time: dynamic targets, topics, and the tasks of calls."""

from typing import Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue_names import dead_of
from bucketcast.destination import TopicArn
from bucketcast.settings.environment import TopicDefaults

ENDPOINT: Final = "push-endpoint"
OWN: Final = frozenset(
    {
        ENDPOINT,
        "OpaqueData",
        "Policy",
        "max_retries",
        "persistent",
        "retry_sleep_duration",
        "time_to_live",
    }
)
"""The attributes that are the topic's own; all others are arguments of its endpoint."""

State = Literal["on", "off", "kept"]


class DynamicTarget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="target"):
    """One dynamic target, by the `arn` that rules name.

    `settings` hold references instead of secrets, and `secret` is the name of the one secret
    that they refer to, or "". `number` grows with every change. `state` is `on`; `off` where its
    settings say enable = off; `kept` where it was removed while messages waited. A target
    that is `off` is given events, which wait; one that is `kept` is given none. `is_mirror` is True
    if it mirrors its buckets.
    """

    arn: str
    kind: str
    id: str
    queue: str = ""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    number: int = 0
    secret: str = ""
    state: State = "on"
    is_mirror: bool = False

    @property
    def has_queue(self) -> bool:
        """Whether its events wait in a queue of its own."""
        return True

    @property
    def dead(self) -> str:
        """The name of its dead-letter queue."""
        return dead_of(self.queue)

    @property
    def resources(self) -> "tuple[Resource, ...]":
        """What it needs, in the order in which that is removed."""
        mapping = Resource("mapping", self.queue, self.kind)
        parts = {
            mapping: self.queue and self.state == "on",
            Resource("alarms", self.queue): self.queue and self.state != "kept",
            Resource("secret", self.secret): self.secret,
            Resource("queue", self.queue): self.queue,
        }
        return tuple(resource for resource, needed in parts.items() if needed)


class Topic(DynamicTarget, frozen=True, kw_only=True, omit_defaults=True, tag="topic"):
    """A topic: a target with attributes. It has a queue if it is persistent and pushed.

    It belongs to the user with the id `owner_id`, called `owner`; "" is nobody's, so that only
    administrators and its policy decide. `kind` is "" if its events are not pushed.

    `attributes` are those that the user set, without the login: `push-endpoint` has none, and
    `user-name` and `password` are absent. Its secret holds them, beside those of its settings.
    """

    owner: str
    owner_id: str = ""
    attributes: dict[str, str]

    @property
    def tenant(self) -> str:
        return TopicArn.parse(self.arn).tenant

    @property
    def name(self) -> str:
        """Its name, which is unique in its tenant."""
        return TopicArn.parse(self.arn).name

    @property
    def has_queue(self) -> bool:
        return self.persistent and bool(self.kind)

    @property
    def user(self) -> str:
        """The owner in RGW's form, with the tenant if there is one."""
        return f"{self.tenant}${self.owner}" if self.tenant else self.owner

    @property
    def endpoint(self) -> str:
        """The URL that events are pushed to, without a login; "" if they are not pushed."""
        return self.attributes.get(ENDPOINT, "")

    @property
    def persistent(self) -> bool:
        return self.attributes.get("persistent") == "true"

    @property
    def opaque_data(self) -> str:
        return self.attributes.get("OpaqueData", "")

    @property
    def policy(self) -> str:
        """Its policy as JSON; "" if it has none."""
        return self.attributes.get("Policy", "")

    @property
    def time_to_live(self) -> int | None:
        """Seconds; 0 means no limit, None the deployment's default."""
        return self._number("time_to_live")

    @property
    def max_retries(self) -> int | None:
        """Attempts after the first; 0 means no limit, None the deployment's default."""
        return self._number("max_retries")

    @property
    def retry_sleep_duration(self) -> int | None:
        """Seconds between attempts; 0 means no pause, None the deployment's default."""
        return self._number("retry_sleep_duration")

    def retry_policy(self, defaults: TopicDefaults) -> Policy:
        """Return the retry policy of its events: its own limits, else the deployment's."""

        def first(own: int | None, other: int) -> int:
            return other if own is None else own

        sleep = self.retry_sleep_duration
        return Policy(
            time_to_live=first(self.time_to_live, defaults.time_to_live),
            retries=first(self.max_retries, defaults.max_retries),
            pause=sleep if sleep is not None else defaults.retry_sleep_duration or None,
        )

    @property
    def args(self) -> str:
        """The arguments of its endpoint, in the form of `EndpointArgs`."""
        own = {key: value for key, value in sorted(self.attributes.items()) if key not in OWN}
        return urlencode(own, quote_via=quote, safe="/:,@")

    def _number(self, key: str) -> int | None:
        value = self.attributes.get(key)
        return int(value) if value else None


class Resource(msgspec.Struct, frozen=True):
    """A resource of a target; a queue stands for its dead-letter queue, too.

    `name` is the secret's or the queue's. `reader` is the kind whose function a mapping calls.
    """

    kind: Literal["alarms", "mapping", "queue", "secret"]
    name: str
    reader: str = ""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one call on the target with this key, or what it did not finish.

    Its item is leased: it belongs to `holder` until `due` (Unix ms); then any call may take it
    over. With `if_empty` no call is at work: a removed target's queue goes once it is empty.
    """

    key: str
    holder: str
    due: int
    resources_to_remove: tuple[Resource, ...] = ()
    if_empty: bool = False
