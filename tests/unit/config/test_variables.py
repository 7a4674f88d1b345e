"""MinIO's variables of the environment."""

from typing import Any

import pytest

from tests.unit.config.folder import HOOK, Folder


def test_environment_overrides_the_file(folder: Folder) -> None:
    deployment = folder.load(
        HOOK + "timeout = '1s'",
        MINIO_NOTIFY_WEBHOOK_TIMEOUT_primary="2s",
        MINIO_NOTIFY_WEBHOOK_IN_FLIGHT_primary="3",
        MINIO_API_SYNC_EVENTS="on",
        UNRELATED="x",
        MINIO_NOTIFY_FAX_NUMBER="of a target that is not here",
    )
    (target,) = deployment.targets
    assert target.settings == {
        "endpoint": "https://example.org/hook",
        "timeout": "2s",
        "in_flight": "3",
    }
    assert deployment.sync_events


@pytest.mark.parametrize(
    ("variable", "id_"), [("", "_"), ("_primary", "primary"), ("_a_b-C", "a_b-C"), ("_", "_")]
)
def test_target_enabled_in_the_environment_needs_no_table(
    folder: Folder, variable: str, id_: str
) -> None:
    environ: dict[str, Any] = {
        f"MINIO_NOTIFY_WEBHOOK_ENABLE{variable}": "on",
        f"MINIO_NOTIFY_WEBHOOK_ENDPOINT{variable}": "https://example.org/hook",
    }
    (target,) = folder.load("", **environ).targets
    assert (target.kind, target.id) == ("webhook", id_)
    assert target.settings == {"endpoint": "https://example.org/hook"}


@pytest.mark.parametrize(
    ("suffix", "id_", "enable"),
    [
        ("", "_", "MINIO_NOTIFY_WEBHOOK_ENABLE"),
        ("_primary", "primary", "MINIO_NOTIFY_WEBHOOK_ENABLE_primary"),
    ],
)
def test_target_of_the_environment_must_be_enabled(
    folder: Folder, suffix: str, id_: str, enable: str
) -> None:
    environ: dict[str, Any] = {f"MINIO_NOTIFY_WEBHOOK_ENDPOINT{suffix}": "https://example.org"}
    assert folder.problem("", **environ) == (
        f"notify_webhook.{id_}: found in the environment only; a table [notify_webhook.{id_}], or "
        f"{enable}=on as in MinIO"
    )


@pytest.mark.parametrize("empty", ["", "  "])
def test_empty_variable_counts_as_unset(folder: Folder, empty: str) -> None:
    deployment = folder.load(
        HOOK,
        MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=empty,
        MINIO_NOTIFY_WEBHOOK_ENDPOINT=empty,
        MINIO_API_SYNC_EVENTS=empty,
    )
    (target,) = deployment.targets
    assert target.settings["endpoint"] == "https://example.org/hook"
    assert not deployment.sync_events


def test_unknown_variable_gets_a_suggestion(folder: Folder) -> None:
    assert folder.problem(HOOK, MINIO_NOTIFY_WEBHOOK_ENDPIONT_primary="x").startswith(
        "MINIO_NOTIFY_WEBHOOK_ENDPIONT_primary: unknown variable; did you mean "
        "'MINIO_NOTIFY_WEBHOOK_ENDPOINT'?"
    )


def test_longest_key_of_a_variable_wins(folder: Folder) -> None:
    """`QUEUE_DIR` is a key, not the key `QUEUE` of an id `DIR`; `CLIENT_KEY` is not `CLIENT`."""
    deployment = folder.load(HOOK, MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_primary="/tmp/events")  # noqa: S108
    assert [target.id for target in deployment.targets] == ["primary"]
