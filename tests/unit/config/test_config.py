"""The configuration: all problems are reported at once, each with its hint."""

import re
from pathlib import Path
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.config import Deploy, Deployment, load
from bucketcast.errors import ConfigErrors
from bucketcast.settings import options
from bucketcast.settings.environment import ObjectFacts
from bucketcast.terminal import page

HIDDEN = "hunter2"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
TABLE = (
    '[notify_postgres.db]\nconnection_string = "secret:db"\ntable = "events"\n'
    "format = 'namespace'\n"
)


class Folder:
    """Loads what is written into a folder of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, text: str, *, local: bool = False, **environ: str) -> Deployment:
        file = self.path / "bucketcast.toml"
        file.write_text(text, encoding="utf-8")
        return load(file, environ, local=local)

    def problems(self, text: str, *, local: bool = False, **environ: str) -> list[str]:
        with pytest.raises(ConfigErrors) as refused:
            self.load(text, local=local, **environ)
        assert str(refused.value) == "\n".join(map(str, refused.value.errors))
        return [str(error) for error in refused.value.errors]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_every_setting_of_a_file(folder: Folder) -> None:
    made = folder.load(
        """
        sync_events = "on"
        object_facts = "on"
        [bucket.uploads]
        [bucket.photos]
        create = "off"
        via = "eventbridge"
        [notify_webhook.primary]
        endpoint = "https://example.org/hook"
        auth_token = "secret:webhook-primary#token"
        facts = ["metadata", "tags"]
        [notify_webhook.primary.deploy]
        profile = "throughput"
        memory = 1024
        timeout = "2m"
        max_concurrency = 5
        vpc = "vpc-1"
        subnets = ["subnet-1", "subnet-2"]
        security_groups = "sg-1,sg-2"
        [notify_redis._]
        address = "localhost:6379"
        key = "events"
        """
    )
    assert made.sync_events
    assert {name: (each.create, each.via) for name, each in made.buckets.items()} == {
        "uploads": (True, "sqs"),
        "photos": (False, "eventbridge"),
    }
    redis, webhook = made.targets
    assert str(webhook.arn) == "arn:minio:sqs::primary:webhook"
    assert webhook.settings == {
        "endpoint": "https://example.org/hook",
        "auth_token": "secret:webhook-primary#token",
    }
    assert webhook.secret_names == {"webhook-primary"}
    assert webhook.plain_secrets == {}
    deploy = {
        "profile": "throughput",
        "memory": "1024",
        "timeout": "120s",
        "max_concurrency": "5",
        "vpc": "vpc-1",
        "subnets": "subnet-1,subnet-2",
        "security_groups": "sg-1,sg-2",
    }
    assert webhook.deploy == options.read(Deploy, deploy)
    assert (webhook.deploy.timeout, webhook.deploy.vpc) == (120, "vpc-1")
    wants = {"arn:minio:sqs::primary:webhook": ("metadata", "tags")}
    mirrors = frozenset({"arn:minio:sqs::_:redis"})
    topics = ("metadata", "tags")
    assert made.facts == ObjectFacts(frozenset({"uploads", "photos"}), wants, mirrors, topics)
    assert str(redis.arn) == "arn:minio:sqs::_:redis"
    assert redis.deploy == options.read(Deploy, {})
    assert (redis.deploy.timeout, redis.deploy.vpc) == (60, None)


@pytest.mark.parametrize(
    ("expected", "mirrors"),
    [("", True), ("format = 'Namespace'", True), ("format = 'access'", False)],
)
def test_mirrors_are_the_targets_with_format_namespace(
    folder: Folder, expected: str, *, mirrors: bool
) -> None:
    table = f"{HOOK}[notify_redis.m]\naddress = 'h:1'\nkey = 'k'\n{expected}\n"
    made = folder.load(f"object_facts = 'on'\n{table}")
    assert made.facts.mirrors == ({"arn:minio:sqs::m:redis"} if mirrors else set())
    assert ObjectFacts.from_text(made.facts.to_text()) == made.facts
    assert folder.load(table).facts == ObjectFacts()


def test_topics_want_all_facts_where_objects_may_be_read_unless_that_is_off(
    folder: Folder,
) -> None:
    assert folder.load(HOOK).facts.topics == ()
    assert folder.load(f"object_facts = 'all'\n{HOOK}").facts.topics == ("metadata", "tags")
    off = "[topics]\nfacts = 'off'\n"
    assert folder.load(f"object_facts = 'all'\n{HOOK}{off}").facts.topics == ()


def test_access_events_are_noted_with_their_cost(folder: Folder) -> None:
    deployment = folder.load("[bucket.uploads]\naccess_events = 'on'")
    assert deployment.buckets["uploads"].access_events
    assert "$1.00 per million" in deployment.notes[0]
    assert (deployment.trail.name, deployment.trail.bucket_events) == ("", False)


@pytest.mark.parametrize(
    "name", ["everything", "arn:aws:cloudtrail:eu-central-1:111122223333:trail/every.thing-1"]
)
def test_existing_trail_can_be_named(folder: Folder, name: str) -> None:
    deployment = folder.load(f"[trail]\nname = '{name}'\nbucket_events = 'on'")
    assert (deployment.trail.name, deployment.trail.bucket_events) == (name, True)
    assert "which the deploy does not switch on" in deployment.notes[0]


@pytest.mark.parametrize("name", ["a/b", "x", "arn:aws:s3:::everything", "arn:aws:cloudtrail:x:y"])
def test_invalid_trail_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(ConfigErrors, match=r"trail\.name: found .* or its ARN"):
        folder.load(f"[trail]\nname = '{name}'")


@pytest.mark.parametrize(("buckets", "expected"), [(55, False), (56, True)])
def test_too_many_buckets_for_a_trail_are_noted(
    folder: Folder, buckets: int, *, expected: bool
) -> None:
    text = "".join(f"[bucket.b-{one:03}]\naccess_events = 'on'\n" for one in range(buckets))
    notes = [each for each in folder.load(text).notes if "prefixes of rules may be" in each]
    assert bool(notes) == expected


CLEAR = """
[notify_webhook.a]
endpoint = "http://example.org/"
auth_token = "secret:hook"
[notify_redis.b]
address = "cache:6379"
key = "k"
[notify_postgres.c]
connection_string = "secret:db"
table = "t"
[notify_mysql.d]
dsn_string = "secret:db"
table = "t"
[notify_elasticsearch.e]
url = "http://search:9200"
index = "i"
username = "u"
password = "secret:search"
"""
SKIPPING = """
[notify_nsq.f]
nsqd_address = "nsqd:4150"
topic = "t"
tls = "on"
tls_skip_verify = "on"
"""


def test_unencrypted_transport_is_noted(folder: Folder) -> None:
    noted = {note.partition(":")[0]: note for note in folder.load(CLEAR).notes}
    assert "auth_token can be read" in noted["notify_webhook.a.endpoint"]
    assert "password can be read" in noted["notify_redis.b.tls"]
    assert "sslmode=verify-full" in noted["notify_postgres.c.connection_string"]
    assert "tls=true" in noted["notify_mysql.d.dsn_string"]
    assert "password can be read" in noted["notify_elasticsearch.e.url"]
    here = CLEAR.replace("secret:db", "u:p@tcp(127.0.0.1)/db").split("[notify_postgres")[0]
    assert not [note for note in folder.load(here, local=True).notes if "on the way" in note]


@pytest.mark.parametrize(
    "found",
    [
        '["arn:aws:kms:eu-central-1:111122223333:alias/mine"]',
        '["1234abcd-12ab-34cd-56ef-1234567890ab"]',
        "7",
    ],
)
def test_only_arns_of_keys_are_kms_keys(folder: Folder, found: str) -> None:
    (problem,) = folder.problems(f"kms_keys = {found}\n")
    assert problem.startswith("kms_keys: found ")
    assert "not an alias" in problem


def test_kms_keys_are_accepted(folder: Folder) -> None:
    keys = [
        "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        "arn:aws-cn:kms:cn-north-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab",
    ]
    assert folder.load(f"kms_keys = {keys}\n").kms_keys == tuple(keys)


def test_a_webhook_that_writes_into_a_bucket_is_noted(folder: Folder) -> None:
    text = '[notify_webhook.a]\nendpoint = "https://uploads.s3.eu-central-1.amazonaws.com/in"\n'
    (note,) = (note for note in folder.load(text).notes if "writes into" in note)
    assert note.startswith("endpoint: writes into the bucket uploads; ")
    assert not any("writes into" in note for note in folder.load(CLEAR).notes)


def test_encrypted_and_verified_transport_is_not_noted(folder: Folder) -> None:
    text = CLEAR.replace("http://", "https://").replace('key = "k"', 'key = "k"\ntls = "on"')
    text = text.split("[notify_postgres")[0]
    assert not [note for note in folder.load(text).notes if "on the way" in note]


def test_skipping_verification_has_to_be_confirmed(folder: Folder) -> None:
    (problem,) = folder.problems(SKIPPING)
    assert problem.startswith("notify_nsq.f.tls_skip_verify: found 'on'; set cert_authority")
    assert folder.load(SKIPPING, local=True).targets
    twice = SKIPPING + '[notify_nsq.f.deploy]\ntls_skip_verify = "on"\n'
    assert any("can read and change" in note for note in folder.load(twice).notes)


def test_empty_configuration_is_valid(folder: Folder) -> None:
    nothing = folder.load("")
    assert nothing == load({}, {}, local=False)
    assert (nothing.sync_events, nothing.buckets, nothing.targets) == (False, {}, ())
    assert (nothing.alarms, nothing.pipeline) == (None, None)


def test_arn_of_postgres_ends_in_minios_name(folder: Folder) -> None:
    (target,) = folder.load(TABLE).targets
    assert (target.kind, str(target.arn)) == ("postgres", "arn:minio:sqs::db:postgresql")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'sync_event = "on"',
            "sync_event: unknown key; did you mean 'sync_events'? allowed are alarms, ",
        ),
        ('object_facts = "some"', "object_facts: found 'some'; allowed is one of off, on, all"),
        ("sync_events = 1", "sync_events: found '1'; allowed is on or off"),
        (
            "[notify_webhok.a]\nendpoint='https://example.org'",
            "notify_webhok: unknown key; did you mean 'notify_webhook'? allowed are alarms, bucket",
        ),
        ("bucket = 'uploads'", "bucket: found 'uploads'; a table such as [bucket.NAME]"),
        ("[bucket]\nuploads = 'on'", "bucket.uploads: found 'on'; a table [bucket.uploads]"),
        (
            "[bucket.Uploads]",
            "bucket.Uploads: invalid bucket name; 3 to 63 of a-z, 0-9, '.' and '-'",
        ),
        ("[bucket.up]", "bucket.up: invalid bucket name"),
        (
            "[bucket.uploads]\nvia = 'sns'",
            "bucket.uploads.via: found 'sns'; allowed is one of sqs, eventbridge (did you",
        ),
        ("kms_key = 'secret:x'", "kms_key: found 'secret:x'; no reference to a secret"),
        (
            f"{HOOK}[notify_webhook.primary.deploy]\ntls_skip_verify = 'secret:x'",
            "notify_webhook.primary.deploy.tls_skip_verify: found 'secret:x'; no reference",
        ),
        ("notify_webhook = 1", "notify_webhook: found 1; a table such as [notify_webhook.NAME]"),
        (
            "[notify_webhook.primary]",
            "notify_webhook.primary.endpoint: missing; a url is needed, for example http://",
        ),
        (
            "[notify_webhook.primary]\nendpoint = ''",
            "notify_webhook.primary.endpoint: missing; a url is needed",
        ),
        (
            HOOK + "endpiont = 'x'",
            "notify_webhook.primary.endpiont: unknown key; did you mean 'endpoint'? allowed are",
        ),
        (
            HOOK + "timeout = 1.5",
            "notify_webhook.primary.timeout: found a number with decimals; text, a whole number",
        ),
        (
            HOOK + "comment = {a = 1}",
            "notify_webhook.primary.comment: found a table; text, a whole number or true|false",
        ),
        (
            HOOK + "comment = [1]",
            "notify_webhook.primary.comment: found a list of other than text; text, a whole",
        ),
        (
            HOOK + "enable = 'maybe'",
            "notify_webhook.primary.enable: found 'maybe'; allowed is on or off",
        ),
        (
            "[notify_webhook.'a b']\nendpoint = 'https://example.org'",
            "notify_webhook.a b: found the id 'a b'; 1 to 32 of A-Z, a-z, 0-9, '_' and '-'",
        ),
        (
            f"[notify_webhook.{'a' * 33}]\nendpoint = 'https://example.org'",
            "found the id 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; 1 to 32 of",
        ),
        (
            HOOK + "[notify_webhook.primary.deploy]\nmemory = 127",
            "notify_webhook.primary.deploy.memory: found '127'; allowed is 128 to 10240",
        ),
        (
            HOOK + "timeout = '40s'\n[notify_webhook.primary.deploy]\ntimeout = '60s'",
            (
                "notify_webhook.primary.deploy.timeout: found 60s; allowed is 85s or more, the "
                "longest that one batch to this target may take"
            ),
        ),
        (
            HOOK + "[notify_webhook.primary.deploy]\ntimeout = '16m'",
            "notify_webhook.primary.deploy.timeout: found '16m'; allowed is 1s to 15m",
        ),
        (
            HOOK + "[notify_webhook.primary.deploy]\nmax_concurrency = 1",
            "notify_webhook.primary.deploy.max_concurrency: found '1'; allowed is 0, or 2 to 1000",
        ),
        (
            HOOK + "[notify_webhook.primary.deploy]\nprofile = 'fast'",
            "notify_webhook.primary.deploy.profile: found 'fast'; allowed is one of latency, thr",
        ),
        (
            HOOK + "facts = 'tags'",
            'notify_webhook.primary.facts: found beside object_facts = "off"; set object_facts',
        ),
        (
            "object_facts = 'on'\n" + HOOK + "facts = 'tags,size'",
            "notify_webhook.primary.facts: found 'size'; allowed is one of metadata, tags",
        ),
        (
            "object_facts = 'on'\n" + HOOK + "facts = 'secret:facts'",
            "notify_webhook.primary.facts: found a reference to a secret; allowed is the text",
        ),
        (
            HOOK + "[topics]\nfacts = 'on'",
            'topics.facts: found beside object_facts = "off"; set object_facts = "on" at the top',
        ),
        (
            HOOK + "[notify_webhook.primary.deploy]\nsubnets = ['a']",
            "notify_webhook.primary.deploy.vpc: missing; a function in a VPC needs it beside sub",
        ),
        (
            "[gateway]\nlisten_concurrency = 10",
            'gateway.listen_concurrency: found 10; it needs function_url = "on" beside it',
        ),
        (
            "[ingest]\nreserved_concurrency = 1",
            "ingest.reserved_concurrency: found '1'; allowed is 0, or 2 to 1000",
        ),
        ("[ingest]\nwindow = '1500ms'", "ingest.window: found '1500ms'; allowed is whole seconds"),
        ("[ingest]\nwindow = '301s'", "ingest.window: found '301s'; allowed is 0, or 1s to 5m"),
        (
            TABLE + "max_open_connections = 1",
            "notify_postgres.db.max_open_connections: found '1'; allowed is 0, or 2 to 1000",
        ),
        (
            "[notify_redis.r]\naddress='localhost'\nkey='k'\nuser='anna'",
            "notify_redis.r.password: missing; a user needs a password",
        ),
    ],
)
def test_error_is_reported_with_its_hint(folder: Folder, text: str, expected: str) -> None:
    (problem,) = folder.problems(text)
    assert expected in problem


def test_all_errors_are_reported_at_once_in_order(folder: Folder) -> None:
    text = "zebra = 1\nsync_events = 'maybe'\napple = 2\n[bucket.X]\n" + HOOK.replace(
        "https", "ftp"
    )
    text += "[notify_webhook.second]\nauth_token = 'plain'\n"
    text += "[notify_webhook.second.deploy]\nmemory = 1\n"
    keys = [
        problem.partition(":")[0]
        for problem in folder.problems(text, MINIO_NOTIFY_WEBHOOK_COLOR="x")
    ]
    assert keys == [
        "sync_events",
        "zebra",
        "apple",
        "bucket.X",
        "MINIO_NOTIFY_WEBHOOK_COLOR",
        "notify_webhook.primary.endpoint",
        "notify_webhook.second.auth_token",
        "notify_webhook.second.endpoint",
        "notify_webhook.second.deploy.memory",
    ]


@pytest.mark.parametrize("key", ["endpoint", "auth_token"])
def test_a_key_outside_a_target_is_reported_without_its_value(folder: Folder, key: str) -> None:
    (problem,) = folder.problems(f"[notify_webhook]\n{key} = '{HIDDEN}'")
    assert problem == (
        f"notify_webhook.{key}: found outside a target's table; put a target's keys into a "
        "table [notify_webhook.ID], with an id of yours"
    )


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigErrors, match=r"nowhere.toml: no such file or directory; the path of a"
    ):
        load(tmp_path / "nowhere.toml", {}, local=True)


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"is a directory; the path of a bucketcast.toml"):
        load(tmp_path, {}, local=True)


@pytest.mark.parametrize("text", ["[bucket.uploads", "a = ", "a = 1\na = 2", "[a]\n[a]"])
def test_invalid_toml_is_reported_with_its_line(folder: Folder, text: str) -> None:
    (problem,) = folder.problems(text)
    assert "bucketcast.toml: invalid TOML: " in problem
    assert problem.endswith("; a TOML file in UTF-8")
    assert "(at " in problem


def test_file_that_is_not_utf_8_is_refused(folder: Folder) -> None:
    file = folder.path / "bucketcast.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigErrors, match="a TOML file in UTF-8"):
        load(file, {}, local=True)


# The environment


def test_environment_overrides_the_file(folder: Folder) -> None:
    made = folder.load(
        HOOK + "timeout = '1s'",
        MINIO_NOTIFY_WEBHOOK_TIMEOUT_primary="2s",
        MINIO_NOTIFY_WEBHOOK_IN_FLIGHT_primary="3",
        MINIO_API_SYNC_EVENTS="on",
        UNRELATED="x",
        MINIO_NOTIFY_FAX_NUMBER="of a target that is not here",
    )
    (target,) = made.targets
    assert target.settings == {
        "endpoint": "https://example.org/hook",
        "timeout": "2s",
        "in_flight": "3",
    }
    assert made.sync_events


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
    (problem,) = folder.problems("", **environ)
    assert problem == (
        f"notify_webhook.{id_}: found in the environment only; a table [notify_webhook.{id_}], or "
        f"{enable}=on as in MinIO"
    )


@pytest.mark.parametrize("off", ["off", "OFF", "false", "0", "disabled"])
def test_disabled_target_is_deployed_and_its_events_wait(folder: Folder, off: str) -> None:
    for made in (
        folder.load(HOOK + f"enable = '{off}'"),
        folder.load(HOOK, MINIO_NOTIFY_WEBHOOK_ENABLE_primary=off),
    ):
        (target,) = made.targets
        assert not target.enabled
        assert "enable" not in target.settings
        expected = "notify_webhook.primary is off: its events are queued, for 14 days"
        assert expected in made.notes


@pytest.mark.parametrize(
    "table",
    [
        "[notify_webhook.a]\nenable = 'off'\nendpoint = '?'",
        "[notify_webhook.a]\nenable = 'off'",
        HOOK.replace("primary", "a") + "enable = 'off'\nauth_token = 'plain'",
    ],
)
def test_disabled_and_invalid_target_is_skipped(folder: Folder, table: str) -> None:
    """MinIO's own configuration lists such targets, which were never filled in."""
    made = folder.load(table)
    assert made.targets == ()
    assert made.notes[0].startswith(
        "notify_webhook.a is off and skipped as invalid: notify_webhook.a."
    )
    assert "plain'" not in made.notes[0]


