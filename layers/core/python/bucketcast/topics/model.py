"""Topics and their names."""

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
"""The kind of target by the scheme of `push-endpoint`; its ARN ends with the same word."""
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
    """One topic; its name is its tenant's, whoever `owner`, the name of a user, is.

    `attributes` are as they were given, but for the login: `push-endpoint` is without it, and
    `user-name` and `password` are not there. What was left out, the attributes `hidden`, are the
    fields of the secret `secret`, a JSON object; "" where there is no login. `authority` is the
    certificate that was at the path `ca-location` when that was given. `number` grows with every
    change.
    """

    tenant: str
    owner: str
    name: str
    region: str
    attributes: dict[str, str]
    secret: str = ""
    hidden: tuple[str, ...] = ()
    authority: str = ""
    number: int = 1

    @property
    def arn(self) -> str:
        return str(TopicArn(self.region, self.tenant, self.name))

    @property
    def user(self) -> str:
        """The owner, as RGW writes one: with the tenant, where there is one."""
        return f"{self.tenant}${self.owner}" if self.tenant else self.owner

    @property
    def endpoint(self) -> str:
        """Where events are pushed, without a login; "" where they are not."""
        return self.attributes.get(ENDPOINT, "")

    @property
    def kind(self) -> str:
        """The kind of its target: `webhook`, `amqp` or `kafka`; "" where events are not pushed."""
        return KINDS.get(self.endpoint.partition("://")[0], "")

    @property
    def id(self) -> str:
        """The id of its dynamic target, which is the same as long as its tenant and name are."""
        return TopicArn(self.region, self.tenant, self.name).target_id

    @property
    def target_arn(self) -> str:
        """The ARN of the dynamic target of its own; "" where it has none."""
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
        """Its policy, as JSON; "" where it has none."""
        return self.attributes.get("Policy", "")

    @property
    def time_to_live(self) -> int | None:
        """Seconds; 0 is without end, None what the deployment says."""
        return self._number("time_to_live")

    @property
    def max_retries(self) -> int | None:
        """How often after the first attempt; 0 is without end, None what the deployment says."""
        return self._number("max_retries")

    @property
    def retry_sleep_duration(self) -> int | None:
        """Seconds between attempts; 0 is at once, None what the deployment says."""
        return self._number("retry_sleep_duration")

    def retries(self, defaults: "TopicDefaults") -> Policy:
        """Return how its events are tried: by its own limits, even if 0, else the deployment's."""

        def either(own: int | None, other: int) -> int:
            return other if own is None else own

        sleep = self.retry_sleep_duration
        return Policy(
            time_to_live=either(self.time_to_live, defaults.time_to_live),
            retries=either(self.max_retries, defaults.max_retries),
            pause=sleep if sleep is not None else defaults.retry_sleep_duration or None,
        )

    @property
    def references(self) -> dict[str, str]:
        """What is hidden, as `bucketcast.aws.secrets.resolve` reads it."""
        return {key: f"{REFERENCE}{self.secret}#{key}" for key in self.hidden}

    @property
    def args(self) -> str:
        """The arguments of its endpoint, as `EndpointArgs` shows them."""
        own = {key: text for key, text in sorted(self.attributes.items()) if key not in OWN}
        return urlencode(own, quote_via=quote, safe="/:,@")

    def _number(self, key: str) -> int | None:
        text = self.attributes.get(key)
        return int(text) if text else None


def require_name(name: str) -> None:
    """Check the name of a new topic.

    Raises:
        TopicError: it is invalid.
    """
    if not _NAME.fullmatch(name):
        raise invalid("Name", repr(name[:300]), "1 to 256 of A-Z, a-z, 0-9, '_' and '-'")


def missing(arn: str) -> TopicError:
    """Return the error that there is no such topic."""
    return TopicError("NotFound", f"there is no topic {arn}")
