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
SECTIONS = frozenset(
    {
        "browser",
        "cache",
        "compress",
        "credential",
        "domain",
        "kms",
        "ldapserveridentity",
        "logger",
        "openid",
        "policy",
        "region",
        "storageclass",
        "usage",
        "version",
        "worm",
    }
)
"""Sections of a `config.json` besides `notify`."""
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
IN_JSON: Mapping[str, str] = {
    "jet_stream": "jetstream",
    "n_key_seed": "nkey_seed",
    "producer_compression": "compression_codec",
    "producer_compression_level": "compression_level",
    "secure": "tls",
    "streaming_max_pub_acks_inflight": "streaming_max_pub_acks_in_flight",
    "tls_client_tls_cert": "client_tls_cert",
    "tls_client_tls_key": "client_tls_key",
    "user": "username",
}
"""Keys of a `config.json`, in snake case, that were renamed; a kind's own key takes precedence."""
