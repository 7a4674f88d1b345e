"""Who is let in: every form of Signature Version 4 that S3 has, signed by botocore."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import HmacV1Auth, S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.aws.clients import AwsError
from bucketcast.users import Account
from bucketcast.web import authentication, xml
from bucketcast.web.authentication import AuthenticatedRequest, Authenticator
from bucketcast.web.errors import S3Error
from bucketcast.web.request import byte_count
from bucketcast.web.signature import canonical
from tests.unit.web.requests import (
    ACCESS,
    ANNA,
    HOST,
    REGION,
    SECRET,
    Wire,
    authenticator,
    presigned,
    scope_of,
    signed,
)

LIMIT = 1 << 20


def admit(
    scope: Any, body: bytes = b"", at: Authenticator | None = None, **more: Any
) -> AuthenticatedRequest:
    return asyncio.run((at or authenticator()).authenticate(scope, Wire(body), **more))


def refused(scope: Any, body: bytes = b"", at: Authenticator | None = None, **more: Any) -> S3Error:
    with pytest.raises(S3Error) as caught:
        asyncio.run((at or authenticator()).authenticate(scope, Wire(body), **more))
    return caught.value


def read(scope: Any, body: bytes) -> bytes:
    async def both() -> bytes:
        return await (await authenticator().authenticate(scope, Wire(body, 7))).body.read(LIMIT)

    return asyncio.run(both())


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/images?events=s3%3AObjectCreated%3A%2A&events=s3%3AObjectRemoved%3A%2A&prefix=&suffix=a%2Fb",
        "/images//twice//",
        "/images/key?partNumber=1&uploadId=x~y",
    ],
)
def test_call_signed_by_botocore_is_accepted(target: str) -> None:
    admitted = admit(scope_of(signed("GET", target)))
    assert admitted.user == ANNA
    assert admitted.call.path == target.partition("?")[0]


def test_presigned_call_is_accepted_without_headers() -> None:
    assert admit(scope_of(presigned("GET", "/images/photo.jpg?response-content-type=a%2Fb")))


segment = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda text: text not in (".", "..") and "/" not in text
)


@given(
    st.lists(segment, min_size=1),
    st.dictionaries(segment, segment),
    st.text("a \t;=,é", max_size=9),
)
def test_signature_of_any_call_equals_botocores(
    path: list[str], query: dict[str, str], header: str
) -> None:
    target = "/images/" + "/".join(quote(part, safe="~") for part in path)
    query = {name: text for name, text in query.items() if not name.startswith("X-Amz-")}
    parameters = "&".join(
        f"{quote(name, safe='~')}={quote(text, safe='~')}" for name, text in query.items()
    )
    more = {"x-amz-meta-note": quote(header, safe=" ;=,")}
    request = signed("PUT", f"{target}?{parameters}", b"x", more)
    assert admit(scope_of(request), b"x").call.key == "/".join(path)


def test_values_of_one_name_may_be_signed_in_their_order() -> None:
    """As minio-go signs a listen call; Amazon's clients sort them."""
    query = "events=s3%3AObjectRemoved%3A%2A&events=s3%3AObjectCreated%3A%2A&ping=10&prefix="
    request = signed("GET", "/?" + query)
    timestamp = request.headers["X-Amz-Date"]
    scope = canonical.scope(timestamp, REGION, "s3")
    names = ["host", "x-amz-content-sha256", "x-amz-date"]
    headers = {"host": HOST, **{name.lower(): value for name, value in request.headers.items()}}
    request_ = canonical.request("GET", "/", query, headers, names, headers["x-amz-content-sha256"])
    signature = canonical.signature(
        canonical.key(SECRET, scope), canonical.string_to_sign(timestamp, scope, request_)
    )
    begin, _, _ = request.headers["Authorization"].rpartition("Signature=")
    scope_ = scope_of(request, authorization=f"{begin}Signature={signature}")
    assert admit(scope_).user == ANNA


