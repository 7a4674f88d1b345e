"""The options of `notify_webhook`."""

from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.settings.options import Limits, option, options_of
from bucketcast.settings.types import Duration, OnOff, Secret, Url
from bucketcast.targets.base import options
from bucketcast.targets.webhook.signature import Signer

MAX_IN_FLIGHT = 900
"""Each may need a connection, and Lambda allows a function 1,024 open files and sockets."""


@dataclass(frozen=True, kw_only=True)
class WebhookSettings(options.Common, options.TlsUnverified):
    endpoint: Url = option("where events are posted", example="http://127.0.0.1:3000/events")
    auth_token: Secret = option(
        "the Authorization header: a token, sent as Bearer, or a scheme and credentials",
        default="",
    )
    signing_secret: Secret = option(
        "keys that sign each request as Standard Webhooks specifies: whsec_… (HMAC-SHA256); "
        "several, separated by spaces, during a rotation",
        default="",
    )
    timeout: Duration = option("timeout of one request", default="10s", limits=Limits("1ms", "5m"))
    cloudevents: OnOff = option(
        "with shape = ceph: also send CloudEvents' attributes in headers, like a topic's "
        "cloudevents",
        default="off",
    )
    in_flight: int = option(
        "maximum number of parallel requests, of which the endpoint gets as many as it answers "
        "quickly; 1 sends them one after the other",
        default=f"{MAX_IN_FLIGHT}",
        limits=Limits("1", f"{MAX_IN_FLIGHT}"),
    )

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from options.secret_errors(self, "auth_token", authorization)
        yield from options.secret_errors(self, "signing_secret", Signer, "allowed are")
        if self.cloudevents and self.shape != "ceph":
            yield "cloudevents", f"found beside shape = {self.shape}", "allowed is shape = ceph"
        if not self.endpoint.isascii():
            allowed = "allowed is ASCII: %-encoded, and the host in its xn-- form"
            yield "endpoint", f"found {self.endpoint!r}", allowed
        yield from options.tls_errors(self)

    def notes(self) -> Iterator[str]:
        unused = [key for key in options_of(options.Tls) if getattr(self, key)]
        if unused and self.endpoint.lower().startswith("http://"):
            yield f"{', '.join(unused)}: beside an http:// endpoint they do nothing"


def login(settings: WebhookSettings) -> tuple[str, Signer]:
    """Return the Authorization header, "" for none, and the signer of requests.

    Raises:
        NotAuthorized: the token cannot be sent, or a key is malformed.
    """
    token = options.parsed(settings, "auth_token", authorization)
    return token, options.parsed(settings, "signing_secret", Signer, "allowed are")


def authorization(token: str) -> str:
    """Return MinIO's Authorization header for a token, "" for none.

    Raises:
        ValueError: MinIO would drop the header.
    """
    words = token.split()
    if len(words) > 2 or not (token.strip().isascii() and token.strip().isprintable()):  # noqa: PLR2004
        raise ValueError("one word, or scheme and credentials in two, of printable ASCII")
    return f"Bearer {words[0]}" if len(words) == 1 else " ".join(words)
