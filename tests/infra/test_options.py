"""What a target's `deploy` table, `sync_events` and a local deploy change."""

import json

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.state.counters import STEP
from tests.infra.conftest import Make, Synthesised
from tests.infra.resource_policies import listed

WEBHOOK = """
[notify_webhook.primary]
endpoint = "https://example.org/hook"
[notify_webhook.primary.deploy]
"""
REDIS = """
[notify_redis.cache]
address = "redis.example.org:6379"
key = "uploads"
format = "namespace"
"""
NAME = "Bucketcast-webhook-primary"


def test_log_retention_applies_to_all_functions(make: Make) -> None:
    for text, days in (("", 30), ("log_retention_days = 90\n", 90)):
        stack = make(text)
        groups = stack.of_type("AWS::Logs::LogGroup").values()
        assert {each["Properties"]["RetentionInDays"] for each in groups} == {days}
        assert len(groups) == len(stack.of_type("AWS::Lambda::Function"))


def test_throughput_profile_gathers_thousands_for_a_second(make: Make) -> None:
    found = make(WEBHOOK + 'profile = "throughput"')
    mapping = found.mapping(NAME)
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (10_000, 1)
    assert found.queue(NAME)["VisibilityTimeout"] == found.function(NAME)["Timeout"] + 50


def test_ingest_gathers_only_without_a_latency_target(make: Make) -> None:
    bulk = make(WEBHOOK + 'profile = "throughput"').mapping("Bucketcast-ingest")
    assert (bulk["BatchSize"], bulk["MaximumBatchingWindowInSeconds"]) == (1_000, 1)
    mixed = make(WEBHOOK + 'profile = "throughput"\n' + REDIS).mapping("Bucketcast-ingest")
    assert mixed["BatchSize"] == 10
    assert "MaximumBatchingWindowInSeconds" not in mixed


def test_ingest_gathers_events_if_so_configured(make: Make) -> None:
    found = make('[ingest]\nwindow = "2s"' + WEBHOOK)
    mapping = found.mapping("Bucketcast-ingest")
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (1_000, 2)
    assert found.queue("Bucketcast-ingress")["VisibilityTimeout"] == 80
    assert "MaximumBatchingWindowInSeconds" not in found.mapping(NAME)


def test_memory_timeout_and_concurrency_reach_the_function(make: Make) -> None:
    found = make(WEBHOOK + 'memory = 1024\ntimeout = "2m"\nmax_concurrency = 7')
    function = found.function(NAME)
    assert (function["MemorySize"], function["Timeout"]) == (1_024, 120)
    assert found.queue(NAME)["VisibilityTimeout"] == 150
    assert found.mapping(NAME)["ScalingConfig"] == {"MaximumConcurrency": 7}


def test_concurrency_of_a_target_may_be_without_a_limit(make: Make) -> None:
    assert make(WEBHOOK).mapping(NAME)["ScalingConfig"] == {"MaximumConcurrency": 4}
    assert "ScalingConfig" not in make(WEBHOOK + "max_concurrency = 0").mapping(NAME)


def test_ingest_leaves_one_of_its_reserved_calls_free(make: Make) -> None:
    """A refused call would hide its messages for a minute."""
    none = make(WEBHOOK)
    assert "ReservedConcurrentExecutions" not in none.function("Bucketcast-ingest")
    assert none.mapping("Bucketcast-ingest")["ScalingConfig"] == {"MaximumConcurrency": 5}
    found = make("[ingest]\nreserved_concurrency = 20" + WEBHOOK)
    assert found.function("Bucketcast-ingest")["ReservedConcurrentExecutions"] == 20
    assert found.mapping("Bucketcast-ingest")["ScalingConfig"] == {"MaximumConcurrency": 19}


def test_sync_events_makes_both_queues_fifo_with_batches_of_ten(make: Make) -> None:
    found = make('sync_events = "on"' + WEBHOOK + 'profile = "throughput"')
    for name in (f"{NAME}.fifo", f"{NAME}-dead.fifo"):
        assert found.queue(name)["FifoQueue"] is True
    assert found.queue(f"{NAME}.fifo")["VisibilityTimeout"] == 360
    mapping = found.mapping(NAME)
    assert mapping["BatchSize"] == 10
    assert "MaximumBatchingWindowInSeconds" not in mapping
    variables = found.function("Bucketcast-ingest")["Environment"]["Variables"]
    assert variables["BUCKETCAST_TARGET_QUEUES"]["Fn::Join"][1][-1] == "/Bucketcast-*.fifo"
    # S3 cannot write to a FIFO queue.
    assert "FifoQueue" not in found.queue("Bucketcast-ingress")


def test_functions_on_aws_get_their_egress_rules(make: Make) -> None:
    variable, own = "BUCKETCAST_ALLOW_PRIVATE", 'allow_private = ["hooks.internal"]\n'
    dynamic = (
        '[dynamic_targets]\nkinds = ["webhook"]\nallow_private = ["10.1.0.0/16", "localhost"]\n'
    )
    vpc = 'vpc = "vpc-0123456789abcdef0"\nsubnets = ["subnet-0123456789abcdef0"]\n'

    def variables(found: Synthesised, name: str) -> str | None:
        value: str | None = found.function(name)["Environment"]["Variables"].get(variable)
        return value

    found = make(WEBHOOK + own + REDIS + dynamic)
    assert variables(found, NAME) == "hooks.internal"
    assert variables(found, "Bucketcast-redis-cache") == "none"
    assert variables(found, "Bucketcast-dynamic-webhook") == "10.1.0.0/16,localhost"
    assert '\\"allow_private\\":[\\"10.1.0.0/16\\",\\"localhost\\"]' in found.text()
    plain = make(WEBHOOK + vpc + '[dynamic_targets]\nkinds = ["webhook"]\n')
    assert str(variables(plain, NAME)).startswith("10.0.0.0/8,172.16.0.0/12,")
    assert variables(plain, "Bucketcast-dynamic-webhook") == "none"
    assert variables(make(WEBHOOK, local=True), NAME) is None


