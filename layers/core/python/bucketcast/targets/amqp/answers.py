"""What becomes of an event by what the broker answers: AMQP's reply codes, and RabbitMQ's texts.

Beside them `nack` and `blocked` are methods of RabbitMQ.
"""

from bucketcast.targets.base.answers import Answers, Verdict, of_connections

_CONNECTION_LIMIT = "raise the limit, or lower max_concurrency: each function keeps a connection"
_PASSIVE = "or leave exchange_type empty to take it as it is"

ANSWERS = Answers(
    Verdict.SLOWER("403 530", _CONNECTION_LIMIT, "connection limit (", "limit of ("),
    Verdict.LOGIN("403", "see user and password in url", "Login was refused"),
    Verdict.LOGIN(
        "403", "the broker must know the user that client_cert names", "mechanism EXTERNAL"
    ),
    Verdict.SETTINGS(
        "403",
        "only other exchanges may publish there: name another",
        "publish to internal exchange",
    ),
    Verdict.SETTINGS(
        "403", "name another exchange, or leave exchange_type empty", "contains reserved prefix"
    ),
    Verdict.LOGIN(
        "403 530", "let the user into it, or name another as the path of url", "access to vhost '"
    ),
    Verdict.LOGIN(
        "403", "the user needs to write to the exchange, and with exchange_type to configure it too"
    ),
    Verdict.SETTINGS("402 530", "make the virtual host, or name another as the path of url"),
    Verdict.SETTINGS("404", "make it, or set exchange_type, and it is made"),
    Verdict.HALVE("406", "raise the broker's max_message_size", "larger than"),
    Verdict.SETTINGS(
        "406",
        f"set exchange_type, durable and auto_deleted as the exchange has them, {_PASSIVE}",
        "inequivalent arg",
    ),
    Verdict.SETTINGS("503", f"set one that the broker has, {_PASSIVE}", "exchange type"),
    Verdict.SETTINGS(
        "312", "no queue matches: bind one for routing_key (mandatory = off drops it)"
    ),
    Verdict.HALVE("311"),
    Verdict.AGAIN("nack", "is a queue at its limit?"),
    Verdict.AGAIN("blocked", "it confirms the messages that it already has when it continues"),
    Verdict.SLOWER("506"),
    Verdict.AWAY("200 320 501-505 540 541"),
    Verdict.AGAIN("313 405 406"),
    connections=of_connections("the broker", "url", "does the port in url suit its scheme?"),
)
