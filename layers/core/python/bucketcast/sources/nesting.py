"""The nesting depth of a message's JSON.

The decoder's limit counts the caller's frames too. A message that barely passes it here would not
inside an envelope, two levels deeper, and would take its neighbours with it.
"""

import re

from bucketcast.errors import BadEvent

DEEPEST = 400
"""A record of any source has about ten levels; the interpreter's limit is 1,000."""
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def check(body: str) -> None:
    """Check that valid JSON is nested no deeper than `DEEPEST`.

    Raises:
        BadEvent: it is.
    """
    # Almost all bodies have too few brackets for that, in whatever order.
    if len(body) <= 2 * DEEPEST or body.count("{") + body.count("[") <= DEEPEST:
        return
    depth = deepest = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", body)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise BadEvent(f"the message is nested {deepest} levels deep; allowed are {DEEPEST}")
