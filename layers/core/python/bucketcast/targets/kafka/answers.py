"""What becomes of an event by what a broker answers, or librdkafka says (names with `_`).

`unreachable` stands for each of librdkafka's texts of what ends a connection.
"""

from bucketcast.targets.base.answers import REFUSED_CERTIFICATE, Answers, Verdict

_SUITS = "does tls = {tls} suit the port?"
_SASL = "see sasl and sasl_mechanism, which have to suit the port"
_REACH = "see brokers, and the function's VPC and security groups"
RIGHTS = "the user needs WRITE and DESCRIBE on the topic"

ANSWERS = Answers(
    Verdict.AWAY(
        "unreachable",
        "has a broker's certificate expired? Else set cert_authority to the authority that "
        "signed it, and brokers to names in it",
        "certificate verify failed",
    ),
    Verdict.LOGIN(
        "unreachable",
        "does it want a client certificate, of an authority that it trusts? See "
        "client_tls_cert and client_tls_key",
        *REFUSED_CERTIFICATE,
    ),
    Verdict.AWAY("unreachable", _SUITS, "SSL", "response size"),
    Verdict.LOGIN("unreachable", _SASL, "SASL PLAIN mechanism", "SASL SCRAM"),
    Verdict.LOGIN(
        "_AUTHENTICATION SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE",
        "see sasl_username, sasl_password and sasl_mechanism",
    ),
    Verdict.LOGIN("TOPIC_AUTHORIZATION_FAILED", RIGHTS),
    Verdict.LOGIN(
        "CLUSTER_AUTHORIZATION_FAILED",
        f"{RIGHTS}, before Kafka 2.8 also IDEMPOTENT_WRITE on the cluster",
    ),
    Verdict.AWAY(
        "advertised",
        "a broker advertises this address (advertised.listeners), which the function cannot reach",
    ),
    Verdict.SILENT("_TRANSPORT", _REACH, "timed out"),
    Verdict.AWAY("_TRANSPORT _RESOLVE _ALL_BROKERS_DOWN", _REACH),
    Verdict.SILENT(
        "_TIMED_OUT",
        "see brokers and the function's VPC, and do sasl = {sasl} and tls = {tls} suit the port?",
    ),
    Verdict.SETTINGS(
        "UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC",
        "create topic {topic}, unless the brokers do it themselves (auto.create.topics.enable)",
    ),
    Verdict.SETTINGS("TOPIC_EXCEPTION", "the brokers refuse the name {topic}: see topic"),
    Verdict.SETTINGS("UNSUPPORTED_COMPRESSION_TYPE", "see compression_codec"),
    Verdict.SETTINGS("INVALID_REQUIRED_ACKS", "see ack"),
    Verdict.HALVE(
        "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE",
        "raise max.message.bytes of topic {topic}, or set compression_codec",
    ),
    Verdict.ROW("INVALID_RECORD _INVALID_DIFFERENT_RECORD", "see the schema of {topic}"),
    Verdict.SLOWER("THROTTLING_QUOTA_EXCEEDED _QUEUE_FULL"),
    Verdict.SILENT("REQUEST_TIMED_OUT", "is a replica slow or down?"),
    Verdict.AWAY(
        "_SSL _FATAL _FENCED _DESTROY OUT_OF_ORDER_SEQUENCE_NUMBER INVALID_PRODUCER_EPOCH "
        "UNKNOWN_PRODUCER_ID PRODUCER_FENCED"
    ),
    # One partition's trouble, and what consumers, administrators and transactions are told.
    Verdict.AGAIN("-199--137 -1-97 100 103 110-133"),
)