def test_headers_that_botocore_never_signs_may_be_signed() -> None:
    class Signer(SigV4Auth):
        def headers_to_sign(self, request: Any) -> Any:
            found = super().headers_to_sign(request)
            found["user-agent"] = "curious  client"
            return found

    request = AWSRequest(
        "GET", f"http://{HOST}/images", {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    )
    signer: Any = Signer(Credentials(ACCESS, SECRET), "s3", "us-east-1")
    signer.add_auth(request)
    assert admit(scope_of(request, user_agent="curious client"))
    assert refused(scope_of(request, user_agent="another")).code == "SignatureDoesNotMatch"


def test_header_that_cloudfront_adds_need_not_be_signed() -> None:
    assert admit(scope_of(signed("GET", "/images"), x_amz_cf_id="added-on-the-way")).user == ANNA
    error = refused(scope_of(signed("GET", "/images"), x_amz_acl="public-read"))
    assert error.elements("/images", "1")["HeadersNotSigned"] == "x-amz-acl"


def test_body_is_compared_with_its_signed_hash() -> None:
    scope = scope_of(signed("PUT", "/images?notification", b"<signed/>"))
    assert read(scope, b"<signed/>") == b"<signed/>"
    with pytest.raises(S3Error, match="XAmzContentSHA256Mismatch"):
        read(scope, b"<forged/>")


def test_an_unsigned_payload_is_accepted_as_declared() -> None:
    headers = {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    request = AWSRequest("PUT", f"http://{HOST}/images/a", headers, b"any")
    SigV4Auth(Credentials(ACCESS, SECRET), "s3", "us-east-1").add_auth(request)
    assert read(scope_of(request), b"any") == b"any"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"x_amz_meta_more": "1"}, "AccessDenied"),
        ({"host": "other.example"}, "SignatureDoesNotMatch"),
        ({"x_amz_date": "20200101T000000Z"}, "AuthorizationHeaderMalformed"),
        ({"x_amz_date": "20201301T000000Z"}, "AuthorizationHeaderMalformed"),
        ({"x_amz_date": "20200101T000000Z "}, "AuthorizationHeaderMalformed"),
        ({"x_amz_date": "\u0662020-01-01"}, "AuthorizationHeaderMalformed"),
        ({"authorization": "AWS AKIA:abc="}, "InvalidRequest"),
        ({"authorization": "Bearer x"}, "InvalidRequest"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a"}, "AuthorizationHeaderMalformed"),
        ({"x_amz_content_sha256": ""}, "InvalidRequest"),
        ({"x_amz_content_sha256": hashlib.sha256(b"x").hexdigest()}, "SignatureDoesNotMatch"),
    ],
)
def test_changed_header_is_refused(change: dict[str, str], code: str) -> None:
    assert refused(scope_of(signed("GET", "/images"), **change)).code == code


def test_changed_method_path_or_query_is_refused() -> None:
    for name, value in (
        ("method", "PUT"),
        ("raw_path", b"/other"),
        ("query_string", b"notification"),
    ):
        scope = scope_of(signed("GET", "/images"))
        assert refused({**scope, name: value}).code == "SignatureDoesNotMatch"


def test_another_secret_or_key_is_refused() -> None:
    assert refused(scope_of(signed("GET", "/", secret="x" * 40))).code == "SignatureDoesNotMatch"
    header = signed("GET", "/").headers["Authorization"].replace(ACCESS, "NOBODY")
    assert refused(scope_of(signed("GET", "/"), authorization=header)).code == "InvalidAccessKeyId"


@pytest.mark.parametrize("region", ["default", "eu-west-1", "zonegroup"])
def test_any_region_is_accepted_as_by_minio_and_rgw(region: str) -> None:
    assert admit(scope_of(signed("GET", "/images", region=region))).user == ANNA


