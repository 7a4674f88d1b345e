"""Which addresses webhooks may connect to on AWS."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bucketcast.config import load
from bucketcast.dynamic_targets.validation import validate
from bucketcast.errors import ConfigErrors
from bucketcast.settings.egress import ANY, PRIVATE, Egress, is_own, parse_entry
from tests.unit.moto_aws import DYNAMIC

NEVER = (
    "169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::",
    "fe80::1%eth0", "fd00:ec2::254", "0.0.0.0", "::",  # noqa: S104 - refused
    "224.0.0.1", "ff02::1", "::7f00:1",
)  # fmt: skip
BY_NAME = (
    "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1",
    "100.64.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fd12::1", "fec0::1",
)  # fmt: skip
PUBLIC = ("8.8.8.8", "2600::1", "::ffff:8.8.8.8", "64:ff9b::808:808")


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_cannot_be_allowed(address: str) -> None:
    for egress in (Egress(), ANY, Egress(("host", *PRIVATE))):
        assert egress.refusal("host", address)


@pytest.mark.parametrize("address", BY_NAME)
def test_private_and_loopback_addresses_are_allowed_by_name(address: str) -> None:
    assert "allow_private" in Egress(("other",)).refusal("host", address)
    assert Egress(("Host.",)).refusal("hOST", address) == ""
    assert ANY.refusal("host", address) == ""


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Egress().refusal("host", address) == ""


def test_network_allows_its_addresses_in_any_notation() -> None:
    egress = Egress(("10.1.0.0/16",))
    assert egress.refusal("host", "::ffff:10.1.2.3") == ""
    assert egress.refusal("host", "10.2.0.1")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1",
        "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::ffff:7f00:1]", "127.0.0.1.",
    ],
)  # fmt: skip
def test_address_in_a_url_is_checked_in_any_notation(host: str) -> None:
    assert "loopback" in Egress().refusal_of_url(f"https://{host}:8080/hook")


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0", "0", "0x0", "00.0", "::", "::1", "::1%lo",  # noqa: S104 - it is refused
        "::ffff:0.0.0.0", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "127.1", "localhost.", "169.254.169.254", "fe80::1",
    ],
)  # fmt: skip
def test_unspecified_loopback_and_link_local_hosts_are_this_machine(host: str) -> None:
    assert is_own(host)


def test_host_name_is_not_checked_before_connecting() -> None:
    assert Egress().refusal_of_url("https://example.org/hook") == ""
    assert Egress().refusal_of_url("secret:endpoint") == ""


def test_the_variable_has_the_list() -> None:
    for egress in (Egress(), Egress(("a.internal", "10.0.0.0/8"))):
        assert Egress.from_environ({"BUCKETCAST_ALLOW_PRIVATE": egress.to_text()}) == egress
    assert Egress.from_environ({}) is None


def test_entries_without_effect_are_refused() -> None:
    good = ["10.0.0.0/8", "10.1.2.3", "fd00::/8", "::1", "Hooks.internal", "localhost"]
    bad = ["a b", "1.2.3.400", "169.254.0.0/16", "169.254.169.254", "10.0.0.1/8", "fe80::/10", ""]
    assert list(map(parse_entry, good)) == good
    for entry in bad:
        with pytest.raises(ValueError, match="link-local addresses cannot be allowed"):
            parse_entry(entry)


def notes(folder: Path, endpoint: str, deploy: str = "", *, local: bool = False) -> list[str]:
    text = f'[notify_webhook.a]\nendpoint = "{endpoint}"\n[notify_webhook.a.deploy]\n{deploy}\n'
    (folder / "b.toml").write_text(text)
    return [each for each in load(folder / "b.toml", {}, local=local).notes if "endpoint" in each]


def test_configuration_notes_that_private_endpoints_are_refused(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, "http://10.0.0.5/hook")
    assert note.startswith("notify_webhook.a.endpoint: found a host that is refused: 10.0.0.5")
    assert "allow_private in [notify_webhook.a.deploy]" in note
    in_vpc = 'vpc = "vpc-1"\nsubnets = "subnet-1"'
    for deploy in ('allow_private = ["10.0.0.0/8"]', 'allow_private = "10.0.0.5"', in_vpc):
        assert notes(tmp_path, "http://10.0.0.5/hook", deploy) == []
    assert len(notes(tmp_path, "http://127.0.0.1/hook", in_vpc)) == 1
    assert notes(tmp_path, "http://127.0.0.1/hook", local=True) == []


def test_a_link_local_endpoint_is_refused_by_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"notify_webhook\.a\.endpoint: .* link-local"):
        notes(tmp_path, "http://0xa9fea9fe/latest/meta-data", 'allow_private = "0.0.0.0/0"')


@pytest.mark.parametrize("host", ["10.0.0.5", "localhost", "0x7f.1", "169.254.169.254"])
def test_a_run_time_target_is_refused_at_once(host: str) -> None:
    settings = {"endpoint": f"http://{host}/hook"}
    with pytest.raises(
        ConfigErrors, match=r"allow_private in \[dynamic_targets\] of bucketcast.toml"
    ):
        validate(DYNAMIC, "webhook", "a", settings)
    if not host.startswith("169"):
        allowed = replace(DYNAMIC, allow_private=("10.0.0.5", "127.0.0.0/8"))
        assert validate(allowed, "webhook", "a", settings)
    assert validate(replace(DYNAMIC, local=True), "webhook", "a", settings)