def test_log_retention_is_a_step_of_cloudwatch(folder: Folder) -> None:
    assert folder.load("").log_retention_days == 30
    assert folder.load("log_retention_days = 90").log_retention_days == 90
    for wrong, value in (("31", "'31'"), ("0", "'0'"), ("true", "'on'")):
        (found,) = folder.problems(f"log_retention_days = {wrong}")
        assert found.startswith(f"log_retention_days: found {value}; allowed is one of 1, 3, 5,")


def test_trail_with_foreign_selectors_needs_a_name(folder: Folder) -> None:
    (found,) = folder.problems("[trail]\nmanage_selectors = 'off'")
    assert found.startswith("trail.manage_selectors: found 'off'; allowed is off with a name only")
    name = "arn:aws:cloudtrail:eu-west-1:444455556666:trail/everybody"
    on = f"[bucket.uploads]\naccess_events = 'on'\n[trail]\nname = '{name}'\n"
    assert folder.load(on).trail.manage_selectors
    made = folder.load(f"{on}manage_selectors = 'off'", local=False)
    assert not made.trail.manage_selectors
    (note,) = [each for each in made.notes if each.startswith("trail.")]
    assert note.startswith("trail.manage_selectors: uploads: events of GetObject, ")


def test_kms_key_is_one_arn(folder: Folder) -> None:
    key = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    assert folder.load("").kms_key == ""
    assert folder.load(f"kms_key = '{key}'").kms_key == key
    for wrong in ("'alias/mine'", "['a']", "1"):
        (found,) = folder.problems(f"kms_key = {wrong}")
        assert found.startswith("kms_key: found ")
        assert found.endswith(
            "allowed is a key's ARN, arn:aws:kms:REGION:ACCOUNT:key/ID, not an alias"
        )


