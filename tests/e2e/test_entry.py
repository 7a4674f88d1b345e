"""MinIO and Ceph RGW as sources: what they post arrives at a target, under the right names."""

import base64
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ENTRY, ROOT
from tests.e2e.system import System

RECORDED = ROOT / "tests" / "events"
MINIO_LOGIN = f"Bearer {ENTRY['minio']['token']}"
RGW_LOGIN = "Basic " + base64.b64encode(f"rgw:{ENTRY['rgw']['token']}".encode()).decode()


def post(system: System, body: bytes, login: str) -> tuple[int, Any]:
    """As MinIO and RGW post; the status and what is answered."""
    request = urllib.request.Request(  # noqa: S310 - the emulator's own
        system.environment["BUCKETCAST_ENTRY_URL"],
        data=body,
        headers={"Authorization": login, "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("recorded", "login", "name"),
    [
        ("minio/object-created-put", MINIO_LOGIN, "s3:ObjectCreated:Put"),
        ("minio/object-accessed-get", MINIO_LOGIN, "s3:ObjectAccessed:Get"),
        ("minio/object-removed-delete", MINIO_LOGIN, "s3:ObjectRemoved:Delete"),
        ("ceph/object-created-copy", RGW_LOGIN, "s3:ObjectCreated:Copy"),
        ("ceph/object-removed-delete", RGW_LOGIN, "s3:ObjectRemoved:Delete"),
    ],
)
def test_what_minio_and_rgw_post_arrives_under_its_name(
    system: System, prefix: str, recorded: str, login: str, name: str
) -> None:
    body = json.loads((RECORDED / f"{recorded}.json").read_text())
    what = body["Records"][0]["s3"]
    what["bucket"]["name"], what["object"]["key"] = "premises", f"{prefix}cat.jpg"
    system.add_rule("premises", "webhook.primary", "--prefix", prefix, event="put,delete,get")
    assert post(system, json.dumps(body).encode(), login) == (200, {"status": "received"})
    (arrived,) = system.until(
        "the event at the webhook",
        lambda: posted(system.consumers.webhook, f"premises/{prefix}"),
        lambda seen: len(seen) == 1,
    )
    assert (arrived.name, arrived.key) == (name, f"premises/{prefix}cat.jpg")


def test_refused_callers_and_bodies_get_the_reason(system: System) -> None:
    body = (RECORDED / "minio" / "object-created-put.json").read_bytes()
    assert post(system, body, "Bearer wrong")[0] == 401
    status, answer = post(system, body, RGW_LOGIN)
    assert status == 403
    assert "the token of rgw is for ceph; found minio" in answer["error"]
    status, answer = post(system, body.replace(b'"plain"', b'"uploads"'), MINIO_LOGIN)
    assert status == 403
    assert "found 'uploads'" in answer["error"]
    status, answer = post(system, b'{"hello": "world"}', MINIO_LOGIN)
    assert status == 400
    assert "no known event" in answer["error"]
