"""pycurl: 32 requests at a time over persistent connections."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pycurl

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio

HEADERS = ("Content-Type: application/json", "Expect:")


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.log(event), [*HEADERS, f"webhook-id: {event.id}"]) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, 32)
    handles = []
    for _ in range(32):
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, settings["endpoint"])
        handle.setopt(pycurl.POST, 1)
        handles.append(handle)

    def write(batch: Batch) -> None:
        waiting, idle, busy = iter(batch), list(handles), 0
        while True:
            while idle and (request := next(waiting, None)) is not None:
                handle = idle.pop()
                handle.setopt(pycurl.POSTFIELDS, request[0])
                handle.setopt(pycurl.HTTPHEADER, request[1])
                multi.add_handle(handle)
                busy += 1
            if not busy:
                return
            multi.perform()
            _, done, broken = multi.info_read()
            for handle in done:
                if handle.getinfo(pycurl.RESPONSE_CODE) != 204:
                    raise RuntimeError("the receiver did not answer 204")
                multi.remove_handle(handle)
                idle.append(handle)
                busy -= 1
            if broken:
                raise RuntimeError(broken[0][2])
            if not done:
                multi.select(1.0)

    yield write
    multi.close()
