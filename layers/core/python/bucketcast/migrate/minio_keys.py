"""Names in MinIO's configuration that Bucketcast lacks: sub-systems, former keys, unused keys."""

from collections.abc import Mapping

SUB_SYSTEMS = frozenset(
    {
        "api",
        "audit_event_queue",
        "audit_kafka",
        "audit_webhook",
        "batch",
        "browser",
        "cache",
        "callhome",
        "compression",
        "crawler",
        "credentials",
        "drive",
        "etcd",
        "heal",
        "identity_ldap",
        "identity_openid",
        "identity_plugin",
        "identity_tls",
        "ilm",
        "kms_kes",
        "kms_vault",
        "lambda_webhook",
        "logger_http",
        "logger_http_audit",
        "logger_webhook",
        "policy_opa",
        "policy_plugin",
        "region",
        "scanner",
        "site",
        "storage_class",
        "subnet",
        "worm",
    }
)
"""Sub-systems in `mc admin config export` besides `notify_*`."""
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
