"""The configuration: all problems are reported at once, each with its hint."""

from pathlib import Path

import msgspec
import pytest

from bucketcast.config import load
from bucketcast.config.function import Deploy
from bucketcast.errors import ConfigErrors
from bucketcast.settings import options
from bucketcast.settings.environment import ObjectFacts
from tests.unit.config.folder import HIDDEN, HOOK, Folder


def test_every_setting_of_a_file(folder: Folder) -> None:
    deployment = folder.load(
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
    assert deployment.sync_events
    assert {name: (bucket.create, bucket.via) for name, bucket in deployment.buckets.items()} == {
        "uploads": (True, "sqs"),
        "photos": (False, "eventbridge"),
    }
    redis, webhook = deployment.targets
    assert str(webhook.arn) == "arn:minio:sqs::primary:webhook"
    assert webhook.settings == {
        "endpoint": "https://example.org/hook",
        "auth_token": "secret:webhook-primary#token",
    }
    assert webhook.secret_names == {"webhook-primary"}
    assert webhook.plain_secrets == {}
    deploy = webhook.deploy
    assert (deploy.profile, deploy.memory, deploy.timeout) == ("throughput", 1_024, 120)
    assert (deploy.subnets, deploy.security_groups) == (("subnet-1", "subnet-2"), ("sg-1", "sg-2"))
    wants = {"arn:minio:sqs::primary:webhook": ("metadata", "tags")}
    mirrors = frozenset({"arn:minio:sqs::_:redis"})
    topics = ("metadata", "tags")
    assert deployment.facts == ObjectFacts(frozenset({"uploads", "photos"}), wants, mirrors, topics)
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
    deployment = folder.load(f"object_facts = 'on'\n{table}")
    assert deployment.facts.mirrors == ({"arn:minio:sqs::m:redis"} if mirrors else set())
    text = deployment.facts.to_text()
    assert msgspec.json.decode(text, type=ObjectFacts) == deployment.facts
    assert folder.load(table).facts == ObjectFacts()


def test_topics_want_facts_where_objects_may_be_read(folder: Folder) -> None:
    assert folder.load(HOOK).facts.topics == ()
    assert folder.load(f"object_facts = 'all'\n{HOOK}").facts.topics == ("metadata", "tags")
    off = "[topics]\nfacts = 'off'\n"
    assert folder.load(f"object_facts = 'all'\n{HOOK}{off}").facts.topics == ()


def test_empty_configuration_is_valid(folder: Folder) -> None:
    empty = folder.load("")
    assert empty == load({}, {}, local=False)
    assert (empty.sync_events, empty.buckets, empty.targets) == (False, {}, ())
    assert (empty.alarms, empty.pipeline) == (None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("notify_webhok = 1", "notify_webhok: unknown key; did you mean 'notify_webhook'? allowed"),
        ("bucket = 'uploads'", "bucket: found 'uploads'; a table such as [bucket.NAME]"),
        ("[bucket]\nuploads = 'on'", "bucket.uploads: found 'on'; a table [bucket.uploads]"),
        ("[bucket.Uploads]", "bucket.Uploads: invalid bucket name; 3 to 63 of a-z, 0-9, '.' and"),
        ("[source.s3]\nx = 1", "source.s3: unknown key; allowed are accounts, topics"),
        ("[bucket.uploads]\nx = 1.5", "bucket.uploads.x: unknown key; allowed are "),
        # What S3 cannot narrow.
        (
            "[bucket.uploads]\nevents = ['get']",
            "bucket.uploads.events: found 'get'; allowed is what S3 notifies of",
        ),
        (
            "[bucket.uploads]\nprefix = 'in/'\nvia = 'eventbridge'",
            "bucket.uploads.via: found events, prefix or",
        ),
        # Where events come from, and what is needed beside a table.
        ("[source]\naccounts = ['4444']", "source.accounts: found '4444'; allowed is an account"),
        ("[source]\ntopics = ['uploads']", "source.topics: found 'uploads'; allowed is the"),
        ("[source]\ntopic = 'x'", "source.topic: unknown key; did you mean 'topics'?"),
        ("[scan.uploads]\nschedule = 'rate(1 day)'", "scan.uploads: found without the jobs"),
        ("kms_key = 'secret:x'", "kms_key: found 'secret:x'; no reference to a secret"),
        ("[notify_webhook.primary]", "notify_webhook.primary.endpoint: missing; a url is needed"),
        (
            HOOK.replace("primary", "'a b'"),
            "notify_webhook.a b: found the id 'a b'; 1 to 32 of A-Z",
        ),
        (
            HOOK + "[topics]\nfacts = 'on'",
            'topics.facts: found beside object_facts = "off"; set object_facts = "on" at the top',
        ),
        ("[gateway]\nlisten_concurrency = 1", "gateway.listen_concurrency: found 1; it needs"),
        (
            "[gateway]\nfunction_url='on'\nlisten_concurrency = 10\nlisteners_per_user = 11",
            "gateway.listeners_per_user: found 11; allowed are listen_concurrency and less",
        ),
        ("[notify_redis.r]\naddress='h'\nkey='k'\nuser='u'", "notify_redis.r.password: missing"),
    ],
)
def test_error_is_reported_with_its_hint(folder: Folder, text: str, expected: str) -> None:
    assert folder.problem(text).startswith(expected)