def test_other_sources_are_read(folder: Folder) -> None:
    topic = "arn:aws:sns:eu-west-1:444455556666:uploads"
    text = f"[source.s3]\naccounts = ['444455556666']\n[source.sns]\ntopics = ['{topic}']"
    found = folder.load(f"{text}\n[source.eventbridge]\naccounts = '777788889999'").source
    assert (found.s3.accounts, found.sns.topics) == (("444455556666",), (topic,))
    assert found.eventbridge.accounts == ("777788889999",)
    nothing = folder.load("").source
    assert (nothing.s3.accounts, nothing.sns.topics, nothing.eventbridge.accounts) == ((), (), ())


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            "[source.s3]\naccounts = ['4444']",
            "source.s3.accounts: found '4444'; allowed is an account",
        ),
        (
            "[source.eventbridge]\naccounts = 'us'",
            "source.eventbridge.accounts: found 'us'; allowed is an account's id of 12 digits",
        ),
        (
            "[source.sns]\ntopics = ['uploads']",
            "source.sns.topics: found 'uploads'; allowed is the",
        ),
        (
            "[source.sns]\ntopics = ['arn:aws:sns:eu-west-1:444455556666:up.fifo']",
            "source.sns.topics: found 'arn:aws:sns:eu-west-1:444455556666:up.fifo'; allowed is",
        ),
        ("[source.sqs]\nqueues = ['x']", "source.sqs: unknown key; did you mean 'sns'?"),
    ],
)
def test_invalid_account_or_topic_is_refused(folder: Folder, table: str, problem: str) -> None:
    (found,) = folder.problems(table)
    assert found.startswith(problem)


