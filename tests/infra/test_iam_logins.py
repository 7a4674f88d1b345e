"""Targets with `auth = "iam"`: who may log in to what, and to nothing else."""

from typing import Any

import pytest

from tests.infra.conftest import Make, Synthesised

HERE = "eu-west-1:111122223333"
CONFIG = f"""
[notify_postgres.mirror]
host = "db.abc.eu-west-1.rds.amazonaws.com"
database = "events"
table = "objects"
auth = "iam"
iam_resource = "arn:aws:rds-db:{HERE}:dbuser:db-ABC/bucketcast"
[notify_mysql.log]
host = "db.abc.eu-west-1.rds.amazonaws.com"
database = "events"
table = "log"
format = "access"
auth = "iam"
iam_resource = "arn:aws:rds-db:{HERE}:dbuser:prx-ABC/writer"
[notify_redis.cache]
address = "events.abc.euw1.cache.amazonaws.com:6379"
key = "objects"
tls = "on"
user = "bucketcast"
auth = "iam"
iam_resource = "arn:aws:elasticache:{HERE}:serverlesscache:events"
[notify_redis.memory]
address = "clustercfg.events.abc.memorydb.eu-west-1.amazonaws.com:6379"
key = "objects"
tls = "on"
user = "bucketcast"
auth = "iam"
iam_resource = "arn:aws:memorydb:{HERE}:cluster/events"
[notify_elasticsearch.domain]
url = "https://search-events.eu-west-1.es.amazonaws.com"
index = "objects"
auth = "iam"
iam_resource = "arn:aws:es:{HERE}:domain/events"
[notify_elasticsearch.collection]
url = "https://abc.eu-west-1.aoss.amazonaws.com"
index = "log"
format = "access"
auth = "iam"
iam_resource = "arn:aws:aoss:{HERE}:collection/abc"
[notify_kafka.msk]
brokers = "b-1.events.abc.kafka.eu-west-1.amazonaws.com:9098"
topic = "events"
tls = "on"
auth = "iam"
iam_resource = "arn:aws:kafka:{HERE}:cluster/events/0123-4567-1"
[notify_mqtt.iot]
broker = "wss://abc-ats.iot.eu-west-1.amazonaws.com/mqtt"
topic = "site/events"
client_id = "hall"
qos = "1"
auth = "iam"
iam_resource = "arn:aws:iot:{HERE}:topic/site/events"
[pipeline]
"""
RDS, REDIS = f"arn:aws:rds-db:{HERE}:dbuser", f"arn:aws:elasticache:{HERE}"
MEMORY, KAFKA = f"arn:aws:memorydb:{HERE}", f"arn:aws:kafka:{HERE}"
METHODS = ["es:ESHttpDelete", "es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
POSTGRES_RIGHTS = [("rds-db:connect", f"{RDS}:db-ABC/bucketcast")]
CACHE_RIGHTS = [
    ("elasticache:Connect", [f"{REDIS}:serverlesscache:events", f"{REDIS}:user:bucketcast"])
]
MEMORY_RIGHTS = [("memorydb:connect", [f"{MEMORY}:cluster/events", f"{MEMORY}:user/bucketcast"])]
DOMAIN_RIGHTS = [(METHODS, f"arn:aws:es:{HERE}:domain/events/*")]


@pytest.fixture(scope="module")
def stack(make: Make) -> Synthesised:
    return make(CONFIG)


@pytest.mark.parametrize(
    ("role", "wanted"),
    [
        ("Postgresmirror", POSTGRES_RIGHTS),
        ("Mysqllog", [("rds-db:connect", f"{RDS}:prx-ABC/writer")]),
        ("Rediscache", CACHE_RIGHTS),
        ("Redismemory", MEMORY_RIGHTS),
        ("Elasticsearchdomain", DOMAIN_RIGHTS),
        (
            "Elasticsearchcollection",
            [("aoss:APIAccessAll", f"arn:aws:aoss:{HERE}:collection/abc")],
        ),
        (
            "Kafkamsk",
            [
                (
                    [
                        "kafka-cluster:Connect",
                        "kafka-cluster:DescribeCluster",
                        "kafka-cluster:WriteDataIdempotently",
                    ],
                    f"{KAFKA}:cluster/events/0123-4567-1",
                ),
                (
                    ["kafka-cluster:DescribeTopic", "kafka-cluster:WriteData"],
                    f"{KAFKA}:topic/events/0123-4567-1/events",
                ),
            ],
        ),
        (
            "Mqttiot",
            [
                ("iot:Connect", f"arn:aws:iot:{HERE}:client/hall*"),
                ("iot:Publish", f"arn:aws:iot:{HERE}:topic/site/events"),
            ],
        ),
        ("reconcile", [*POSTGRES_RIGHTS, *CACHE_RIGHTS, *MEMORY_RIGHTS, *DOMAIN_RIGHTS]),
    ],
)
def test_a_role_may_log_in_to_its_own_target(
    stack: Synthesised, role: str, wanted: list[Any]
) -> None:
    found = sorted(
        (str(statement["Action"]), str(statement["Resource"]))
        for policy, statement in stack.statements()
        if role.lower() in policy.lower() and _is_login(statement)
    )
    assert found == sorted((str(actions), str(resources)) for actions, resources in wanted)


def test_no_other_role_may_log_in(stack: Synthesised) -> None:
    assert sum(_is_login(statement) for _, statement in stack.statements()) == 10 + 4


def _is_login(statement: dict[str, Any]) -> bool:
    services = ("rds-db:", "elasticache:", "memorydb:", "es:", "aoss:", "kafka-cluster:", "iot:")
    actions = statement["Action"]
    first: str = actions if isinstance(actions, str) else actions[0]
    return first.startswith(services)
