"""What a call needs, and whether its user has it: the one place where S3 calls are judged.

A need is a right on a bucket, `any` of them, or to be an administrator: `admin`, or `service` for
what needs `create` on a name that AWS's services use. What is not known here is for administrators:
it might act on another bucket, or lend the gateway's own rights. So is a name in another case than
S3's, which S3 may not know: it would list the bucket for `GET ?Notification`, and remove it for
`DELETE ?Notification`.

A presigned call may have any `x-amz-` header in its query.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from bucketcast.gateway.service_names import is_of_service
from bucketcast.users import Right, User
from bucketcast.web.errors import S3Error
from bucketcast.web.request import COPY_SOURCE, RawRequest, is_bucket_name

Need = Right | Literal["any", "service", "admin"]


class Needed(NamedTuple):
    """What a call needs on a bucket, "" for what is of no bucket."""

    bucket: str
    need: Need


_LIST_BUCKETS: Final = frozenset({"bucket-region", "continuation-token", "max-buckets", "prefix"})
_LISTEN: Final = "events"
_LISTEN_PARAMETERS: Final = frozenset({_LISTEN, "ping", "prefix", "suffix"})
_READS: Final = ("GET", "HEAD")
_PARAMETERS: Final = _LISTEN_PARAMETERS - {_LISTEN} | {
    "allow-unordered",
    "continuation-token",
    "delimiter",
    "encoding-type",
    "fetch-owner",
    "id",
    "key-marker",
    "list-type",
    "marker",
    "max-keys",
    "max-uploads",
    "metadata",
    "notification-id",
    "start-after",
    "upload-id-marker",
    "version-id-marker",
}
"""Names in a query that only say more about what is read or changed."""
_READABLE: Final[dict[str, Need]] = {
    _LISTEN: "notify",
    "location": "any",
    "object-lock": "read",
    "uploads": "read",
    "versioning": "read",
    "versions": "read",
}
_SETTINGS: Final = frozenset(
    {
        "accelerate",
        "acl",
        "cors",
        "encryption",
        "intelligent-tiering",
        "lifecycle",
        "metrics",
        "object-lock",
        "ownershipControls",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "requestPayment",
        "tagging",
        "versioning",
        "website",
    }
)
"""What is about one bucket only, and names no role."""
_REACHING: Final = frozenset({"analytics", "inventory", "logging", "replication"})
"""What names other buckets or roles."""
_ALIASES: Final = ("-s3alias", "--ol-s3", ".mrap")
"""S3 refuses buckets of such names: AmazonS3/latest/userguide/bucketnamingrules.html."""
_SELECT: Final = frozenset({"select", "select-type"})
_ACL: Final = "x-amz-acl"
_GRANT: Final = "x-amz-grant-"
_LOCKS: Final = frozenset({"legal-hold", "retention"})
_LOCK_HEADERS: Final = (
    "x-amz-bucket-object-lock-",
    "x-amz-bypass-governance-retention",
    "x-amz-object-lock-",
)
_HARMLESS_ACLS: Final = ("", "private", "bucket-owner-read", "bucket-owner-full-control")


def needed(call: RawRequest) -> list[Needed]:
    """Return all that a call needs.

    Nothing is needed to list buckets, and to listen to all of them: these answer with those on
    which the user has rights.
    """
    if not call.bucket:
        return [] if _is_for_everybody(call) else [Needed("", "admin")]
    if _is_alias(call.bucket):
        return [Needed("", "admin")]
    needs = {*(_of_object(call) if call.key else _of_bucket(call)), *_of_headers(call)}
    if "create" in needs and is_of_service(call.bucket):
        needs = {*needs - {"create"}, "service"}
    return [Needed(call.bucket, need) for need in sorted(needs)] + _of_sources(call)


def missing(user: User, call: RawRequest) -> Needed | None:
    """Return the first that a call needs and the user does not have; None if nothing is missing."""
    if user.admin:  # computing what a call needs takes time
        return None
    for it in needed(call):
        rights = user.rights_on(it.bucket)
        if not (rights if it.need == "any" else it.need in rights):
            return it
    return None


def require(user: User, call: RawRequest) -> None:
    """Require what a call needs.

    Raises:
        S3Error: the user does not have it; the same for a bucket that does not exist.
    """
    if it := missing(user, call):
        raise S3Error("AccessDenied", f"Access Denied: {_REASONS[it.need].format(it.bucket)}")


_GIVEN: Final = (
    "needs the right {0} on bucket {{0}}, which `bucketcast user set NAME --bucket {{0}}={0}` gives"
)
_REASONS: Final[dict[Need, str]] = {
    "any": "needs a right on bucket {0}, which `bucketcast user set NAME --bucket {0}=read` gives",
    "read": _GIVEN.format("read"),
    "write": _GIVEN.format("write"),
    "notify": _GIVEN.format("notify"),
    "create": _GIVEN.format("create"),
    "lock": _GIVEN.format("lock"),
    "service": "the name {0} is one that AWS's services use, and needs an administrator",
    "admin": "needs an administrator",
}


def _is_alias(bucket: str) -> bool:
    """Return True for the name of an access point, which may be one of any bucket."""
    return bucket.lower().endswith(_ALIASES)


def _is_for_everybody(call: RawRequest) -> bool:
    names = call.subresources
    listens = _LISTEN in names and names <= _LISTEN_PARAMETERS
    return call.method == "GET" and (listens or names <= _LIST_BUCKETS)


def _of_bucket(call: RawRequest) -> Iterator[Need]:
    if call.method in _READS:
        names = call.subresources - _PARAMETERS
        if not names:
            yield "any" if call.method == "HEAD" else "read"
        for name in names:
            yield _of_reading(name)
    elif call.is_of_bucket:
        yield "create" if call.method in ("PUT", "DELETE") else "admin"
    else:
        names = call.subresources - _PARAMETERS or call.subresources
        yield from (_of_changing(call.method, name) for name in names)
        if "object-lock" in names:
            yield "lock"


def _of_reading(name: str) -> Need:
    if name == "notification":
        return "notify"
    return _READABLE.get(name) or ("create" if name in _SETTINGS | _REACHING else "admin")


def _of_changing(method: str, name: str) -> Need:
    if name == "delete" and method == "POST":
        return "write"
    if method not in ("PUT", "DELETE"):
        return "admin"
    if name == "notification":
        return "notify"
    return "create" if name in _SETTINGS else "admin"


def _of_object(call: RawRequest) -> Iterator[Need]:
    names = {name.lower() for name in call.subresources}
    if call.method in _READS or (call.method == "POST" and names == _SELECT):
        yield "read"
        return
    yield "write" if call.method in ("PUT", "POST", "DELETE") else "admin"
    if "restore" in names:
        # What is selected may be stored in any bucket that the body names.
        yield "admin"
    if "acl" in names:
        yield "create"
    if names & _LOCKS:
        yield "lock"


def _of_headers(call: RawRequest) -> Iterator[Need]:
    """Yield what headers need: those that give rights away, lock objects or break a lock."""
    names = {name.lower() for name in (*call.headers, *call.params)}
    opens = any(value not in _HARMLESS_ACLS for value in call.values(_ACL))
    if opens or any(name.startswith(_GRANT) for name in names):
        yield "create"
    if any(name.startswith(_LOCK_HEADERS) for name in names):
        yield "lock"


def _of_sources(call: RawRequest) -> list[Needed]:
    """Return what the sources of a copy need."""
    needs = []
    for source in call.values(COPY_SOURCE):
        bucket, _, _ = unquote(source).removeprefix("/").partition("/")
        # An access point is named by an ARN or an alias, which do not name its bucket.
        known = is_bucket_name(bucket) and not _is_alias(bucket)
        needs.append(Needed(bucket, "read") if known else Needed("", "admin"))
    return needs
