"""The options of `notify_nsq`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.settings.options import option
from bucketcast.settings.types import Address, OnOff, Secret
from bucketcast.targets.base import Endpoint, options

MAX_TOPIC = 64
EPHEMERAL = "#ephemeral"
_valid_topic = re.compile(r"[.a-zA-Z0-9_-]+(?:#ephemeral)?").fullmatch


@dataclass(frozen=True, kw_only=True)
class NsqSettings(options.Common, options.TlsSwitched):
    """MinIO's options of `notify_nsq`, plus Bucketcast's own."""

    nsqd_address: Address = option(
        "nsqd's TCP address; the default port is 4150", example="localhost:4150"
    )
    topic: str = option("the topic that events go to", example="bucketevents")
    tls_enable: OnOff = option("the same as tls, as in MinIO's guide", default="off")
    auth_secret: Secret = option("the secret for an nsqd with --auth-http-address", default="")

    @property
    def encrypted(self) -> bool:
        return bool(self.tls or self.tls_enable)

    @property
    def server(self) -> Endpoint:
        return Endpoint.of(self.nsqd_address, 4150)

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from options.tls_errors(self, encrypted=self.encrypted, tls_only=("cert_authority",))
        topic = self.topic
        if not options.is_reference(topic) and (len(topic) > MAX_TOPIC or not _valid_topic(topic)):
            allowed = f"1 to {MAX_TOPIC} of a-z, A-Z, 0-9, '.', '_' and '-'"
            suffix = f"it may end in {EPHEMERAL}"
            yield "topic", f"found {topic!r}", f"allowed is {allowed}; {suffix}"

    def notes(self) -> Iterator[str]:
        if self.topic.endswith(EPHEMERAL):
            yield (
                f"topic ends in {EPHEMERAL}: nsqd never writes it to disk, and loses events that"
                " consumers do not read in time"
            )
        if self.tls_skip_verify and not self.encrypted:
            yield "tls_skip_verify does nothing while tls is off"
