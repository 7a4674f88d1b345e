"""Print what the Elasticsearch target writes, as it comes: time, name, bucket/key, size in bytes.

    python examples/consumers/elasticsearch.py http://localhost:9200 bucketevents

It needs only Python, and reads Elasticsearch and OpenSearch alike. A mirror's documents (format
`namespace`) are printed when they appear, change or are deleted, a log's (`access`) when they are
added. While the index does not exist, or no shard of it can be searched yet, it waits. It searches
for the newest 1,000 documents once a second. For a server with logins: `--user NAME`, and the
password in ELASTICSEARCH_PASSWORD.
"""

import argparse
import base64
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote_plus
from urllib.request import Request, urlopen

MOST = 1_000
NOT_READY = HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE
NEWEST = {"size": MOST, "sort": [{"Records.eventTime": "desc"}], "query": {"match_all": {}}}


def search(url: str, index: str, headers: dict[str, str]) -> dict[str, Any] | None:
    """Return the newest records by the ids of their documents; None if the index is not ready."""
    request = Request(  # noqa: S310 - the URL is the caller's
        f"{url.rstrip('/')}/{quote(index)}/_search",
        json.dumps(NEWEST).encode(),
        {**headers, "Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            hits = json.load(answer)["hits"]["hits"]
    except HTTPError as error:
        if error.code in NOT_READY:
            return None
        raise
    return {hit["_id"]: hit["_source"]["Records"][0] for hit in reversed(hits)}


def changes(url: str, index: str, headers: dict[str, str]) -> Iterator[str]:
    """Yield a line for each new, changed or deleted document, forever."""
    seen: dict[str, Any] = {}
    waiting = False
    while True:
        found = search(url, index, headers)
        if found is not None:
            yield from (line(found[id_]) for id_ in found if found[id_] != seen.get(id_))
            if len(found) < MOST:  # else it may only have become too old to be shown
                yield from (f"{'gone':<66}  {id_}" for id_ in seen.keys() - found.keys())
            seen = found
        elif not waiting:
            print(f"waiting for {index}", file=sys.stderr, flush=True)
        waiting = found is None
        time.sleep(1)


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Print until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the Elasticsearch target writes.")
    parser.add_argument("url", help="such as http://localhost:9200")
    parser.add_argument("index", help="the target's index")
    parser.add_argument("--user", help="who reads; the password is in ELASTICSEARCH_PASSWORD")
    options = parser.parse_args()
    headers = {}
    if options.user:
        login = f"{options.user}:{os.environ.get('ELASTICSEARCH_PASSWORD', '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    try:
        for each in changes(options.url, options.index, headers):
            print(each, flush=True)
    except OSError as error:
        sys.exit(f"cannot read {options.index}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
