"""`bucketcast doctor` on the deployed stack."""

from tests.e2e.system import System


def test_doctor_finds_nothing_wrong_with_a_healthy_system(system: System) -> None:
    ran = system.bucketcast("doctor", "--all", "--json", within=300)
    errors = [each for each in ran.document["findings"] if each["status"] == "error"]
    assert ran.code == 0, "\n".join(map(str, errors)) or ran.err
    seen = {(each["check"], each["status"]) for each in ran.document["findings"]}
    for check in ("queue", "queue-policy", "bucket"):
        assert (check, "ok") in seen
    for check in ("settings", "dns", "tcp", "tls", "login", "access"):
        assert (check, "ok") in seen
