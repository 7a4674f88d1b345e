"""Every shape at every server: bodies and headers arrive, and readers find the key."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote_plus, unquote, unquote_plus

from bucketcast import shapes, sources
from bucketcast.event import Event
from bucketcast.settings.options import read
from tests.contract.case import DAY, UNUSUAL_KEYS, Case
from tests.servers import Arrival

KEYS = (*UNUSUAL_KEYS, "100%2F", "a%20b+c d")
RECORDED = Path(__file__).parents[1] / "events" / "s3" / "put-2.1.json"
TRANSPORT_HEADERS = frozenset({"host", "user-agent", "accept", "content-length", "authorization"})
"""Headers that are not about the event."""


def put(key: str) -> Event:
    """S3's record of a put, as it came, of late."""
    body = json.loads(RECORDED.read_text(encoding="utf-8"))
    body["Records"][0]["eventTime"] = f"{DAY}T09:26:53.589Z"
    body["Records"][0]["s3"]["object"]["key"] = quote_plus(key, safe="/")
    (parsed,) = sources.events(json.dumps(body))
    return parsed


def document_of(arrival: Arrival) -> Any:
    """The JSON that arrived, without the time that may stand beside it."""
    document = json.loads(arrival.body)
    return document[1] if isinstance(document, list) else document


def same_json(body: bytes) -> str:
    """The same for bodies that differ in how they are printed only."""
    return json.dumps(json.loads(body), sort_keys=True)


def key_of(record: Any) -> str:
    """The key in a record, as it is written there."""
    return str(record["s3"]["object"]["key"])


def headers_of(arrival: Arrival) -> dict[str, str]:
    lower = {name.lower(): value for name, value in arrival.headers.items()}
    return {name: value for name, value in lower.items() if name not in TRANSPORT_HEADERS}


def minios_keys(arrival: Arrival, _: str) -> Iterator[str]:
    """MinIO escapes the key in the record, and has it plain in front."""
    document = document_of(arrival)
    yield unquote_plus(key_of(document["Records"][0]))
    if "Key" in document:
        yield document["Key"].removeprefix("uploads/")


def amazons_keys(arrival: Arrival, _: str) -> Iterator[str]:
    yield unquote_plus(key_of(document_of(arrival)["Records"][0]))


def cephs_keys(arrival: Arrival, _: str) -> Iterator[str]:
    """Ceph escapes nothing."""
    yield key_of(document_of(arrival)["Records"][0])


def cloud_keys(arrival: Arrival, _: str) -> Iterator[str]:
    """A subject is S3's key, as it stands in the record too."""
    document = document_of(arrival)
    yield unquote_plus(key_of(document["data"]))
    yield unquote_plus(document["subject"])


def binary_keys(arrival: Arrival, prefix: str) -> Iterator[str]:
    """The bindings whose prefix is `ce-` percent-encode what stands in headers."""
    yield unquote_plus(key_of(document_of(arrival)))
    subject = headers_of(arrival)[f"{prefix}subject".lower()]
    yield unquote_plus(unquote(subject) if prefix == "ce-" else subject)


READERS: Mapping[str, Callable[[Arrival, str], Iterator[str]]] = {
    "minio": minios_keys,
    "aws": amazons_keys,
    "ceph": cephs_keys,
    "cloudevents": cloud_keys,
    "cloudevents-binary": binary_keys,
}


def test_bodies_and_headers_arrive_and_readers_find_the_key(shaped: Case) -> None:
    batch, sender = [put(key) for key in KEYS], shaped.sender()
    assert sender.send(batch) == {}
    arrivals, reader = shaped.arrivals(), READERS[shaped.layout.shape]
    keys = [set(reader(arrival, shaped.kind.attributes_prefix or "")) for arrival in arrivals]
    assert sorted(map(sorted, keys)) == sorted([key] for key in KEYS)
    target = sender.target
    sent = {same_json(target.body(event_)): target.headers(event_) for event_ in batch}
    assert {same_json(arrival.body): headers_of(arrival) for arrival in arrivals} == {
        body: {name.lower(): value for name, value in headers.items()}
        for body, headers in sent.items()
    }
    is_structured = shaped.layout.shape == "cloudevents"
    types = {headers_of(arrival).get("content-type", "") for arrival in arrivals}
    assert types <= {"", f"application/{'cloudevents+' if is_structured else ''}json"}


def test_an_unsupported_shape_is_refused(case: Case) -> None:
    """A mirror is guarded by what its records say; attributes need headers."""
    has_headers = bool(case.sender().target.headers(put("a")))
    for name in get_args(shapes.Name):
        refused = case.layout.mirrors and name != "minio"
        refused |= name == "cloudevents-binary" and not has_headers
        settings = read(case.kind.Settings, case.layout_settings(shape=name))
        errors = [(key, allowed) for key, _, allowed in case.kind.check(settings)]
        assert {key for key, _ in errors} == ({"shape"} if refused else set())
        assert all(allowed.startswith("allowed is ") for _, allowed in errors)