DEPLOY = "[notify_webhook.primary.deploy]"


@pytest.mark.parametrize(
    ("more", "facts", "expected"),
    [
        ("timeout = 1.5", "off", "timeout: found a number with decimals; text, a whole number"),
        ("comment = {a = 1}", "off", "comment: found a table; text, a whole number or true|false"),
        ("comment = [1]", "off", "comment: found a list of other than text; text, a whole"),
        ("facts = 'tags'", "off", 'facts: found beside object_facts = "off"; set object_facts'),
        ("facts = 'tags,size'", "on", "facts: found 'size'; allowed is one of metadata, tags"),
        ("facts = 'secret:a'", "on", "facts: found a reference to a secret; allowed is the text"),
        (
            f"timeout = '40s'\n{DEPLOY}\ntimeout = '60s'",
            "off",
            "deploy.timeout: found 60s; allowed is 85s or more, the longest that one batch to",
        ),
        (f"{DEPLOY}\nsubnets = ['a']", "off", "deploy.vpc: missing; a function in a VPC needs it"),
    ],
)
def test_an_error_of_a_target_names_its_table(
    folder: Folder, more: str, facts: str, expected: str
) -> None:
    problem = folder.problem(f"object_facts = '{facts}'\n{HOOK}{more}")
    assert problem.startswith(f"notify_webhook.primary.{expected}")


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
    assert folder.problem(f"[notify_webhook]\n{key} = '{HIDDEN}'") == (
        f"notify_webhook.{key}: found outside a target's table; put a target's keys into a "
        "table [notify_webhook.ID], with an id of yours"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.toml", "nowhere.toml: no such file or directory; the path of a"),
        (".", "is a directory; the path of a bucketcast.toml"),
        ("binary.toml", "a TOML file in UTF-8"),
    ],
)
def test_a_path_of_no_file_in_utf_8_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigErrors, match=said):
        load(tmp_path / name, {}, local=True)


@pytest.mark.parametrize("text", ["[bucket.uploads", "a = ", "a = 1\na = 2", "[a]\n[a]"])
def test_invalid_toml_is_reported_with_its_line(folder: Folder, text: str) -> None:
    problem = folder.problem(text)
    assert "bucketcast.toml: invalid TOML: " in problem
    assert problem.endswith("; a TOML file in UTF-8")
    assert "(at " in problem


@pytest.mark.parametrize(
    ("tables", "reserved"),
    [
        ("", 0),
        ("[gateway]\nlisten_concurrency = 0\n", 0),
        ('[gateway]\nfunction_url = "on"\n', 5),
        ("[ingest]\nreserved_concurrency = 20\n", 20),
        ('[gateway]\nfunction_url = "on"\nreserved_concurrency = 0\nlisten_concurrency = 9\n', 9),
    ],
)
def test_what_is_reserved_is_the_sum_of_what_is_on(
    folder: Folder, tables: str, reserved: int
) -> None:
    config = folder.load(tables)
    assert config.ingest.reserved_concurrency + config.gateway.reserved == reserved


@pytest.mark.parametrize("pattern", ["*logs", "#users", "a*b", "Uploads"])
def test_buckets_of_the_gateway_are_names_or_beginnings(folder: Folder, pattern: str) -> None:
    assert folder.problem(f'[gateway]\nbuckets = "{pattern}"\n').startswith("gateway.buckets")


def test_error_at_the_top_adds_no_error_about_facts(folder: Folder) -> None:
    text = f"{HOOK}facts = 'tags'\n[topics]\nfacts = 'on'"
    with pytest.raises(ConfigErrors) as problem:
        folder.load(f"object_facts = 'on'\nkms_key = 'x'\n{text}")
    assert [error.key for error in problem.value.errors] == ["kms_key"]
