"""Keys in MinIO's configuration that Bucketcast lacks: former ones, and those without use."""

from collections.abc import Mapping

ABOUT_THE_SERVER = "it is about the MinIO server, not about notifications"

FORMER: Mapping[str, Mapping[str, str]] = {
    "nats": {"streaming_enable": "streaming"},
    "nsq": {"tls_enable": "tls"},
}
"""Keys that MinIO renamed, by kind; its guide still shows both."""
WITHOUT_USE: Mapping[str, Mapping[str, str]] = {
    "amqp": {"arguments": "MinIO never read it"},
    "nats": {"streaming_client_id": "each function has its own"},
}
"""Keys of MinIO that have no effect here, by kind."""
