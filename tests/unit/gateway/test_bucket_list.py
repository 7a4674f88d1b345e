"""ListBuckets: what a user may see of it."""

import asyncio
from dataclasses import replace

import pytest

from bucketcast.gateway.bucket_list import BucketList
from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.responses import Send, send_response
from tests.unit.web.requests import ANNA, Response, Wire, authenticator, scope_of, signed

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


def listed(user: User, document: bytes) -> bytes:
    response = Response()

    async def s3(admitted: AuthenticatedRequest, send: Send) -> None:
        assert ("accept-encoding" in admitted.call.headers) is user.admin
        await send_response(send, document)

    async def run() -> None:
        scope = scope_of(signed("GET", "/?max-buckets=9"), accept_encoding="gzip")
        admitted = await authenticator().authenticate(scope, Wire(b""))
        await BucketList(s3)(replace(admitted, user=user), response)

    asyncio.run(run())
    assert response.headers["content-length"] == str(len(response.body))
    return response.body


NAMES = ("bobs", "given-a", "made", "deploys")


def test_a_user_sees_the_buckets_on_which_they_have_any_right() -> None:
    user = replace(ANNA, grants={"given-*": ("notify",), "made": ("create",)})
    found = listed(user, DOCUMENT % b"".join(map(bucket, NAMES)))
    assert found == DOCUMENT % (bucket("given-a") + bucket("made"))


def test_an_administrator_sees_what_s3_answers() -> None:
    document = DOCUMENT % b"".join(map(bucket, NAMES))
    assert listed(replace(ANNA, admin=True), document) == document


@pytest.mark.parametrize(
    "document", [b"\x1f\x8b", DOCUMENT % b'<Bucket a=""><Name>x</Name></Bucket>']
)
def test_an_answer_in_another_form_reveals_nothing(document: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        listed(ANNA, document)
