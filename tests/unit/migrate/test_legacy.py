"""The config.json of old MinIO servers."""

import json
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.errors import ConfigErrors
from bucketcast.migrate import files, merge
from bucketcast.migrate.minio_keys import SECTIONS
from bucketcast.migrate.parsed import TargetId
from tests.unit.migrate import samples


def settle(document: Any) -> merge.Merged:
    return merge.merge(files.read([files.File("config.json", json.dumps(document))]))


def problems(document: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as refused:
        settle(document)
    return [str(error) for error in refused.value.errors]


def test_other_sections_and_what_is_off_are_reported_as_left_out() -> None:
    document = json.loads(samples.config_json()) | {key: {} for key in SECTIONS}
    left = {each.what for each in settle(document).left_out}
    assert left >= SECTIONS
    assert "notify_webhook.1.queue_dir" in left
    off = ", ".join(sorted(f"notify_{kind}.2" for kind in targets.kinds()))
    assert off in left


def test_the_former_login_of_a_database() -> None:
    found = settle(
        {
            "notify": {
                "postgresql": {
                    "pg": {
                        "enable": True,
                        "format": "namespace",
                        "connectionString": "sslmode=disable",
                        "table": "events",
                        "host": "127.0.0.1",
                        "port": "5432",
                        "user": "postgres",
                        "password": "p",
                        "database": "db",
                    }
                }
            }
        }
    )
    assert found.targets == {
        TargetId("postgres", "pg"): {
            "connection_string": "sslmode=disable",
            "table": "events",
            "host": "127.0.0.1",
            "port": "5432",
            "username": "postgres",
            "password": "p",
            "database": "db",
        }
    }


def test_names_that_follow_no_rule() -> None:
    streaming = {"enable": True, "clusterID": "c", "clientID": "mine", "maxPubAcksInflight": 10}
    nats = {"enable": True, "address": "h:4222", "subject": "s", "secure": True, "tls": False}
    kafka = {"enable": True, "brokers": ["h:9092"], "topic": "t"}
    certificate = {"enable": True, "clientTLSCert": "/c.pem", "clientTLSKey": "/c.key"}
    found = settle(
        {
            "notify": {
                "nats": {"1": {**nats, "streaming": streaming}},
                "kafka": {"1": {**kafka, "tls": certificate, "producer": {"compression": "lz4"}}},
            }
        }
    )
    assert found.targets == {
        TargetId("nats", "1"): {
            "address": "h:4222",
            "subject": "s",
            "tls": "on",
            "streaming": "on",
            "streaming_cluster_id": "c",
            "streaming_max_pub_acks_in_flight": "10",
        },
        TargetId("kafka", "1"): {
            "brokers": "h:9092",
            "topic": "t",
            "tls": "on",
            "client_tls_cert": "/c.pem",
            "client_tls_key": "/c.key",
            "compression_codec": "lz4",
        },
    }
    assert [left.what for left in found.left_out] == ["notify_nats.1.streaming_client_id"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"version": "33"}, "config.json: missing section notify; a config.json with a section"),
        ([], "config.json: unknown format; allowed are the output of `mc admin config"),
        (
            {"notify": {}, "ntify": {}},
            "config.json: unknown section 'ntify'; correct or delete it",
        ),
        (
            {"notify": {"webhok": {}}},
            "config.json: notify.webhok: unknown kind; did you mean 'webhook'? correct or",
        ),
        ({"notify": {"webhook": []}}, "config.json: notify.webhook: found no JSON object"),
        (
            {"notify": {"webhook": {"1": "x"}}},
            "config.json: notify.webhook.1: found no JSON object",
        ),
        (
            {"notify": {"webhook": {"1": {"endPont": "x"}}}},
            "notify_webhook.1.end_pont: unknown key; did you mean 'endpoint'? allowed are",
        ),
    ],
)
def test_problems_name_their_key(document: Any, problem: str) -> None:
    assert problems(document)[0].startswith(problem)


def test_a_broken_document_is_refused() -> None:
    with pytest.raises(ConfigErrors, match="invalid JSON: "):
        files.read([files.File("config.json", '{"notify": ')])
