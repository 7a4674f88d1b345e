"""ListBuckets: what a user may see of it."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.gateway.bucket_list import BucketList
from bucketcast.gateway.judge import Judge
from bucketcast.users import User
from bucketcast.users.owners import Owner, Owners
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.responses import Send, send_response
from tests.unit.web.requests import ANNA, Wire, authenticator, scope_of, signed

DOCUMENT = (
    b'<?xml version="1.0"?>\n<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    b"<Owner><ID>account</ID></Owner><Buckets>%b</Buckets>"
    b"<ContinuationToken>next</ContinuationToken></ListAllMyBucketsResult>"
)


def bucket(name: str) -> bytes:
    return (
        f"<Bucket>\n<BucketRegion>eu</BucketRegion><CreationDate>2026</CreationDate>"
        f"<Name>{name}</Name></Bucket>"
    ).encode()


@pytest.fixture
def judge(dynamodb: Any, state_table: str) -> Judge:
    owners = Owners(state_table, dynamodb)
    owners.replace("own", None, Owner(ANNA.id))
    owners.replace("bobs", None, Owner("b2"))
    return Judge(owners)


def listed(judge: Judge, user: User, document: bytes) -> bytes:
    sent: list[MutableMapping[str, Any]] = []

    async def s3(admitted: AuthenticatedRequest, send: Send) -> None:
        assert ("accept-encoding" in admitted.call.headers) is user.admin
        await send_response(send, document)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        scope = scope_of(signed("GET", "/?max-buckets=9"), accept_encoding="gzip")
        admitted = await authenticator().authenticate(scope, Wire(b""))
        await BucketList(s3, judge)(replace(admitted, user=user), send)

    asyncio.run(run())
    body = b"".join(message.get("body", b"") for message in sent)
    assert dict(sent[0]["headers"])[b"content-length"] == str(len(body)).encode()
    return body


NAMES = ("own", "bobs", "given-a", "deploys")


def test_a_user_sees_their_own_buckets_and_those_with_any_right(judge: Judge) -> None:
    user = replace(ANNA, grants={"given-*": ("notify",)})
    found = listed(judge, user, DOCUMENT % b"".join(map(bucket, NAMES)))
    assert found == DOCUMENT % (bucket("own") + bucket("given-a"))


def test_an_administrator_sees_what_s3_answers(judge: Judge) -> None:
    document = DOCUMENT % b"".join(map(bucket, NAMES))
    assert listed(judge, replace(ANNA, admin=True), document) == document


@pytest.mark.parametrize(
    "document", [b"\x1f\x8b", DOCUMENT % b'<Bucket a=""><Name>x</Name></Bucket>']
)
def test_an_answer_in_another_form_reveals_nothing(judge: Judge, document: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        listed(judge, ANNA, document)
