"""Throw broken bodies at the sources, and what they read at the shapes: `python -m tests.fuzz`.

Whatever arrives on the ingress queue must give events or one reason, never another exception: that
would stop its neighbours in the batch. Bodies are the recorded ones of `tests/events`, damaged as
text and as JSON. The first that raises anything else is written into `tests/events/fuzz`, where a
unit test keeps it from coming back, and the exit code is 1.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from bucketcast import shapes, sources
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.errors import BadEvent
from bucketcast.shapes.cloudevents import in_header

SHAPES = tuple(map(shapes.shape, get_args(shapes.Name)))
RECORDED = Path(__file__).parent / "events"
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 1e308, "", "\0", "\ud800", "%", "%ff", "+", "é" * 400),
    *([], {}, [[]], {"": {}}, "s3:", "2.", "null", "2026-13-45T99:99:99Z", "9" * 400),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 - no secret
    bodies = [path.read_text(encoding="utf-8") for path in sorted(RECORDED.glob("*/*.json"))]
    end = time.monotonic() + options.minutes * 60
    tried = read = 0
    while time.monotonic() < end:
        body = damaged(chance.choice(bodies), chance)
        tried += 1
        try:
            read += used(body)
        except Exception as error:  # noqa: BLE001 - what this looks for
            file = RECORDED / "fuzz" / f"found-{options.seed}.json"
            file.write_text(body, encoding="utf-8", errors="surrogatepass")
            print(f"{type(error).__name__}: {error}\nseed {options.seed}, kept in {file}")
            return 1
    print(f"{tried:,} bodies, {read:,} events read from them, seed {options.seed}")
    return 0


def used(body: str) -> int:
    """Read a body and send on what it gives; the number of events."""
    try:
        events = sources.events(body)
    except BadEvent:
        return 0
    for event in events:
        for shape in SHAPES:
            with suppress(UnicodeEncodeError):  # what a target then rejects
                shape.message(event)
                shape.value(event)
                for text in shape.attributes(event).values() if shape.attributes else ():
                    in_header(text)
    for packed in pack([Delivery("rule", event) for event in events], 0):
        unpack(packed.body)
    return len(events)


def damaged(body: str, chance: random.Random) -> str:
    """The body with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        change: Callable[[str, random.Random], str] = chance.choice((as_text, as_json, as_json))
        body = change(body, chance)
    return body


def as_text(body: str, chance: random.Random) -> str:
    """Cut, doubled or with a character changed."""
    start, stop = sorted(chance.randint(0, len(body)) for _ in range(2))
    middle = chance.choice(("", body[start:stop] * 2, chr(chance.randrange(0x800))))
    return body[:start] + middle + body[stop:]


def as_json(body: str, chance: random.Random) -> str:
    """With one value replaced or one field gone, somewhere."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    node = document
    while isinstance(node, dict | list) and node:
        key: Any = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if chance.random() < 0.4 or not isinstance(node[key], dict | list):
            if chance.random() < 0.3:
                del node[key]
            else:
                node[key] = chance.choice(ODD)
            break
        node = node[key]
    return json.dumps(document, ensure_ascii=chance.random() < 0.5)


if __name__ == "__main__":
    sys.exit(main())
