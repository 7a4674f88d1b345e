"""`bucketcast` on the deployed stack, with nothing but the env file's variables."""

from tests.e2e.system import System
from tests.servers.machine import ports

ARNS = {
    "arn:minio:sqs::bulk:webhook",
    "arn:minio:sqs::flaky:webhook",
    "arn:minio:sqs::log:postgresql",
    "arn:minio:sqs::log:redis",
    "arn:minio:sqs::mirror:postgresql",
    "arn:minio:sqs::mirror:redis",
    "arn:minio:sqs::primary:webhook",
}


def test_target_ls_shows_every_target_online(system: System) -> None:
    fares = system.fares()
    assert {each["arn"] for each in fares.values()} == ARNS
    for each in fares.values():
        assert each["online"] is True, each["why"]
        assert each["where"]
    ran = system.bucketcast("target", "ls", "--wait", "150")
    assert ran.code == 0
    heading, *lines = ran.out.splitlines()
    assert heading.split()[:3] == ["TARGET", "STATE", "WAITING"]
    online = {line.split()[0] for line in lines if line.split()[1] == "online"}
    assert online == {f"{each['kind']}:{each['id']}" for each in fares.values()}
    port = system.consumers.webhook.listeners.tls
    assert f"https://127.0.0.1:{port}/events" in {each["where"] for each in fares.values()}


def test_an_unreachable_endpoint(system: System) -> None:
    port = ports(system.elsewhere / "unused", "unused")["unused"]
    unreachable = f"http://127.0.0.1:{port}"
    ran = system.bucketcast("event", "ls", "uploads", AWS_ENDPOINT_URL=unreachable)
    assert ran.code == 3
    assert f"AWS_ENDPOINT_URL is {unreachable}" in ran.err
    assert "make up" in ran.err
    assert "Traceback" not in ran.err
