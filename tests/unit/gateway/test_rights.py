"""What a call needs, and who has it."""

from collections.abc import Mapping

import pytest

from bucketcast.gateway.rights import Needed, denied, is_met, missing, needed
from bucketcast.users import User
from bucketcast.users.owners import Owner
from bucketcast.web.request import RawRequest

NOBODY: list[Needed] = []


def call(method: str, target: str, headers: Mapping[str, str] | None = None) -> RawRequest:
    path, _, query = target.partition("?")
    given = {"host": "bk.gateway", **(headers or {})}
    domains = ["gateway"] if target.startswith("//") else []
    return RawRequest.of(method, path[1:] if domains else path, query, given.items(), domains)


def needs(method: str, target: str, headers: Mapping[str, str] | None = None) -> set[str]:
    return {" ".join(it).strip() for it in needed(call(method, target, headers))}


SIGNED = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0&x-id=Any"


@pytest.mark.parametrize(
    ("method", "target", "need"),
    [
        # objects
        ("GET", "/bk/k", "bk read"),
        ("HEAD", "/bk/k?versionId=1", "bk read"),
        ("GET", f"/bk/k?{SIGNED}", "bk read"),
        ("GET", "/bk/k?acl", "bk read"),
        ("GET", "/bk/k?uploadId=1", "bk read"),
        ("GET", "//k?tagging", "bk read"),  # the host names the bucket
        ("POST", "/bk/k?select&select-type=2", "bk read"),
        ("PUT", "/bk/k", "bk write"),
        ("PUT", "//k", "bk write"),
        ("PUT", f"/bk/k?{SIGNED}", "bk write"),
        ("PUT", "/bk/k?uploadId=1&partNumber=2", "bk write"),
        ("POST", "/bk/k?uploads", "bk write"),
        ("POST", "/bk/k?select&uploads", "bk write"),
        ("DELETE", "/bk/k?versionId=1", "bk write"),
        ("PUT", "/bk/k?tagging", "bk write"),
        ("PUT", "/bk/k?policy", "bk write"),
        ("PATCH", "/bk/k", "bk admin"),
        # buckets
        ("HEAD", "/bk", "bk any"),
        ("GET", "/bk?location", "bk any"),
        ("GET", "/bk", "bk read"),
        ("GET", "/bk/?list-type=2&prefix=a&delimiter=%2F&fetch-owner=true", "bk read"),
        ("GET", "/bk?versions&key-marker=a", "bk read"),
        ("GET", "/bk?uploads", "bk read"),
        ("GET", "/bk?versioning", "bk read"),
        ("GET", "/bk?object-lock", "bk read"),
        ("POST", "/bk?delete", "bk write"),
        ("GET", "/bk?notification", "bk notify"),
        ("PUT", "/bk?notification", "bk notify"),
        ("DELETE", "/bk?notification&notification-id=1", "bk notify"),
        ("GET", "/bk?notification=1", "bk notify"),
        ("GET", "/bk?events=s3%3AObjectCreated%3A%2A&prefix=&ping=10", "bk notify"),
        ("GET", "//?events=x", "bk notify"),
        ("DELETE", "/bk", "bk owner"),
        ("DELETE", f"/bk?{SIGNED}", "bk owner"),
        ("GET", "/bk?policy", "bk owner"),
        ("PUT", "/bk?policy", "bk owner"),
        ("PUT", "/bk?acl", "bk owner"),
        ("PUT", "/bk?publicAccessBlock", "bk owner"),
        ("PUT", "/bk?lifecycle", "bk owner"),
        ("PUT", "/bk?versioning", "bk owner"),
        ("DELETE", "/bk?tagging", "bk owner"),
        ("PUT", "/bk?metrics&id=1", "bk owner"),
        ("GET", "/bk?replication", "bk owner"),
        # what may reach further, and what is not known
        ("PUT", "/bk?replication", "bk admin"),
        ("PUT", "/bk?logging", "bk admin"),
        ("PUT", "/bk?inventory&id=1", "bk admin"),
        ("GET", "/bk?session", "bk admin"),
        ("POST", "/bk", "bk admin"),
        ("POST", "/bk?policy", "bk admin"),
        ("PUT", "/bk?unheard-of", "bk admin"),
        ("PUT", "/bk?ACL", "bk admin"),
        ("GET", "/bk?Location", "bk admin"),
        ("GET", "/bk?Events=x", "bk admin"),
        ("GET", "/bk?Notification", "bk admin"),
        ("DELETE", "/bk?Notification", "bk admin"),
        ("DELETE", "/bk?%54agging", "bk admin"),
        ("DELETE", "/bk?prefix=a", "bk admin"),
        ("OPTIONS", "/bk", "bk admin"),
        ("GET", "/minio/unheard-of", "minio read"),
        ("HEAD", "/", "admin"),
        ("GET", "/?unheard-of", "admin"),
        ("PUT", "/?events=x", "admin"),
    ],
)
def test_a_call_needs(method: str, target: str, need: str) -> None:
    assert needs(method, target) == {need}


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", "/?x-id=ListBuckets&max-buckets=10&prefix=a"),
        ("GET", "/?events=s3%3AObjectCreated%3A%2A"),
        ("PUT", "/bk"),
        ("PUT", f"/bk/?{SIGNED}"),
    ],
)
def test_everybody_may_list_listen_and_create(method: str, target: str) -> None:
    assert needed(call(method, target)) == NOBODY
    assert needed(call(method, target, {"x-amz-acl": "private"})) == NOBODY


