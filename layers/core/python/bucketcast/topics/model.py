"""A topic: its attributes, its names, and its retry policy."""

import re
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from bucketcast.delivery.policy import Policy
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.settings.environment import TopicDefaults
from bucketcast.settings.types import REFERENCE
from bucketcast.topics.errors import TopicError, invalid

KINDS: Final = {
    "http": "webhook",
    "https": "webhook",
    "amqp": "amqp",
    "amqps": "amqp",
    "kafka": "kafka",
}
"""The kind of target by the scheme of `push-endpoint`."""
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
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")


class Topic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One topic; names are unique in a tenant.

    It belongs to the user with the id `owner_id`, called `owner`; "" is nobody's, so that only
    administrators and its policy decide.

    `attributes` are those that the user set, without the login: `push-endpoint` has none, and
    `user-name` and `password` are absent. The secret `secret`, a JSON object, holds the attributes
    `hidden` with the login; "" if there is no login. `number` grows with every
    change.
    """

    tenant: str
    owner: str
    owner_id: str = ""
    name: str
    region: str
    attributes: dict[str, str]
    secret: str = ""
    hidden: tuple[str, ...] = ()
    number: int = 1

    @property
    def arn(self) -> str:
        return str(TopicArn(self.region, self.tenant, self.name))

    @property
    def user(self) -> str:
        """The owner in RGW's form, with the tenant if there is one."""
        return f"{self.tenant}${self.owner}" if self.tenant else self.owner

    @property
    def endpoint(self) -> str:
        """The URL that events are pushed to, without a login; "" if they are not pushed."""
        return self.attributes.get(ENDPOINT, "")

    @property
    def kind(self) -> str:
        """The kind of its target: `webhook`, `amqp` or `kafka`; "" if events are not pushed."""
        return KINDS.get(self.endpoint.partition("://")[0], "")

    @property
    def id(self) -> str:
        """The id of its dynamic target, which depends on tenant and name only."""
        return TopicArn(self.region, self.tenant, self.name).target_id

    @property
    def target_arn(self) -> str:
        """The ARN of its own dynamic target; "" if it has none."""
        if not self.kind or not self.persistent:
            return ""
        return str(TargetArn(id=self.id, type=self.kind))

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

    def retry_policy(self, defaults: "TopicDefaults") -> Policy:
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
    def references(self) -> dict[str, str]:
        """References to the hidden attributes, for `bucketcast.aws.secrets.resolve`."""
        return {key: f"{REFERENCE}{self.secret}#{key}" for key in self.hidden}

    @property
    def args(self) -> str:
        """The arguments of its endpoint, in the form of `EndpointArgs`."""
        own = {key: value for key, value in sorted(self.attributes.items()) if key not in OWN}
        return urlencode(own, quote_via=quote, safe="/:,@")

    def _number(self, key: str) -> int | None:
        value = self.attributes.get(key)
        return int(value) if value else None


def require_name(name: str) -> None:
    """Check the name of a new topic.

    Raises:
        TopicError: the name is invalid.
    """
    if not _NAME.fullmatch(name):
        raise invalid("Name", repr(name[:300]), "1 to 256 of A-Z, a-z, 0-9, '_' and '-'")


def topic_not_found(arn: str) -> TopicError:
    """Return the error of a call about a topic that does not exist."""
    return TopicError("NotFound", f"there is no topic {arn}")