def test_discarded_targets_must_be_removed_ones(folder: Folder) -> None:
    gone, kept = "arn:minio:sqs::old:webhook", "arn:minio:sqs::primary:webhook"
    assert folder.load(HOOK).removed.discard == ()
    assert folder.load(f"{HOOK}[removed]\ndiscard = ['{gone}']").removed.discard == (gone,)
    (problem,) = folder.problems(f"{HOOK}[removed]\ndiscard = ['{kept}']")
    assert problem == (
        f"removed.discard: found '{kept}', which is configured; only removed targets"
    )
    (problem,) = folder.problems("[removed]\ndiscard = 'webhook'")
    assert problem.startswith("removed.discard: found 'webhook'; the ARN of a target: ")


@pytest.mark.parametrize("on", ["'on'", "'true'", "true", "1", "'enabled'"])
def test_enable_accepts_minios_values(folder: Folder, on: str) -> None:
    (target,) = folder.load(HOOK + f"enable = {on}").targets
    assert "enable" not in target.settings


@pytest.mark.parametrize("empty", ["", "  "])
def test_empty_variable_counts_as_unset(folder: Folder, empty: str) -> None:
    made = folder.load(
        HOOK,
        MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=empty,
        MINIO_NOTIFY_WEBHOOK_ENDPOINT=empty,
        MINIO_API_SYNC_EVENTS=empty,
    )
    (target,) = made.targets
    assert target.settings["endpoint"] == "https://example.org/hook"
    assert not made.sync_events


