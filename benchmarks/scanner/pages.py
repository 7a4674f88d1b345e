"""A bucket of so many objects that only lists them: `python -m benchmarks.scanner.pages PORT ROWS`.

It answers as S3 does, from numbers alone, so that a listing's own cost can be measured. It has
versions, and no incomplete uploads.
"""

import sys
from bisect import bisect
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_ENTRY = (
    "<Version><Key>{key}</Key><VersionId>{nth:032x}</VersionId><IsLatest>true</IsLatest>"
    "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{nth:032x}&quot;</ETag>"
    "<Size>{nth}</Size><StorageClass>STANDARD</StorageClass></Version>"
)


def key(nth: int) -> str:
    """Return the key of an object; they are in this order."""
    return f"data/{nth // 100:08d}/{nth % 100:02d}"


class Handler(BaseHTTPRequestHandler):
    """Answers ListObjectVersions, GetBucketVersioning and ListMultipartUploads."""

    protocol_version = "HTTP/1.1"
    rows = 0

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        root, body = "VersioningConfiguration", "<Status>Enabled</Status>"
        if "versions" in query:
            root = "ListVersionsResult"
            body = self._page(query["key-marker"][0], int(query["max-keys"][0]))
        elif "uploads" in query:
            root, body = "ListMultipartUploadsResult", ""
        content = f"<{root}>{body}</{root}>".encode("ascii")
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _page(self, marker: str, most: int) -> str:
        first = bisect(range(self.rows), marker, key=key)
        stop = min(self.rows, first + most)
        return (
            f"<IsTruncated>{str(stop < self.rows).lower()}</IsTruncated>"
            f"<NextKeyMarker>{key(stop - 1)}</NextKeyMarker>"
            f"<NextVersionIdMarker>{stop - 1:032x}</NextVersionIdMarker>"
            + "".join(_ENTRY.format(key=key(nth), nth=nth) for nth in range(first, stop))
        )

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    port, Handler.rows = map(int, sys.argv[1:])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
