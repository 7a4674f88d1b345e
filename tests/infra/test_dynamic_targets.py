"""The stack's part of dynamic targets: functions, and rights limited to names."""

import json
from typing import Any

import pytest

from bucketcast.targets import kinds
from tests.infra.conftest import Make, Synthesised

BARE = "[bucket.uploads]\n"
TWO = '[dynamic_targets]\nkinds = ["webhook", "redis"]\nmax_concurrency = 5\n'


@pytest.fixture(scope="module")
def two(make: Make) -> Synthesised:
    return make(f'{TWO}[topics]\ntopics_per_user = 7\nallow_secrets_in_cleartext = "on"\n')


def functions(made: Synthesised) -> set[str]:
    names = [each["FunctionName"] for each in made.properties_of("AWS::Lambda::Function")]
    return {name for name in names if "-dynamic-" in name}


def readers(made: Synthesised, kind: str) -> list[dict[str, Any]]:
    """Return the event source mappings of the functions of a kind."""
    mappings = made.properties_of("AWS::Lambda::EventSourceMapping")
    return [each for each in mappings if kind in str(each["FunctionName"])]


def test_kinds_are_all_locally_and_none_on_aws_until_asked_for(make: Make) -> None:
    assert functions(make(BARE, local=True)) == {f"Bucketcast-dynamic-{kind}" for kind in kinds()}
    assert functions(make(BARE)) == set()


def test_function_carries_its_kind_and_has_no_event_source(two: Synthesised) -> None:
    function = two.function("Bucketcast-dynamic-redis")
    assert function["Handler"] == "functions.startup.handler"
    assert function["Timeout"] == 60
    assert function["RecursiveLoop"] == "Allow"
    layers = sorted(layer["Ref"][:-8] for layer in function["Layers"])
    assert layers == ["AssetsClientredis", "AssetsCore", "AssetsShared"]
    variables = function["Environment"]["Variables"]
    assert variables["BUCKETCAST_HANDLER"] == "functions.dispatch.dynamic"
    assert variables["BUCKETCAST_KIND"] == "redis"
    assert variables["BUCKETCAST_QUEUE_PREFIX"] == "Bucketcast-dynamic-"
    assert readers(two, "redis") == []


def test_the_topic_of_the_alarms_of_run_time_targets_is_an_output(make: Make) -> None:
    topic = "arn:aws:sns:eu-central-1:111122223333:pages"
    made = make(f"{TWO}[alarms]\ntopic = '{topic}'\n")
    assert made.json["Outputs"]["AlarmTopic"]["Value"] == topic


def test_the_functions_run_in_the_vpc_that_is_named(make: Make) -> None:
    vpc = 'vpc = "vpc-0123456789abcdef0"\nsubnets = ["subnet-0123456789abcdef0"]\n'
    own = "[notify_nsq.own]\nnsqd_address = 'nsq:4150'\ntopic = 't'\n[notify_nsq.own.deploy]\n"
    made = make(TWO + vpc + own + vpc)
    groups = made.of_type("AWS::EC2::SecurityGroup")
    for name in ("dynamic-redis", "dynamic-webhook", "nsq-own"):
        config = made.function(f"Bucketcast-{name}")["VpcConfig"]
        assert config["SubnetIds"] == ["subnet-0123456789abcdef0"]
        ((group, _),) = [each["Fn::GetAtt"] for each in config["SecurityGroupIds"]]
        assert group in groups
    for owner in ("DynamicTargetsredis", "DynamicTargetswebhook", "Targetnsqown"):
        assert made.allowing(owner, "ec2:CreateNetworkInterface")
    assert "VpcConfig" not in made.function("Bucketcast-ingest")
    named = make(TWO + vpc + 'security_groups = ["sg-0123456789abcdef0"]\n')
    assert not named.of_type("AWS::EC2::SecurityGroup")


def test_topics_of_a_kind_share_a_queue_that_is_read_by_more_at_once(two: Synthesised) -> None:
    named = {each.get("QueueName"): each for each in two.properties_of("AWS::SQS::Queue")}
    shared = named["Bucketcast-dynamic-webhook-once"]
    assert (shared["VisibilityTimeout"], shared["MessageRetentionPeriod"]) == (360, 172_800)
    assert "RedrivePolicy" not in shared
    assert "Bucketcast-dynamic-redis-once" not in named, "no topic goes there"
    (read,) = readers(two, "webhook")
    assert read["ScalingConfig"] == {"MaximumConcurrency": 20}


def test_no_more_read_the_shared_queue_at_once_than_lambda_takes(make: Make) -> None:
    made = make("[dynamic_targets]\nkinds = 'webhook'\nmax_concurrency = 300\n")
    (read,) = readers(made, "webhook")
    assert read["ScalingConfig"] == {"MaximumConcurrency": 1_000}


def test_output_has_the_settings_to_create_targets(two: Synthesised) -> None:
    (output,) = [
        each for name, each in two.json["Outputs"].items() if name.startswith("DynamicTargets")
    ]
    text = output["Value"]["Fn::Join"][1]
    parsed = json.loads("".join(part if isinstance(part, str) else "X" for part in text))
    assert parsed["functions"] == {
        "redis": "Bucketcast-dynamic-redis",
        "webhook": "Bucketcast-dynamic-webhook",
    }
    assert (parsed["timeout"], parsed["visibility"], parsed["max_concurrency"]) == (60, 90, 5)
    assert parsed["prefix"] == "Bucketcast-dynamic-"
    assert parsed["queue_end"] == ""
    assert (parsed["local"], parsed["tls_skip_verify"]) == (False, False)
    assert (parsed["topics_per_user"], parsed["topics_in_cleartext"]) == (7, True)