def test_unknown_variable_gets_a_suggestion(folder: Folder) -> None:
    (problem,) = folder.problems(HOOK, MINIO_NOTIFY_WEBHOOK_ENDPIONT_primary="x")
    assert problem.startswith(
        "MINIO_NOTIFY_WEBHOOK_ENDPIONT_primary: unknown variable; did you mean "
        "'MINIO_NOTIFY_WEBHOOK_ENDPOINT'?"
    )


def test_longest_key_of_a_variable_wins(folder: Folder) -> None:
    """`QUEUE_DIR` is a key, not the key `QUEUE` of an id `DIR`; `CLIENT_KEY` is not `CLIENT`."""
    made = folder.load(HOOK, MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_primary="/tmp/events")  # noqa: S108
    assert [target.id for target in made.targets] == ["primary"]


# Secrets


def test_plain_secret_is_refused_unless_the_deploy_is_local(folder: Folder) -> None:
    (problem,) = folder.problems(HOOK + f"auth_token = '{HIDDEN}'")
    assert problem == (
        "notify_webhook.primary.auth_token: found plain text; secret:NAME of a secret in Secrets "
        "Manager; plain text is for a local deploy only"
    )


def test_plain_secret_of_a_local_deploy_is_validated(folder: Folder) -> None:
    table = f"[notify_mysql.a]\ndsn_string = 'u:{HIDDEN}@tcp(h:3306'\ntable = 't'"
    (problem,) = folder.problems(table, local=True)
    assert problem.startswith("notify_mysql.a.dsn_string: found ***; allowed is user:password@tcp(")
    assert HIDDEN not in problem