def test_a_plain_secret_of_a_local_deploy_is_not_in_the_template(make: Make) -> None:
    text = WEBHOOK.replace("[notify_webhook.primary.deploy]", 'auth_token = "0pen-sesame"')
    found = make(text, local=True)
    assert "0pen-sesame" not in found.text()
    variables = found.function(NAME)["Environment"]["Variables"]
    assert json.loads(variables["BUCKETCAST_SETTINGS"])["auth_token"].startswith("secret:")


def test_a_local_stack_leaves_nothing_behind(make: Make) -> None:
    found = make("[bucket.uploads]\ncreate = true\n" + WEBHOOK, local=True)
    resources = found.json["Resources"].values()
    assert {each.get("DeletionPolicy", "Delete") for each in resources} == {"Delete"}


def test_the_stack_name_is_in_every_physical_name(make: Make) -> None:
    """So that stacks of one account have none in common; a role's would be that of all regions."""
    stack = make(WEBHOOK, stack="Other")
    roles = stack.of_type("AWS::IAM::Role").values()
    assert [each for each in roles if "RoleName" in each["Properties"]] == []
    assert stack.queue("Other-ingress")
    physical = [
        name
        for resource in stack.json["Resources"].values()
        for key in ("AlarmName", "FunctionName", "LogGroupName", "Name", "QueueName")
        if isinstance(name := resource.get("Properties", {}).get(key), str)
    ]
    assert [name for name in physical if "Other-" not in name] == []
    queues = stack.function("Other-ingest")["Environment"]["Variables"]["BUCKETCAST_TARGET_QUEUES"]
    assert queues["Fn::Join"][1][-1] == "/Other-*"


def test_all_excesses_over_limits_of_aws_are_refused_together(make: Make) -> None:
    text = WEBHOOK.replace("org/hook", "org/" + "x" * 4_100)
    with pytest.raises(ConfigErrors) as caught:
        make(text, stack="S" * 60)
    note = str(caught.value)
    assert "notify_webhook.primary" in note
    assert "at most 64" in note
    assert "Lambda has room for 3,072" in note
    assert note.startswith("stack: its function")
    assert "xxxx" not in note


WANTS = '[notify_webhook.tags]\nendpoint = "https://example.org/"\nfacts = "tags"'
LOOKS = 'object_facts = "{}"\n[bucket.uploads]\n[bucket.archive]\ncreate = false\n' + WEBHOOK


def _ingests_rights(made: Synthesised) -> dict[str, list[str]]:
    """The resources of each action on S3 that ingest may do."""
    found = {}
    for name, statement in made.statements():
        for action in listed(statement["Action"]):
            if name.startswith("Ingest") and action.startswith("s3:"):
                found[action] = [each["Fn::Join"][1][2] for each in listed(statement["Resource"])]
    return found


@pytest.mark.parametrize(
    ("word", "buckets"), [("off", []), ("on", ["archive", "uploads"]), ("all", ["*"])]
)
def test_ingest_may_read_objects_of_configured_buckets_only(
    make: Make, word: str, buckets: list[str]
) -> None:
    made = make(LOOKS.format(word) + (WANTS if word != "off" else ""))
    rights = _ingests_rights(made)
    assert rights.pop("s3:ListBucket", []) == [f":s3:::{bucket}" for bucket in buckets]
    objects = [f":s3:::{bucket}/*" for bucket in buckets]
    assert all(each == objects for each in rights.values())
    assert bool(rights) == bool(buckets)
    variables = made.function("Bucketcast-ingest")["Environment"]["Variables"]
    wants = {"arn:minio:sqs::tags:webhook": ["tags"]} if buckets else {}
    expected = {"buckets": buckets, "targets": wants, "mirrors": []}
    expected["topics"] = ["metadata", "tags"] if buckets else []
    assert json.loads(variables["BUCKETCAST_OBJECT_FACTS"]) == expected
    assert json.loads(made.json["Outputs"]["ObjectFacts"]["Value"]) == buckets


def test_too_many_buckets_of_facts_are_refused_with_a_hint(make: Make) -> None:
    buckets = "".join(f"[bucket.{'b' * 50}-{number:03}]\n" for number in range(60))
    with pytest.raises(ConfigErrors, match=r"object_facts = .all. names no"):
        make('object_facts = "on"\n' + buckets)
    make('object_facts = "all"\n' + buckets)


def test_a_local_stack_counts_each_batch(make: Make) -> None:
    """What a demo reads is exact; on AWS a write a batch would cost as much as the reads."""

    def steps(*, local: bool) -> set[str | None]:
        found = make(WEBHOOK, local=local)
        both = (found.function(name) for name in (NAME, "Bucketcast-ingest"))
        return {each["Environment"]["Variables"].get(STEP) for each in both}

    assert (steps(local=True), steps(local=False)) == ({"0"}, {None})
