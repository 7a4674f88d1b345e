"""The table `[dynamic_targets]`: the kinds that dynamic targets may have."""

from pathlib import Path

import pytest

from bucketcast.config import load
from bucketcast.config.function import DynamicOptions
from bucketcast.errors import ConfigErrors
from bucketcast.targets import kinds


def read(folder: Path, text: str, *, local: bool = False) -> DynamicOptions:
    (folder / "b.toml").write_text(text)
    return load(folder / "b.toml", {}, local=local).dynamic_targets


@pytest.mark.parametrize(
    ("text", "local", "expected"),
    [
        ("", False, ("amqp", "kafka", "webhook")),
        ("", True, kinds()),
        ('[dynamic_targets]\nkinds = ["redis", "nats", "redis"]', True, ("nats", "redis")),
        ('[dynamic_targets]\nkinds = "off"', True, ()),
        ('[dynamic_targets]\nkinds = "all"', False, kinds()),
        ("[dynamic_targets]\nkinds = []", False, ("amqp", "kafka", "webhook")),
    ],
)
def test_kinds(tmp_path: Path, text: str, local: bool, expected: tuple[str, ...]) -> None:  # noqa: FBT001
    assert read(tmp_path, text, local=local).kinds == expected


def test_options_of_a_function_are_read(tmp_path: Path) -> None:
    text = '[dynamic_targets]\nkinds = "nsq"\nmemory = 256\ntimeout = "2m"\nmax_concurrency = 3'
    found = read(tmp_path, text)
    assert (found.kinds, found.memory, found.timeout) == (("nsq",), 256, 120)
    assert (found.max_concurrency, found.tls_skip_verify) == (3, False)
    assert read(tmp_path, text + '\ntls_skip_verify = "on"').tls_skip_verify


def test_functions_may_run_in_a_vpc(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '[dynamic_targets]\nvpc = "vpc-1"\n'
        'subnets = ["subnet-1", "subnet-2"]\nsecurity_groups = "sg-1"',
    )
    assert (found.vpc, found.subnets, found.security_groups) == (
        "vpc-1",
        ("subnet-1", "subnet-2"),
        ("sg-1",),
    )
    with pytest.raises(
        ConfigErrors, match=r"dynamic_targets\.subnets: missing; a function in a VPC needs"
    ):
        read(tmp_path, '[dynamic_targets]\nvpc = "vpc-1"')


def test_every_problem_is_reported(tmp_path: Path) -> None:
    text = (
        '[dynamic_targets]\nkinds = ["webhok", "all"]\n'
        'memory = 1\ntimeout = "1h"\nmax_concurrency = 1'
    )
    with pytest.raises(ConfigErrors) as wrong:
        read(tmp_path, text)
    refusal = str(wrong.value)
    assert "dynamic_targets.kinds: found 'webhok'; allowed is one of " in refusal
    assert "(did you mean 'webhook'?)" in refusal
    for key in ("memory: found '1';", "timeout: found '1h';", "max_concurrency: found '1';"):
        assert f"dynamic_targets.{key} allowed is" in refusal


def test_all_and_off_exclude_other_kinds(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"found webhook, all; all and off allow no other kind"):
        read(tmp_path, '[dynamic_targets]\nkinds = ["webhook", "all"]')


@pytest.mark.parametrize("entry", ["169.254.169.254", "10.0.0.1/8", "a b"])
def test_invalid_allow_private_is_refused(tmp_path: Path, entry: str) -> None:
    hook = '[notify_webhook.a]\nendpoint = "https://example.org/"\n'
    for table in ("dynamic_targets", "notify_webhook.a.deploy"):
        text = f'{hook}[{table}]\nallow_private = ["hooks.internal", "{entry}"]'
        with pytest.raises(ConfigErrors) as wrong:
            read(tmp_path, text)
        (error,) = wrong.value.errors
        assert str(error).startswith(f"{table}.allow_private: found '{entry}'; allowed is a host")