def test_plain_secret_of_a_local_deploy_becomes_a_reference(folder: Folder) -> None:
    made = folder.load(HOOK + f"auth_token = '{HIDDEN}'", local=True)
    (target,) = made.targets
    name = "bucketcast/webhook-primary/auth_token"
    assert target.settings["auth_token"] == f"secret:{name}"
    assert target.plain_secrets == {name: HIDDEN}
    assert target.secret_names == {name}
    assert HIDDEN not in repr(made)


@pytest.mark.parametrize(
    "text",
    [
        HOOK + f"auth_tokn = '{HIDDEN}'",
        HOOK + f"auth_token = ['{HIDDEN}', 1]",
        HOOK + f"auth_token = {{a = '{HIDDEN}'}}",
        f"[notify_webhook.a]\nendpoint = 'https://u:{HIDDEN}@example.org'",
        f"[notify_webhook.a]\nendpoint = 'u:{HIDDEN}@example.org'",
        HOOK + f"client_cert = 'secret:c'\nclient_key = '{HIDDEN}'",
        f"[notify_redis.a]\naddress = 'u:{HIDDEN}@localhost'\nkey = 'k'",
    ],
)
@pytest.mark.parametrize("local", [False, True])
def test_errors_show_no_secret(folder: Folder, text: str, *, local: bool) -> None:
    assert HIDDEN not in "".join(folder.problems(text, local=local))