def test_other_services_are_refused_unless_allowed() -> None:
    request = AWSRequest("POST", f"http://{HOST}/", {}, b"Action=ListTopics")
    SigV4Auth(Credentials(ACCESS, SECRET), "sns", "us-east-1").add_auth(request)
    scope, body = scope_of(request), b"Action=ListTopics"
    assert refused(scope, body).code == "AuthorizationHeaderMalformed"
    assert admit(scope, body, services=("s3", "sns")).user == ANNA
    assert refused(scope, b"Action=Forged", services=("sns",)).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("minutes", [-16, 16])
def test_clock_off_by_more_than_15_minutes_is_refused(minutes: int) -> None:
    at = authenticator(now=lambda: datetime.now(UTC) + timedelta(minutes=minutes))
    assert refused(scope_of(signed("GET", "/")), at=at).code == "RequestTimeTooSkewed"
    near = authenticator(now=lambda: datetime.now(UTC) + timedelta(minutes=minutes * 14 / 16))
    assert admit(scope_of(signed("GET", "/")), at=near)


@pytest.mark.parametrize(
    ("note", "charset"), [("é ü", "utf-8"), ("日本", "utf-8"), ("é ü", "latin-1")]
)
def test_non_ascii_header_is_verified(note: str, charset: str) -> None:
    """Clients sign UTF-8, which is also what goes on to S3; some clients send Latin-1."""
    scope = scope_of(signed("PUT", "/images/a", headers={"x-amz-meta-note": note}))
    scope["headers"] = [
        (name, note.encode(charset) if name == b"x-amz-meta-note" else value)
        for name, value in scope["headers"]
    ]
    assert admit(scope).call.headers["x-amz-meta-note"] == note


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 -2359", "never", ""])
def test_invalid_date_is_refused(date: str) -> None:
    scope = scope_of(signed("GET", "/"), x_amz_date="", date=date)
    assert refused(scope).code == "AccessDenied"


def test_expired_presigned_call_is_refused() -> None:
    later = authenticator(now=lambda: datetime.now(UTC) + timedelta(seconds=62))
    error = refused(scope_of(presigned("GET", "/images/a", expires=60)), at=later)
    assert (error.code, error.message) == ("AccessDenied", "Request has expired")
    too_long = refused(scope_of(presigned("GET", "/images/a", expires=604_801)))
    assert too_long.code == "AuthorizationQueryParametersError"


def test_changed_presigned_call_is_refused() -> None:
    scope = scope_of(presigned("GET", "/images/a"))
    endless = b"X-Amz-Expires=" + b"9" * 5_000
    for longer in (b"X-Amz-Expires=600", b"X-Amz-Expires=60&X-Amz-Expires=600", endless):
        changed = scope["query_string"].replace(b"X-Amz-Expires=60", longer)
        assert refused({**scope, "query_string": changed}).code in (
            "SignatureDoesNotMatch",
            "AuthorizationQueryParametersError",
        )
    assert (
        refused(scope_of(presigned("GET", "/images/a"), x_amz_acl="public-read")).code
        == "AccessDenied"
    )


def test_call_with_two_signatures_is_refused() -> None:
    header = signed("GET", "/images/a").headers["Authorization"]
    both = scope_of(presigned("GET", "/images/a"), authorization=header)
    assert refused(both).code == "InvalidRequest"


def test_unsigned_and_v2_calls_are_refused_with_a_message() -> None:
    assert refused(scope_of(AWSRequest("GET", f"http://{HOST}/"))).code == "AccessDenied"
    old = AWSRequest("GET", f"http://{HOST}/images/a")
    old.auth_path = "/images/a"
    HmacV1Auth(Credentials(ACCESS, SECRET)).add_auth(old)
    error = refused(scope_of(old))
    assert (error.code, error.status) == ("InvalidRequest", 400)
    assert "AWS4-HMAC-SHA256" in error.message
    query = AWSRequest("GET", f"http://{HOST}/images/a?AWSAccessKeyId=x&Signature=y&Expires=1")
    assert "Version 2" in refused(scope_of(query)).message


