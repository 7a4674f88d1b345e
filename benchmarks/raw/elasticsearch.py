"""urllib3: one _bulk a batch, guarded by the server's own versions, which are 64 bits.

opensearch-py's helper, on top of the same urllib3, takes longer: it makes each line from a dict.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import urllib3

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio


def rows(events: Sequence[Event]) -> Batch:
    return [
        b'{"index":{"_id":%b,"version":%d,"version_type":"external"}}\n%b\n'
        % (json.dumps(minio.path(event)).encode(), int(event.sequencer, 16), minio.records(event))
        for event in events
    ]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    headers = urllib3.make_headers(basic_auth=f"{settings['username']}:{settings['password']}")
    pool = urllib3.connection_from_url(
        settings["url"], headers={**headers, "Content-Type": "application/json"}
    )

    def write(batch: Batch) -> None:
        answer = pool.request("POST", "/raw/_bulk", body=b"".join(batch))
        if answer.status != 200 or json.loads(answer.data)["errors"]:
            raise RuntimeError("the server did not take everything")

    yield write
    pool.close()
