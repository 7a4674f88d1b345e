"""Webhook: each event is one HTTP POST of MinIO's JSON body to an endpoint.

A request has the headers `Content-Type: application/json`, `User-Agent: bucketcast/<version>`,
`webhook-id` (the same for every delivery of an event, so that the receiver can drop duplicates)
and, with an `auth_token`, `Authorization`: one word is sent as `Bearer <word>`, two words as they
are (`Basic YWxpY2U6…`). With `shape = cloudevents` the content type is
`application/cloudevents+json`. With `cloudevents-binary` the attributes are headers `ce-…`,
percent-encoded: up to 6 KB for a long key, which is more than some servers accept.

With a `signing_secret` each request is signed as
[Standard Webhooks](https://www.standardwebhooks.com) specifies: `webhook-timestamp` is the time of
the attempt, and `webhook-signature` has one signature `v1,…` per key. Receivers verify it with one
of its libraries, as `examples/consume.py` does, and should answer 401 to a wrong signature: the
secret is then read again and the event sent once more, while a 400 would dead-letter it. To rotate,
set the new and the old key, separated by a space, give the receivers the new one, and remove the
old one.

The status of the response decides, see below. Beside the table:

* A rejected event keeps the status and the beginning of the response's body.
* After 401 or 407 the rest of the batch is not sent. 403 means the same, unless other events of the
  batch were accepted.
* 429, 503: too many at once, which waits for the seconds in `Retry-After`; a 429 without it is sent
  once more in the same batch, if others get through. When single requests are refused with
  `Retry-After`, the rest of the batch waits as long, which is no try. An error about one event
  should be a 409, or 422 for good.
* No response within `timeout`, or no connection: the rest of the batch is not sent, which is no
  try. Requests in flight may still arrive. A connection that is lost while others get through
  counts as too many.

A function begins with 8 requests in flight and doubles them while the endpoint answers as quickly,
up to `in_flight` and to one per MB of its memory. It halves them when answers take twice as long,
and takes one away for each that is refused: an endpoint that allows 20 at once gets 20, and refuses
fewer than one request in 100. What it found is forgotten after five idle minutes, and when the
connection is lost. Each function finds its own number: `max_concurrency` limits the functions.

Over TLS, HTTP/2 is used where the server offers it: up to 100 requests, or as many as the server
allows, share a connection. Otherwise each has its own, which is kept. 900 requests in flight take
60 MB of memory, with TLS 70 MB over HTTP/2 and 130 MB over HTTP/1.1. No request is started later
than `timeout` after the batch began, so that a slow endpoint does not hold the function until it is
killed; the events that are left go back to the queue, which is no try.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bucketcast.display import redacted_url
from bucketcast.event import Event
from bucketcast.shapes.ceph import attributes
from bucketcast.shapes.cloudevents import in_header
from bucketcast.targets import base
from bucketcast.targets.webhook.answers import ANSWERS
from bucketcast.targets.webhook.settings import WebhookSettings, login

if TYPE_CHECKING:
    from bucketcast.targets.webhook.client import Client


class Target(base.Connected["Client"]):
    """One endpoint; several threads may use it, one batch at a time."""

    arn_type = "webhook"
    client = "pycurl"
    attributes_prefix = "ce-"
    answers = ANSWERS
    Settings = WebhookSettings
    settings: WebhookSettings

    @property
    def max_send_seconds(self) -> float:
        """The last request begins `timeout` after the first, and may take as long."""
        return 2 * float(self.settings.timeout)

    @property
    def where(self) -> str:
        return redacted_url(self.settings.endpoint)

    def send(self, events: Sequence[Event]) -> base.Failures:
        with self._connection() as client:
            return client.send(events, self._encode)

    def headers(self, event: Event) -> dict[str, str]:
        return {
            "Content-Type": self.shape.content_type,
            "webhook-id": event.id,
            **self._attributes(event),
        }

    def endpoints(self) -> list[base.Endpoint]:
        if any(name.lower().endswith("_proxy") for name in os.environ):
            return []  # only the proxy reaches servers behind it
        return [base.Endpoint.of_url(self.settings.endpoint, self.settings)]

    def login(self) -> None:
        """Check the form of the token and the keys; only an event shows if they are accepted."""
        login(self.settings)

    def probe(self) -> None:
        from bucketcast.targets.webhook.client import handshake  # noqa: PLC0415 - carried by functions that deliver

        self.login()
        handshake(self.settings)

    def _connect(self) -> "Client":
        from bucketcast.targets.webhook.client import Client  # noqa: PLC0415 - as above

        return Client(self.settings, self.shape.content_type)

    def _encode(self, event: Event) -> tuple[bytes, list[str]]:
        headers = [f"webhook-id: {event.id}"]
        if self.settings.cloudevents or self.shape.attributes:
            headers += [f"{name}: {value}" for name, value in self._attributes(event).items()]
        return self.shape.message(event), headers

    def _attributes(self, event: Event) -> dict[str, str]:
        """Return the headers of a CloudEvent; none if the shape has none."""
        attributes_of = attributes if self.settings.cloudevents else self.shape.attributes
        values = attributes_of(event) if attributes_of else {}
        return {self.attributes_prefix + name: in_header(v) for name, v in values.items()}
