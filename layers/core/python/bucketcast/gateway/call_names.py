"""The names of S3's calls, such as PutBucketPolicy, by botocore's model of S3."""

from typing import Any, Final
from urllib.parse import parse_qsl

from bucketcast.web.request import COPY_SOURCE, RawRequest

_OBJECT: Final = "/{Bucket}/{Key+}"
_UPLOAD_ID: Final = "uploadId"
_PLAIN: Final = {
    ("DELETE", _OBJECT, ""): "DeleteObject",
    ("DELETE", _OBJECT, _UPLOAD_ID): "AbortMultipartUpload",
    ("GET", "/", ""): "ListBuckets",
    ("GET", _OBJECT, ""): "GetObject",
    ("GET", _OBJECT, _UPLOAD_ID): "ListParts",
    ("PUT", _OBJECT, ""): "PutObject",
    ("PUT", _OBJECT, _UPLOAD_ID): "UploadPart",
}
"""Of the calls that share method and path."""
_COPIES: Final = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}


class CallNames:
    """Names calls by botocore's `model` of S3.

    One that S3 does not have is named by its method and its query's names.
    """

    def __init__(self, model: Any) -> None:
        self._names: dict[tuple[str, str, str], str] = {}
        for name in model.operation_names:
            operation = model.operation_model(name)
            path, _, query = operation.http["requestUri"].partition("?")
            first = next(iter(parse_qsl(query, keep_blank_values=True)), ("",))[0]
            if not operation.deprecated:
                self._names.setdefault((operation.http["method"], path, first), name)
        self._names |= _PLAIN

    def name(self, call: RawRequest) -> str:
        """Return the name of a call."""
        bucket, key = "{Bucket}" if call.bucket else "", "/{Key+}" if call.key else ""
        named = sorted(call.subresources, key=lambda name: name == _UPLOAD_ID)
        for sub in (*named, ""):
            if name := self._names.get((call.method, f"/{bucket}{key}", sub)):
                return _COPIES.get(name, name) if call.values(COPY_SOURCE) else name
        unknown = "".join(f"?{name}" for name in named if name.isalpha())
        return f"{call.method} {unknown}"[:100].strip()
