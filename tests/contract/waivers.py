"""Tests that do not apply to a kind, each with the reason: the only such list.

A waived test still runs, and must fail: an unnecessary waiver fails the run.
"""

from collections.abc import Mapping

_DROPS_REPEATS = "the stream drops what it has, by its id"
_NO_HEADERS = "NATS Streaming's messages have none, and the shape is refused"
_NO_SKIPPING = "it has no such option"
_ONLY_CONNECTS = "whatever it said over the connection, the endpoint could take for an event"

WAIVERS: Mapping[tuple[str, str], str] = {
    ("amqp", "test_a_missing_password_is_reported"): "it is a part of url",
    ("elasticsearch", "test_a_missing_password_is_reported"): "a username alone is refused before",
    ("mysql", "test_a_missing_password_is_reported"): "it is a part of dsn_string",
    ("mysql", "test_tls_skip_verify_accepts_any_certificate"): _NO_SKIPPING,
    ("mysql-access", "test_access_stores_the_time_too"): "MinIO's DATETIME has whole seconds",
    ("nats-core", "test_a_repeated_delivery_is_no_error"): _DROPS_REPEATS,
    ("nats-jetstream", "test_a_repeated_delivery_is_no_error"): _DROPS_REPEATS,
    (
        "nats-streaming-cloudevents-binary",
        "test_bodies_and_headers_arrive_and_readers_find_the_key",
    ): _NO_HEADERS,
    ("postgres", "test_bodies_arrive_byte_for_byte"): "JSONB prints the JSON anew",
    ("postgres", "test_a_missing_password_is_reported"): "it is a part of connection_string",
    ("postgres", "test_tls_skip_verify_accepts_any_certificate"): _NO_SKIPPING,
    ("webhook", "test_a_probe_detects_a_silent_server"): _ONLY_CONNECTS,
}
"""(kind, server such as `nats-core`, or layout such as `redis-access`; name of the test) → why."""
