"""What a call needs, and who has it."""

from collections.abc import Mapping

import pytest

from bucketcast.gateway.rights import Needed, missing, needed, require
from bucketcast.users import RIGHTS, Right, User
from bucketcast.web.errors import S3Error
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
        ("GET", "/bk/k?retention", "bk read"),
        ("GET", "//k?tagging", "bk read"),  # the host names the bucket
        ("POST", "/bk/k?select&select-type=2", "bk read"),
        ("PUT", "/bk/k", "bk write"),
        ("PUT", f"/bk/k?{SIGNED}", "bk write"),
        ("POST", "/bk/k?uploads", "bk write"),
        ("POST", "/bk/k?select&uploads", "bk write"),
        ("DELETE", "/bk/k?versionId=1", "bk write"),
        ("PUT", "/bk/k?policy", "bk write"),
        ("PATCH", "/bk/k", "bk admin"),
        # buckets
        ("HEAD", "/bk", "bk any"),
        ("GET", "/bk?location", "bk any"),
        ("GET", "/bk", "bk read"),
        ("GET", "/bk/?list-type=2&prefix=a&delimiter=%2F&fetch-owner=true", "bk read"),
        ("GET", "/bk?versions&key-marker=a", "bk read"),
        ("GET", "/bk?object-lock", "bk read"),
        ("POST", "/bk?delete", "bk write"),
        ("GET", "/bk?notification", "bk notify"),
        ("PUT", "/bk?notification", "bk notify"),
        ("DELETE", "/bk?notification&notification-id=1", "bk notify"),
        ("GET", "/bk?events=s3%3AObjectCreated%3A%2A&prefix=&ping=10", "bk notify"),
        ("GET", "//?events=x", "bk notify"),
        ("PUT", "/bk", "bk create"),
        ("PUT", f"/bk/?{SIGNED}", "bk create"),
        ("DELETE", "/bk", "bk create"),
        ("DELETE", f"/bk?{SIGNED}", "bk create"),
        ("GET", "/bk?policy", "bk create"),
        ("PUT", "/bk?policy", "bk create"),
        ("DELETE", "/bk?tagging", "bk create"),
        ("PUT", "/bk?metrics&id=1", "bk create"),
        ("GET", "/bk?replication", "bk create"),
        # what may reach further, and what is not known
        ("PUT", "/bk?replication", "bk admin"),
        ("PUT", "/bk?inventory&id=1", "bk admin"),
        ("GET", "/bk?session", "bk admin"),
        ("POST", "/bk", "bk admin"),
        ("POST", "/bk?policy", "bk admin"),
        ("PUT", "/bk?unheard-of", "bk admin"),
        ("GET", "/bk?Location", "bk admin"),
        ("GET", "/bk?Notification", "bk admin"),
        ("DELETE", "/bk?Notification", "bk admin"),
        ("DELETE", "/bk?%54agging", "bk admin"),
        ("DELETE", "/bk?prefix=a", "bk admin"),
        ("OPTIONS", "/bk", "bk admin"),
        ("GET", "/minio/unheard-of", "minio read"),
        ("HEAD", "/", "admin"),
        ("GET", "/?unheard-of", "admin"),
        ("PUT", "/?events=x", "admin"),
        # access points, whose names say nothing about their buckets
        ("GET", "/bk-ap-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias/k", "admin"),
        ("PUT", "/bk-o9hnvqwdr7cnfbqmgdp5aa5gmqzaahusw1b--ol-s3/k", "admin"),
        ("GET", "/bk.mrap?events=x", "admin"),
        # names that AWS's services use
        ("PUT", "/aws-glue-assets-1", "aws-glue-assets-1 service"),
        ("PUT", "/AWS-glue-assets-1", "AWS-glue-assets-1 service"),
        ("PUT", "/cdk-hnb659fds-assets-1-eu-west-1", "cdk-hnb659fds-assets-1-eu-west-1 service"),
        ("PUT", "/cf-templates-1?policy", "cf-templates-1 service"),
        ("PUT", "/my-aws-logs", "my-aws-logs create"),
        ("GET", "/aws-logs-1", "aws-logs-1 read"),
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
    ],
)
def test_everybody_may_list_and_listen(method: str, target: str) -> None:
    assert needed(call(method, target)) == NOBODY


