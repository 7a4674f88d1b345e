"""The local AWS of these benchmarks, with a state table and a queue."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.glue.emulator import Emulator
from tests.unit.moto_aws import make_state_table

QUEUE: Final = "Bucketcast-ingress"


@contextmanager
def local_aws(folder: Path) -> Iterator[Emulator]:
    """Run it, with this process's clients and those of its children directed to it."""
    emulator = Emulator(folder)
    emulator.start()
    try:
        os.environ |= emulator.variables()
        make_state_table(emulator.client("dynamodb"))
        emulator.client("sqs").create_queue(QueueName=QUEUE)
        yield emulator
    finally:
        emulator.stop()
