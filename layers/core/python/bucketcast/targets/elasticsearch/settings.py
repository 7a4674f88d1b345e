"""The options of `notify_elasticsearch`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from bucketcast.display import redacted_url
from bucketcast.settings.options import option
from bucketcast.settings.types import LoginUrl, Secret
from bucketcast.targets.base import iam, options

GUARD = "-guard"
_METHODS = ("Delete", "Get", "Post", "Put")
_MAX_NAME = 255
_is_name = re.compile(r"(?![-_+])(?!\.{1,2}\Z)[^A-Z\\/*?\"<>| ,#:]+").fullmatch


@dataclass(frozen=True, kw_only=True)
class ElasticsearchSettings(options.Common, options.TlsUnverified, iam.IamLogin):
    """MinIO's options of `notify_elasticsearch`, and those that other servers need."""

    url: LoginUrl = option(
        "the server, http or https; a login in the URL overrides username and password",
        example="http://localhost:9200",
    )
    index: str = option(
        "the index to write to, or an alias of one; created if it does not exist",
        example="bucketevents",
    )
    format: Literal["namespace", "access"] = option(
        "namespace: a document per object, as a mirror; access: a document per event",
        default="namespace",
    )
    username: str = option("the user; needs a password", default="")
    password: Secret = option("the password of username", default="")
    api_key: Secret = option(
        "an Elasticsearch API key instead of a login, as id:key or encoded", default=""
    )
    auth: iam.Auth = option(iam.AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the OpenSearch domain or serverless collection",
        default="",
        example="arn:aws:es:eu-west-1:111122223333:domain/events",
    )
    iam_pattern: ClassVar[re.Pattern[str]] = iam.arn_pattern(
        "(?P<service>(?P<domain>es)|aoss)",
        r"(?P<type>(?(domain)domain|collection))/(?P<name>[a-z0-9-]+)",
    )

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from _url_errors(self)
        yield from _login_errors(self)
        yield from _index_errors(self)
        yield from _iam_errors(self)

    def iam_rights(self) -> Sequence[iam.Right]:
        parts = self.iam_parts
        if not parts["domain"]:
            return [iam.Right(["aoss:APIAccessAll"], [self.iam_resource])]
        actions = [f"es:ESHttp{method}" for method in _METHODS]
        # `_bulk` and `_mget` name no index in their path.
        return [iam.Right(actions, [f"{self.iam_resource}/*"])]


def where(url: LoginUrl) -> str:
    """Return the URL without its login."""
    return redacted_url(url.reveal()).rstrip("/")


def _url_errors(settings: ElasticsearchSettings) -> Iterator[options.ValidationError]:
    url = settings.url.reveal()
    if options.is_reference(url):
        return
    parts = urlsplit(url)
    shown = repr(where(settings.url))
    if parts.scheme not in ("http", "https"):
        yield "url", f"found {shown}", "allowed is an http:// or https:// URL"
    elif parts.query or parts.fragment:
        yield "url", f"found {shown} and more", "allowed is a URL that ends with host, port or path"
    yield from options.tls_errors(
        settings,
        encrypted=parts.scheme != "http",
        problem="given while url is http",
        allowed="allowed is an https:// URL beside it",
    )


def _login_errors(settings: ElasticsearchSettings) -> Iterator[options.ValidationError]:
    yield from options.pair_errors(settings, "username", "password")
    if settings.api_key and (settings.username or "@" in urlsplit(settings.url.reveal()).netloc):
        yield "api_key", "given beside another login", "allowed is one of them"


def _iam_errors(settings: ElasticsearchSettings) -> Iterator[options.ValidationError]:
    url = settings.url.reveal()
    yield from iam.errors(settings, passwords=["username", "password", "api_key"])
    if settings.by_iam and url.startswith("http://"):
        yield "url", "found http://", "auth = iam needs an https:// URL"
    if settings.by_iam and "@" in urlsplit(url).netloc:
        yield "url", "found a login in it beside auth = iam", "allowed is a URL without one"


def _index_errors(settings: ElasticsearchSettings) -> Iterator[options.ValidationError]:
    guard = GUARD if settings.format == "namespace" else ""
    max_bytes = _MAX_NAME - len(guard)
    if options.is_reference(settings.index):
        return
    if not _is_name(settings.index):
        allowed = 'lower case, none of \\ / * ? " < > | space , # : and no - _ + at the beginning'
        yield "index", f"found {settings.index!r}", f"allowed is {allowed}"
    elif len(settings.index.encode()) > max_bytes:
        limit = f" (the server's {_MAX_NAME} less those of {guard})" if guard else ""
        yield "index", f"found {settings.index!r}", f"allowed are {max_bytes} bytes{limit}"