@pytest.mark.parametrize(
    "path",
    ["/images/../other", "/images/%2e%2E/other", "/images%2f..%2fother", "/..", "/images/./a"],
)
def test_dot_segments_are_refused_in_any_spelling(path: str) -> None:
    assert refused(scope_of(signed("GET", path))).code == "InvalidURI"


@pytest.mark.parametrize(
    "source", ["/images/../b/k", "images/%2e%2E/b/k", "..", "b/./k?versionId=1"]
)
@pytest.mark.parametrize("name", ["x-amz-copy-source", "X-Amz-Copy-Source"])
def test_dot_segments_of_a_copy_source_are_refused(source: str, name: str) -> None:
    in_query = signed("PUT", f"/images/a?{name}={quote(source, safe='')}")
    for request in (signed("PUT", "/images/a", headers={name: source}), in_query):
        assert refused(scope_of(request)).code == "InvalidArgument"


@pytest.mark.parametrize("path", ["//images/a", "/a%zz", "/images/%00", "/im ages%20/x"])
def test_ambiguous_path_is_refused(path: str) -> None:
    scope = {**scope_of(signed("GET", "/images")), "raw_path": path.encode()}
    assert refused(scope).code in ("InvalidURI", "InvalidBucketName")


def test_a_host_may_name_the_bucket() -> None:
    at = authenticator(domains=("localhost",))
    request = AWSRequest(
        "GET", "http://images.localhost:9100/a//b", {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    )
    S3SigV4Auth(Credentials(ACCESS, SECRET), "s3", "us-east-1").add_auth(request)
    call = admit(scope_of(request, host="images.localhost:9100"), at=at).call
    assert (call.bucket, call.key, call.rest) == ("images", "a//b", "/a//b")


@pytest.mark.parametrize("length", ["9" * 5_000, "1e3", "-1", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_a_length_that_is_no_number_of_bytes_is_refused(length: str) -> None:
    assert byte_count(length) is None
    scope = scope_of(
        signed("PUT", "/images/a"), **{"content-length": length.encode().decode("latin-1")}
    )
    error = refused(scope)
    assert (error.status, error.code) == (400, "InvalidArgument")


def test_error_is_written_like_s3s() -> None:
    error = S3Error("InvalidArgument", "a < b", ArgumentName="x")
    assert xml.write("Error", error.elements("/a&b", "1F")) == (
        "<Error><Code>InvalidArgument</Code>"
        "<Message>a &lt; b</Message><ArgumentName>x</ArgumentName><Resource>/a&amp;b</Resource>"
        "<RequestId>1F</RequestId><HostId>bucketcast</HostId></Error>"
    )


@pytest.mark.anyio
@pytest.mark.parametrize("hangs", [False, True])
async def test_a_call_that_lasts_is_trusted_for_a_while_if_users_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, *, hangs: bool
) -> None:
    monkeypatch.setattr(authentication, "CONFIRM_SECONDS", 0.01)
    monkeypatch.setattr(authentication, "UNCONFIRMED_SECONDS", 0.5)
    looks, closed = 0, asyncio.Event()

    async def find(_: str) -> Account:
        nonlocal looks
        looks += 1
        if looks > 1:
            await asyncio.sleep(60 if hangs else 0)
            raise AwsError("AWS does not answer")
        return Account(ANNA, SECRET)

    admitted = await authenticator(find).authenticate(scope_of(signed("GET", "/")), Wire(b""))
    call = replace(admitted, abort=closed.set)
    async with asyncio.timeout(10):
        assert await call.while_confirmed(asyncio.sleep(0.1, "done")) == "done"
        assert not closed.is_set()
        with pytest.raises(S3Error, match="ServiceUnavailable: users cannot be read"):
            await call.while_confirmed(asyncio.sleep(60))
    assert closed.is_set()


def test_repr_shows_no_secret() -> None:
    assert SECRET not in repr(Account(ANNA, SECRET))
