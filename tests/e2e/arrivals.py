"""What has arrived at the consumers, by the prefix of the objects' keys."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.mirrors import rows
from tests.contract.oracle import Row
from tests.e2e.system import Deployed, System
from tests.servers import Arrival
from tests.servers.webhook import WebhookServer


@dataclass(frozen=True, slots=True)
class Posted:
    """One request that a webhook was sent and took; `key` is `bucket/key`."""

    name: str
    key: str
    document: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def record(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document["Records"][0]
        return found


def posted(server: WebhookServer, prefix: str, path: str = "") -> list[Posted]:
    """The events of keys with this prefix (`bucket/…`) that were answered 2xx, as they came."""
    found = []
    part = prefix.encode()
    for request in server.accepted(path):
        if part not in request.body:  # most are another test's, and to parse them takes long
            continue
        document = json.loads(request.body)
        if document["Key"].startswith(prefix):
            one = Posted(document["EventName"], document["Key"], document, request.headers)
            found.append(one)
    return found


def table(system: System, prefix: str) -> dict[str, Row]:
    """The rows of the mirror in PostgreSQL."""
    return rows_of(system.consumers.postgres.received("mirror"), prefix)


def bucket(system: Deployed, name: str, prefix: str) -> dict[str, tuple[int, str]]:
    """Size and ETag of each object, by `bucket/key`, as S3 lists them."""
    pages = system.s3.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix=prefix)
    return {
        f"{name}/{each['Key']}": (each["Size"], each["ETag"].strip('"'))
        for page in pages
        for each in page.get("Contents", ())
    }


def as_listed(mirror: Mapping[str, Row]) -> dict[str, tuple[int, str]]:
    """A mirror's rows as `bucket` gives its objects."""
    return {key: (each.size, each.etag) for key, each in mirror.items()}


def rows_of(arrivals: Iterable[Arrival], prefix: str) -> dict[str, Row]:
    """The rows of a mirror, by `bucket/key`."""
    return rows(each for each in arrivals if each.key.startswith(prefix))
