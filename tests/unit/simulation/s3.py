"""S3 on a clock of our own: buckets that answer or do not, and threads that ask them."""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any
from unittest.mock import patch

from botocore.exceptions import ReadTimeoutError

from bucketcast.ingest.aws import bucket_reads
from tests.unit.moto_aws import refusal
from tests.unit.simulation.lambdas import Clock
from tests.unit.simulation.turns import Turn

QUICK = 0.05


class SimulatedS3:
    """What ingest calls of boto3's client; `how` a bucket answers, and how often it was asked.

    A bucket is well, hangs (until the client gives up), throttles or denies.
    """

    def __init__(self) -> None:
        self.how: defaultdict[str, str] = defaultdict(lambda: "well")
        self.asked: Counter[str] = Counter()
        self.wait: Callable[[float], None] = lambda _: None

    def head_object(self, *, Bucket: str, **_: Any) -> Any:  # noqa: N803 - boto3's name
        self._ask("HeadObject", Bucket)
        return {"ETag": '"e"', "ContentLength": 1}

    def get_object_tagging(self, *, Bucket: str, **_: Any) -> Any:  # noqa: N803 - boto3's name
        self._ask("GetObjectTagging", Bucket)
        return {"TagSet": [{"Key": "x", "Value": "1"}]}

    def _ask(self, operation: str, bucket: str) -> None:
        self.asked[bucket] += 1
        match self.how[bucket]:
            case "hangs":
                self.wait(4)
                raise ReadTimeoutError(endpoint_url="https://s3")
            case "throttles":
                self.wait(1)
                raise refusal("SlowDown", operation)
            case "denies":
                self.wait(QUICK)
                raise refusal("AccessDenied", operation)
        self.wait(QUICK)


class _Threads:
    """A pool of threads, of which one runs at a time until it waits for S3."""

    def __init__(self, s3: SimulatedS3, clock: Clock, number: int) -> None:
        self._s3 = s3
        self._clock = clock
        self._idle: list[Turn] = []
        self._left = number
        self._work: deque[Callable[[], None]] = deque()
        self._waiting: list[tuple[float, int, Turn]] = []
        self._numbers = count()

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._work.append(lambda: future.set_result(call(*arguments)))
        future.pool = self  # type: ignore[attr-defined]
        return future

    def run(self, futures: Iterable[Future[Any]], until: float) -> None:
        """Go on until all that was submitted is done, or the time is over."""
        while not all(future.done() for future in futures):
            if self._work and self._left:
                self._left -= 1
                self._go_on(self._idle.pop() if self._idle else Turn(), self._work.popleft())
            elif self._waiting[0][0] > until:
                self._clock.now = until
                return
            else:
                at, _, turn = heapq.heappop(self._waiting)
                self._clock.now = max(at, self._clock.now)
                self._go_on(turn)

    def _go_on(self, turn: Turn, work: Callable[[], None] | None = None) -> None:
        self._s3.wait = partial(self._wait, turn)
        turn.start(work) if work else turn.resume()
        if turn.is_over:
            self._left += 1
            self._idle.append(turn)

    def _wait(self, turn: Turn, seconds: float) -> None:
        at = self._clock.now + seconds
        heapq.heappush(self._waiting, (at, next(self._numbers), turn))
        turn.wait()


@contextmanager
def side_by_side(s3: SimulatedS3, clock: Clock) -> Iterator[None]:
    """Let ingest ask this S3 on this clock."""

    def wait(futures: list[Any], timeout: float) -> None:
        if futures:
            futures[0].pool.run(futures, clock.now + timeout)

    threads = partial(_Threads, s3, clock)
    with patch.multiple(bucket_reads, ThreadPoolExecutor=threads, wait=wait):
        yield