@pytest.mark.parametrize(
    ("target", "needs_all"),
    [
        ("/bk?policy&list-type=2", {"bk create"}),
        ("/bk?notification&policy", {"bk notify", "bk create"}),
        ("/bk?events=x&session", {"bk notify", "bk admin"}),
        ("/bk?uploads&policy", {"bk read", "bk create"}),
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
        ("", "admin"),
        ("arn:aws:s3:us-east-1:123456789012:accesspoint/other/object/k", "admin"),
        ("arn%3Aaws%3As3%3Aus-east-1%3A123456789012%3Aaccesspoint%2Fother%2Fobject%2Fk", "admin"),
        ("bk-ap-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias/k", "admin"),
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
    assert needs("PUT", "/bk/k?X-Amz-Acl=public-read") == {"bk write", "bk create"}
    assert needs("PUT", "/bk/k?X-Amz-Object-Lock-Mode=COMPLIANCE") == {"bk write", "bk lock"}


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("PUT", "/bk/k", {"x-amz-acl": "public-read"}),
        ("PUT", "/bk/k", {"x-amz-grant-read": 'uri="http://acs.amazonaws.com/groups/global/All"'}),
        ("PUT", "/bk/k?acl", {}),
    ],
)
def test_who_may_change_settings_may_open_objects_to_others(
    method: str, target: str, headers: Mapping[str, str]
) -> None:
    assert needs(method, target, headers) == {"bk write", "bk create"}


@pytest.mark.parametrize(
    ("method", "target", "header", "besides"),
    [
        ("PUT", "/bk/k?retention", "", "write"),
        ("PUT", "/bk/k?legal-hold&versionId=1", "", "write"),
        ("PUT", "/bk/k?Retention", "", "write"),
        ("PUT", "/bk/k", "x-amz-object-lock-mode", "write"),
        ("PUT", "/bk/k", "x-amz-object-lock-legal-hold", "write"),
        ("POST", "/bk/k?uploads", "x-amz-object-lock-retain-until-date", "write"),
        ("DELETE", "/bk/k", "x-amz-bypass-governance-retention", "write"),
        ("POST", "/bk?delete", "x-amz-bypass-governance-retention", "write"),
        ("PUT", "/bk?object-lock", "", "create"),
        ("PUT", "/bk", "x-amz-bucket-object-lock-enabled", "create"),
    ],
)
def test_locks_are_set_and_broken_with_a_right_of_their_own(
    method: str, target: str, header: str, besides: str
) -> None:
    headers = {header: "true"} if header else None
    assert needs(method, target, headers) == {f"bk {besides}", "bk lock"}


def test_a_restore_needs_an_administrator() -> None:
    assert needs("POST", "/bk/k?restore") == {"bk write", "bk admin"}


def user(**grants: tuple[Right, ...]) -> User:
    """Return a user with these rights on `photos-*` and on all buckets."""
    patterns = {"photos": "photos-*", "every": "*"}
    return User("1", "ann", "", (), grants={patterns[name]: grants[name] for name in grants})


@pytest.mark.parametrize(
    ("method", "target", "given", "lacks"),
    [
        ("HEAD", "/photos-1", ("notify",), ""),
        ("HEAD", "/photos-1", (), "photos-1 any"),
        ("GET", "/photos-1/k", ("read",), ""),
        ("GET", "/photos-1/k", ("write", "notify", "create", "lock"), "photos-1 read"),
        ("PUT", "/photos-1/k", ("read",), "photos-1 write"),
        ("GET", "/photos-1?notification", ("read", "write"), "photos-1 notify"),
        ("PUT", "/photos-1", ("create",), ""),
        ("PUT", "/photos-1", ("read", "write", "notify", "lock"), "photos-1 create"),
        ("PUT", "/another", ("create",), "another create"),
        ("PUT", "/photos-1/k?retention", ("write",), "photos-1 lock"),
        ("PUT", "/photos-1?logging", RIGHTS, "photos-1 admin"),
    ],
)
def test_what_a_user_lacks_for_a_call(
    method: str, target: str, given: tuple[Right, ...], lacks: str
) -> None:
    asked = call(method, target)
    assert " ".join(missing(user(photos=given), asked) or ()) == lacks
    assert missing(User("2", "root", "", (), admin=True), asked) is None


def test_names_of_services_are_nobodys_to_create_but_an_administrators() -> None:
    asked = call("PUT", "/aws-glue-assets-1")
    with pytest.raises(S3Error, match="AWS's services use") as error:
        require(user(every=RIGHTS), asked)
    assert error.value.status == 403
    require(User("2", "root", "", (), admin=True), asked)


def test_a_refusal_says_how_the_right_is_given() -> None:
    with pytest.raises(S3Error) as error:
        require(user(photos=("read",)), call("PUT", "/photos-1"))
    assert (error.value.code, error.value.status) == ("AccessDenied", 403)
    assert "`bucketcast user set NAME --bucket photos-1=create`" in error.value.message
