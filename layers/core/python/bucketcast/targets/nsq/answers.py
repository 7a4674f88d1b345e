"""What becomes of an event by what nsqd answers: the codes of NSQ's protocol.

What is too large for its limits is found out by `batch.Limits`.
"""

from bucketcast.targets.base.answers import Answers, Verdict, of_connections

_TLS = "does tls suit the port?"

ANSWERS = Answers(
    Verdict.LOGIN(
        "E_AUTH_FAILED",
        "set auth_secret to one that nsqd's --auth-http-address knows, and check that nsqd reaches "
        "it",
    ),
    Verdict.LOGIN("E_AUTH_FIRST", "nsqd requires auth_secret"),
    Verdict.LOGIN("E_UNAUTHORIZED", "auth_secret needs the permission publish for the topic"),
    Verdict.SETTINGS("E_BAD_TOPIC", "set topic to a name that nsqd accepts"),
    Verdict.AWAY("E_INVALID", "set tls = on", "TLS required"),
    Verdict.SETTINGS("E_AUTH_DISABLED", "leave out auth_secret"),
    Verdict.HALVE("E_BAD_BODY E_BAD_MESSAGE", "raise --max-msg-size, --max-body-size", "too big "),
    Verdict.AWAY("E_BAD_PROTOCOL E_IDENTIFY_FAILED"),
    # nsqd cannot write, or ends; the last are for consumers.
    Verdict.AGAIN(
        "E_AUTH_ERROR E_BAD_BODY E_BAD_MESSAGE E_DPUB_FAILED E_INVALID E_MPUB_FAILED E_PUB_FAILED "
        "E_BAD_CHANNEL E_FIN_FAILED E_REQ_FAILED E_SUB_FAILED E_TOUCH_FAILED"
    ),
    connections=(
        Verdict.AWAY(
            "OSError", "start it with --tls-cert and --tls-key, or set tls = off", "offers no TLS"
        ),
        Verdict.AWAY(
            "OSError",
            "nsqd_address must be nsqd's TCP address (4150), not that of HTTP (4151)",
            "NSQ's protocol",
        ),
        *of_connections("nsqd", "nsqd_address", _TLS),
    ),
)
