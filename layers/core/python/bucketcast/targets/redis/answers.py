"""What becomes of an event by the prefixes of Redis' errors."""

import re
from collections.abc import Sequence

from bucketcast.targets.base.answers import Answers, Verdict, codes_of, of_connections

_PREFIX = re.compile(r"(?:ERR )?(?:Error running script .*?: -)?([A-Z]+)(?= |$)")
"""The code of an error; before Redis 7 that of a script's command is inside of its own."""


def _describe(error: BaseException) -> tuple[str, Sequence[str]]:
    code = getattr(error, "status_code", None)
    text = f"{code} {error}" if code else str(error)
    prefix = _PREFIX.match(text)
    return text, [*([prefix[1]] if prefix else []), *codes_of(error)]


ANSWERS = Answers(
    Verdict.SETTINGS(
        "WRONGTYPE",
        "'{key}' must hold a {type} or nothing: rename the existing key, or set another",
    ),
    Verdict.SETTINGS("CROSSSLOT", "the key needs a tag, such as {{{key}}}"),
    Verdict.SETTINGS("MOVED ASK", "address must be the slot's server, or a proxy"),
    Verdict.LOGIN("NOPERM", "the user needs ~{key}* {needs}"),
    Verdict.LOGIN("WRONGPASS NOAUTH DENIED AuthenticationError AuthorizationError", "{login}"),
    Verdict.AWAY("READONLY", "address must be the primary's"),
    Verdict.SLOWER("LOADING"),
    Verdict.HALVE("ERR ResponseError", "raise proto-max-bulk-len", "invalid bulk length"),
    Verdict.AGAIN(
        "BUSY CLUSTERDOWN ERR EXECABORT MASTERDOWN MISCONF NOREPLICAS NOSCRIPT OOM TRYAGAIN"
        " ResponseError"
    ),
    connections=(
        *of_connections("the server", "address", "does tls = {tls} suit the port?"),
        Verdict.AWAY("RedisError"),
    ),
    describe=_describe,
)