def test_pem_is_read_from_its_file_beside_the_configuration(folder: Folder) -> None:
    (folder.path / "tls").mkdir()
    (folder.path / "tls" / "ca.pem").write_text(CERTIFICATE)
    (folder.path / "tls" / "key.pem").write_text(KEY)
    more = f"client_cert = '''{CERTIFICATE}'''\nclient_key = 'tls/key.pem'\n"
    text = HOOK + "cert_authority = 'tls/ca.pem'\n" + more
    (target,) = folder.load(text, local=True).targets
    name = "bucketcast/webhook-primary/client_key"
    assert target.settings["cert_authority"] == CERTIFICATE
    assert target.settings["client_cert"].strip() == CERTIFICATE.strip()
    assert target.settings["client_key"] == f"secret:{name}"
    assert target.plain_secrets == {name: KEY}
    problem = folder.problems(text)
    assert [line.partition(";")[0] for line in problem] == [
        "notify_webhook.primary.client_key: found plain text"
    ]


def test_reference_is_kept_for_every_type(folder: Folder) -> None:
    text = HOOK + "client_cert = 'secret:tls#cert'\nclient_key = 'secret:tls#key'\n"
    text += "auth_token = 'secret:token'\ntimeout = 'secret:slow'"
    (target,) = folder.load(text).targets
    assert target.secret_names == {"tls", "token", "slow"}
    assert target.settings["client_key"] == "secret:tls#key"