@pytest.mark.parametrize(
    ("target", "needs_all"),
    [
        ("/bk?policy&list-type=2", {"bk owner"}),
        ("/bk?notification&policy", {"bk notify", "bk owner"}),
        ("/bk?events=x&session", {"bk notify", "bk admin"}),
        ("/bk?uploads&policy", {"bk read", "bk owner"}),
    ],
)
def test_a_call_with_several_names_needs_what_each_needs(target: str, needs_all: set[str]) -> None:
    assert needs("GET", target) == needs_all


@pytest.mark.parametrize(
    ("source", "need"),
    [
        ("other/k", "other read"),
        ("/other/k?versionId=1", "other read"),
        ("%2Fother%2Fk", "other read"),
        ("bk/k,other/k", "bk read"),
        ("//other/k", "admin"),
        ("../other/k", "admin"),
        ("", "admin"),
        ("arn:aws:s3:us-east-1:123456789012:accesspoint/other/object/k", "admin"),
        ("arn%3Aaws%3As3%3Aus-east-1%3A123456789012%3Aaccesspoint%2Fother%2Fobject%2Fk", "admin"),
    ],
)
def test_a_copy_needs_its_source(source: str, need: str) -> None:
    headers = {"x-amz-copy-source": source}
    assert needs("PUT", "/bk/k", headers) == {"bk write", need}
    assert needs("PUT", "/bk/k?partNumber=1&uploadId=1", headers) == {"bk write", need}


def test_headers_in_a_presigned_query_count() -> None:
    assert needs("PUT", "/bk/k?X-Amz-Copy-Source=%2Fother%2Fk") == {"bk write", "other read"}
    both = needs("PUT", "/bk/k?x-amz-copy-source=third%2Fk", {"x-amz-copy-source": "other/k"})
    assert both == {"bk write", "other read", "third read"}
    assert needs("PUT", "/bk/k?X-Amz-Acl=public-read") == {"bk write", "bk owner"}


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("PUT", "/bk/k", {"x-amz-acl": "public-read"}),
        ("PUT", "/bk/k", {"x-amz-grant-read": 'uri="http://acs.amazonaws.com/groups/global/All"'}),
        ("PUT", "/bk/k?acl", {}),
        ("DELETE", "/bk/k", {"x-amz-bypass-governance-retention": "true"}),
    ],
)
def test_rights_are_given_away_and_locks_broken_by_the_owner(
    method: str, target: str, headers: Mapping[str, str]
) -> None:
    assert needs(method, target, headers) == {"bk write", "bk owner"}


def test_a_restore_needs_an_administrator() -> None:
    assert needs("POST", "/bk/k?restore") == {"bk write", "bk admin"}


@pytest.mark.parametrize(
    ("need", "given", "met"),
    [
        ("any", ("notify",), True),
        ("read", ("read",), True),
        ("read", ("write", "notify"), False),
        ("write", ("write",), True),
        ("notify", ("read", "write"), False),
        ("owner", ("read", "write", "notify"), False),
        ("any", (), False),
    ],
)
def test_rights_on_other_buckets(need: str, given: tuple[str, ...], met: bool) -> None:  # noqa: FBT001
    user = User("1", "ann", "", (), grants={"b*": given})  # type: ignore[dict-item]
    it = Needed("bucket", need)  # type: ignore[arg-type]
    assert is_met(user, {}, it) is met
    assert is_met(user, {"bucket": Owner(user.id)}, it)
    assert not is_met(user, {"bucket": Owner(user.id)}, Needed("another", need))  # type: ignore[arg-type]
    assert not is_met(user, {"bucket": Owner(user.id)}, Needed("bucket", "admin"))
    admin = User("2", "root", "", (), admin=True)
    assert is_met(admin, {}, Needed("bucket", "admin"))


def test_a_refusal_says_how_the_right_is_given() -> None:
    user = User("1", "ann", "", (), grants={"bk": ("read",)})
    it = missing(user, {}, call("PUT", "/bk/k"))
    assert it
    error = denied(it)
    assert (error.code, error.status) == ("AccessDenied", 403)
    assert "`bucketcast user set NAME --bucket bk=write`" in error.message
    assert missing(user, {}, call("GET", "/bk/k")) is None
