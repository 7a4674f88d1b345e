"""10,000 rules in one document, and what strangers may send, while another client is at work.

Needs a running `make up`, whose `.local/env` is exported. Prints how long each call takes, and the
longest that another client's call (whether a bucket is there) waited meanwhile.
Run: `python -m benchmarks.gateway_rules`.
"""

import http.client
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlsplit

from botocore.awsrequest import AWSRequest

from benchmarks.gateway_client import client, sign, variable

RULES = 10_000
BUCKET = "gateway-rules"
HOOK = "arn:minio:sqs::primary:webhook"
SLOW = 200
BOMB = (
    b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
    b"<NotificationConfiguration>&c;</NotificationConfiguration>"
)


def main() -> None:
    client().create_bucket(Bucket=BUCKET)
    report("nothing else", 200, lambda: (time.sleep(2), 200)[1])
    document = rules(RULES)
    report(f"PUT of {RULES:,} rules", 200, lambda: call("PUT", document))
    report(f"PUT of the same {RULES:,}", 200, lambda: call("PUT", document))
    report(f"GET of {RULES:,} rules", 200, lambda: call("GET"))
    report("an entity bomb", 400, lambda: call("PUT", BOMB))
    report("10 MB", 400, lambda: call("PUT", b" " * 10_000_000))
    with slow_clients():
        report(f"beside {SLOW} slow clients", 200, lambda: (time.sleep(2), 200)[1])
    report("DELETE of all", 204, lambda: call("DELETE"))


def rules(count: int) -> bytes:
    """Return a document of so many rules for the webhook, each with a prefix of its own."""
    queues = "".join(
        f"<QueueConfiguration><Event>s3:ObjectCreated:*</Event><Queue>{HOOK}</Queue><Filter><S3Key>"
        f"<FilterRule><Name>prefix</Name><Value>user-{number:05}/</Value></FilterRule>"
        "</S3Key></Filter></QueueConfiguration>"
        for number in range(count)
    )
    return f"<NotificationConfiguration>{queues}</NotificationConfiguration>".encode()


def report(what: str, wanted: int, work: Callable[[], int]) -> None:
    """Print how long it takes, and how long another client waits meanwhile."""
    with another_client() as waits:
        began = time.perf_counter()
        status = work()
        seconds = time.perf_counter() - began
    if status != wanted:
        raise SystemExit(f"{what}: found {status}, not {wanted}")
    print(
        f"{what:26} {status} in {seconds:5.2f} s; {len(waits):4} other calls: median "
        f"{statistics.median(waits) * 1000:4.0f} ms, longest {max(waits) * 1000:5.0f} ms"
    )


def call(method: str, body: bytes = b"", target: str = f"/{BUCKET}?notification") -> int:
    """Make one signed call; return its status."""
    url = variable("BUCKETCAST_URL")
    request = AWSRequest(method, url + target, {}, body)
    sign(request)
    netloc = urlsplit(url).netloc
    with closing(http.client.HTTPConnection(netloc, timeout=120)) as opened:
        opened.request(method, target, body, dict(request.headers))
        answer = opened.getresponse()
        answer.read()
        return answer.status


@contextmanager
def another_client() -> Iterator[list[float]]:
    """Yield a list of the seconds that each call of a client in another thread took."""
    waits: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set() or not waits:
            began = time.perf_counter()
            status = call("HEAD", target=f"/{BUCKET}")
            waits.append(time.perf_counter() - began)
            if status != 200:
                raise SystemExit(f"the other client was answered {status}")
            over.wait(0.01)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()


@contextmanager
def slow_clients() -> Iterator[None]:
    """Connections that never come to the end of their headers."""
    parts = urlsplit(variable("BUCKETCAST_URL"))
    with ExitStack() as opened:
        for _ in range(SLOW):
            one = socket.create_connection((parts.hostname, parts.port or 80), timeout=30)
            opened.enter_context(closing(one)).sendall(b"PUT /x/a HTTP/1.1\r\nx-a: ")
        yield


if __name__ == "__main__":
    main()