def test_missing_pem_file_is_refused(folder: Folder) -> None:
    (problem,) = folder.problems(HOOK + "cert_authority = 'nowhere.pem'")
    assert problem == (
        "notify_webhook.primary.cert_authority: cannot read file: No such file or directory; "
        "PEM text or its path"
    )


def test_file_without_pem_is_refused(folder: Folder) -> None:
    (folder.path / "ca.pem").write_text("hello")
    (folder.path / "ca.der").write_bytes(b"\x30\x82\xff")
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'ca.pem'")[0]
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'ca.der'")[0]
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'a\\u0000b'".replace("'", '"'))[0]


# What follows from what is said


def test_functions_leave_calls_of_the_account_free(folder: Folder) -> None:
    (target,) = folder.load(HOOK).targets
    assert target.deploy.max_concurrency == 4


def test_reserved_concurrency_of_ingest_is_noted(folder: Folder) -> None:
    made = folder.load(HOOK)
    assert made.ingest.reserved_concurrency == 20
    assert any("reserved_concurrency = 0" in note for note in made.notes)
    none = folder.load("[ingest]\nreserved_concurrency = 0\n" + HOOK)
    assert none.ingest.reserved_concurrency == 0
    assert any(note.startswith("ingest.reserved_concurrency is 0:") for note in none.notes)


@pytest.mark.parametrize(
    ("expected", "deploy", "most"),
    [
        ("", "", 2),
        ("max_open_connections = 7", "", 7),
        ("max_open_connections = 0", "", 4),
        ("max_open_connections = 7", "max_concurrency = 3", 3),
        ("max_open_connections = 7", "max_concurrency = 0", None),
        ("", "max_concurrency = 1000", 1000),
    ],
)
def test_max_open_connections_limit_the_concurrency(
    folder: Folder, expected: str, deploy: str, most: int | None
) -> None:
    (target,) = folder.load(f"{TABLE}{expected}\n[notify_postgres.db.deploy]\n{deploy}\n").targets
    assert target.deploy.max_concurrency == most


def test_minios_store_is_accepted_and_noted_once(folder: Folder) -> None:
    more = "queue_dir = '/tmp/events'\nqueue_limit = 1000\ncomment = 'first'\n"
    made = folder.load(HOOK + more + TABLE + "queue_limit = 5\n")
    for expected in (
        "queue_dir does nothing here: the target's SQS queue stores waiting events",
        "queue_limit does nothing without queue_overflow = discard: no event is discarded",
    ):
        assert made.notes.count(expected) == 1
    assert all(
        not {"queue_dir", "queue_limit", "comment"} & each.settings.keys() for each in made.targets
    )
    assert [each.queue_limit for each in made.targets] == [None, None]
    assert expected not in folder.load(HOOK + "queue_limit = 0\nqueue_dir = ''").notes


@pytest.mark.parametrize(("text", "limit"), [("", 100_000), ("queue_limit = 7\n", 7)])
def test_queue_limit_is_read(folder: Folder, text: str, limit: int) -> None:
    made = folder.load(HOOK + text + "queue_overflow = 'discard'\n")
    assert made.targets[0].queue_limit == limit
    expected = f"queue_overflow = discard: while {limit:,} messages wait, new events are discarded"
    assert expected in made.notes
    assert "queue_overflow" not in made.targets[0].settings


@pytest.mark.parametrize("kind", targets.kinds())
def test_example_of_every_page_is_valid(folder: Folder, kind: str) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", page.render(kind), re.DOTALL)
    (target,) = folder.load(example).targets
    assert (target.kind, target.id) == (kind, "primary")


AWS_PAGES = sorted((Path(__file__).parents[3] / "docs" / "aws").glob("*.md"))


@pytest.mark.parametrize("file", AWS_PAGES, ids=lambda file: str(file.stem))
def test_examples_for_aws_are_valid(folder: Folder, file: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", file.read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        assert folder.load(example).targets


def test_error_at_the_top_adds_no_error_about_facts(folder: Folder) -> None:
    text = f"{HOOK}facts = 'tags'\n[topics]\nfacts = 'on'"
    with pytest.raises(ConfigErrors) as problem:
        folder.load(f"object_facts = 'on'\nkms_key = 'x'\n{text}")
    assert [error.key for error in problem.value.errors] == ["kms_key"]
