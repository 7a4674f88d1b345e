"""A reader of a subscription, as a process that can be killed: it writes down what it saw.

`python pull_reader.py URL SUBSCRIPTION LOG PAUSE`: with PAUSE it stops for good between the second
page and its acknowledgement. Each line of LOG is an object: when a page was requested and what was
in it, or when an acknowledgement was answered.
"""

import json
import sys
import time
from typing import Any

from tests.e2e.pubsub import Pubsub

PAGE = 40


def main(url: str, access: str, secret: str, subscription: str, log: str, pause: str) -> None:
    """Read pages and acknowledge them until there is nothing left."""
    client = Pubsub(url, access, secret)
    pages = 0
    with open(log, "w", encoding="utf-8", buffering=1) as file:  # noqa: PTH123 - line by line

        def note(**what: Any) -> None:
            file.write(json.dumps(what) + "\n")

        while True:
            began = time.monotonic_ns()
            page = client.events(subscription, PAGE)
            records = page["Records"]
            keys = {each["eventId"]: each["s3"]["object"]["key"] for each in records}
            note(began=began, seen=keys)
            if not records:
                return
            pages += 1
            while pause and pages == 2:
                time.sleep(1)
            for event in keys:
                client.acknowledge(subscription, event)
                note(answered=time.monotonic_ns(), acknowledged=event)


if __name__ == "__main__":
    main(*sys.argv[1:])
