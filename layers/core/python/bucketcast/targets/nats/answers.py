"""What becomes of an event by what the server or nats-py says.

The numbers are those of JetStream's errors, with HTTP's 429 beside them; `streaming` is an error of
NATS Streaming, which has no numbers. Words are the server's, and the names nats-py's classes.
"""

from bucketcast.targets.base.answers import Answers, Verdict, of_connections

_LOGIN = (
    "token, username with password, nkey_seed or user_credentials must be one that the server knows"
)
_FIRST = "does the server want tls_handshake_first = on?"

ANSWERS = Answers(
    Verdict.LOGIN("Error", "grant it to the user", "permissions violation"),
    Verdict.LOGIN(
        "Error", _LOGIN, "authorization", "Authorization", "authentication", "Authentication"
    ),
    Verdict.LOGIN("AuthorizationError InvalidUserCredentialsError", _LOGIN),
    Verdict.SETTINGS("BadSubjectError", "see subject"),
    Verdict.HALVE("10054", "raise --max-msg-size of the stream"),
    Verdict.HALVE("MaxPayloadError", "raise max_payload of the server"),
    Verdict.SETTINGS("10035 10039 10076", "turn JetStream on, or jetstream off"),
    Verdict.AWAY(
        "SecureConnWantedError",
        "this server does not encrypt: enable TLS there, or leave out tls and the certificates",
    ),
    Verdict.SLOWER("429 10008 10023 OutboundBufferLimitError"),
    Verdict.AWAY(
        "streaming", "the server does not know this client any more", "invalid publish request"
    ),
    Verdict.AWAY(
        "ConnectionClosedError ConnectionDrainingError ConnectionReconnectingError JsonParseError "
        "NoServersError ProtocolError SecureConnFailedError SecureConnRequiredError "
        "ServerNotInPoolError SlowConsumerError StaleConnectionError"
    ),
    Verdict.SILENT("DrainTimeoutError FlushTimeoutError"),
    # What a stream says of one message or to administrators, and what only subscribers meet.
    Verdict.AGAIN(
        "10002-10228 streaming BadHeaderError BadSubscriptionError BadTimeoutError "
        "InvalidCallbackTypeError MsgAlreadyAckdError NoRespondersError NotJSMessageError"
    ),
    connections=(
        Verdict.AWAY(
            "SSLError",
            "the server does not start with TLS: leave out tls_handshake_first",
            "WRONG_VERSION_NUMBER",
        ),
        Verdict.SILENT(
            "TimeoutError", f"is the address right, does its network let this function in? {_FIRST}"
        ),
        Verdict.AWAY(
            "UnexpectedEOF ConnectionError",
            "does the server want a client certificate, or another one than client_cert?",
        ),
        Verdict.AWAY("Error", "is this a NATS server?", "expecting INFO"),
        *of_connections("the server", "address", _FIRST),
        Verdict.AWAY("Error"),
    ),
)
