"""The lines of `mc admin config export` and `get`, of MinIO's new and old releases."""

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.migrate import files, merge
from bucketcast.migrate.parsed import TargetId

PRIMARY = TargetId("webhook", "primary")
HIDDEN = "hunter2"


def settle(text: str) -> merge.Merged:
    return merge.merge(files.read([("export.txt", text)]))


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigErrors) as refused:
        settle(text)
    return [str(error) for error in refused.value.errors]


def test_a_target_without_a_name_is_the_default_one() -> None:
    found = settle("notify_webhook endpoint=http://h/")
    assert found.targets == {TargetId("webhook", "_"): {"endpoint": "http://h/"}}


def test_variables_override_stored_settings() -> None:
    found = settle(
        "# MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=http://new/?a=b\n"
        "# MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_primary=two words\n"
        "notify_webhook:primary endpoint=http://old/ auth_token= \n"
    )
    assert found.targets == {PRIMARY: {"endpoint": "http://new/?a=b", "auth_token": "two words"}}


def test_target_of_variables_without_enable_is_left_out_as_in_minio() -> None:
    found = settle("# MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=http://h/")
    assert found.targets == {}
    ((what, why),) = found.left_out
    assert what == "notify_webhook.primary"
    assert "MINIO_NOTIFY_WEBHOOK_ENABLE is not set for it" in why


def test_variables_of_the_server_are_left_out_by_name() -> None:
    (skipped,) = settle(f"# MINIO_ROOT_PASSWORD={HIDDEN}\n# MINIO_VOLUMES=/data").left_out
    assert skipped.what == "MINIO_ROOT_PASSWORD, MINIO_VOLUMES"
    assert HIDDEN not in str(skipped)


def test_disabled_target_is_left_out_unless_a_variable_enables_it() -> None:
    off = "# notify_webhook:primary enable=off endpoint=http://h/ \nnotify_redis enable=off key=k"
    found = settle(off)
    assert found.targets == {}
    assert ("notify_redis._, notify_webhook.primary", "switched off in MinIO") in found.left_out
    on = settle("# MINIO_NOTIFY_WEBHOOK_ENABLE_primary=on\n" + off)
    assert on.targets == {PRIMARY: {"endpoint": "http://h/"}}


def test_other_comments_are_ignored() -> None:
    found = settle(
        "# notify_webhook:mine endpoint=http://gone/\n#notes of mine: a=b\n"
        "# notify_new enable=off\n\nnotify_webhook:primary endpoint=http://h/"
    )
    assert found.targets.keys() == {PRIMARY}
    assert found.left_out == ()


def test_sub_systems_of_the_server_are_reported_as_skipped() -> None:
    names = {"site", "scanner", "audit_kafka", "of_a_later_release"}
    text = "".join(f"{name} a=b c=d\n" for name in names)
    left = {left.what for left in settle(text + "# storage_class standard=").left_out}
    assert left == names


@pytest.mark.parametrize(("expected", "on"), [("on", True), ('"on"', True), ("off", False)])
def test_sync_events_of_the_api_are_imported(expected: str, *, on: bool) -> None:
    found = settle(f"api requests_max=0 sync_events={expected} ")
    assert found.sync_events is on
    assert settle("# MINIO_API_SYNC_EVENTS=on\napi sync_events=off").sync_events
    assert found.left_out[0].what == "api except sync_events"


HOOK = "notify_webhook:a endpoint=http://h/"
HINT = "did you mean 'notify_webhook'? correct or delete the line; supported are notify_"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("notify_webhok:a endpoint=x", f"export.txt:1: unknown sub-system 'notify_webhok'; {HINT}"),
        (f"{HOOK}\nnotify_foo:bar a=b", "export.txt:2: unknown sub-system 'notify_foo'; "),
        (f"{HOOK}\nMINIO_NOTIFY_REDIS_ENABLE=on", "export.txt:2: found no sub-system"),
        (f"{HOOK}\nNotify_redis:1 key=k", "export.txt:2: found no sub-system"),
        (f"{HOOK}\nk=v", "export.txt:2: found no sub-system"),
        (f"{HOOK}\n{HOOK}", "export.txt:2: duplicate target notify_webhook.a; delete one of the"),
        (f"{HOOK}\nnotify_nats {HIDDEN} a=b", "export.txt:2: found no '='; allowed is KEY=VALUE"),
        (f"{HOOK} enable=maybe", "notify_webhook.a.enable: found 'maybe'; allowed is on or off"),
        (
            f"# MINIO_NOTIFY_WEBHOOK_ENDPONT_primary={HIDDEN}",
            "MINIO_NOTIFY_WEBHOOK_ENDPONT_primary: unknown variable; did you mean 'MINIO_NOTIFY_W",
        ),
        (
            f"# MINIO_NOTIFY_WEBHOK_ENDPOINT={HIDDEN}",
            "MINIO_NOTIFY_WEBHOK_ENDPOINT: unknown variable; ",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_and_not_shown(text: str, problem: str) -> None:
    (found,) = problems(text)
    assert found.startswith(problem)
    assert HIDDEN not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on", "on"),
        ("off", None),
        ("", None),
        ("true", None),
        ("On", None),
    ],
)
def test_switches_are_read_as_in_minio(text: str, expected: str | None) -> None:
    found = settle(f'notify_redis:a address=h:1 key=k tls="{text}"')
    assert found.targets[TargetId("redis", "a")].get("tls") == expected
    left = [left.why for left in found.left_out]
    silent = text in ("on", "off", "")
    assert left == ([] if silent else [f"'{text}': MinIO accepts only 'on' for on, so it was off"])


def test_enable_accepts_more_values() -> None:
    for word in ("on", "1", "true", "Enabled"):
        assert PRIMARY in settle(f"notify_webhook:primary enable={word} endpoint=http://h/").targets
