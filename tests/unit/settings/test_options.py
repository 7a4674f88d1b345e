"""Options: what each type accepts, and how it refuses the rest."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from bucketcast import targets
from bucketcast.errors import ConfigErrors
from bucketcast.settings.options import Limits, option, options_of, read, validation_errors
from bucketcast.settings.types import (
    Address,
    Csv,
    Duration,
    OnOff,
    Pem,
    Seconds,
    Secret,
    SecretPem,
    SecretSeed,
    Url,
    WholeSeconds,
    choice,
)

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n"
HIDDEN = "hunter2"
SEED = f"SU{'A' * 56}"


@dataclass(frozen=True, kw_only=True)
class Everything:
    endpoint: Url = option("an address on the web", example="https://example.org/hook")
    text: str = option("some words", default="")
    count: int = option("how many", default="10")
    host: Address = option("a server", default="localhost:6379")
    names: Csv = option("several", default="")
    pause: Duration = option("how long", default="10s")
    tls: OnOff = option("whether", default="off")
    ca: Pem = option("whom to trust", default="")
    token: Secret = option("what nobody sees", default="")
    key: SecretPem = option("what nobody sees either", default="")
    format: Literal["namespace", "access"] = option("which", default="namespace")
    limit: int = option("no limit unless given", default="")
    beat: Seconds = option("how often", default="0")
    seed: SecretSeed = option("what nobody sees of an NKEY", default="")
    since: datetime | None = option("from when on", default="")


NEEDED = {"endpoint": "https://example.org/hook"}


def value(key: str, text: str) -> Any:
    return getattr(read(Everything, NEEDED | {key: text}), key)


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("endpoint", "http://localhost:8080", "http://localhost:8080"),
        ("endpoint", "https://[2001:db8::1]/a?b=c#d", "https://[2001:db8::1]/a?b=c#d"),
        ("text", " any thing ", " any thing "),
        ("count", "0", 0),
        ("count", "007", 7),
        ("host", "localhost:6379", "localhost:6379"),
        ("host", "localhost", "localhost"),
        ("host", "[::1]:6379", "[::1]:6379"),
        ("host", "[::1]", "[::1]"),
        ("names", " a, b ,,c,", ("a", "b", "c")),
        ("since", "2026-03-14", datetime(2026, 3, 14, tzinfo=UTC)),
        ("since", "2026-03-14T09:26Z", datetime(2026, 3, 14, 9, 26, tzinfo=UTC)),
        ("since", "2026-03-14 10:26:53.589+01:00", datetime(2026, 3, 14, 9, 26, 53, 589_000, UTC)),
        ("pause", "500ms", 0.5),
        ("pause", "1m30s", 90.0),
        ("pause", "1.5h", 5400.0),
        ("pause", "250us", 0.00025),
        ("pause", "1d12h", 129_600.0),
        ("beat", "10", 10.0),
        ("beat", "1m30s", 90.0),
        ("seed", SEED, SecretSeed(SEED)),
        ("seed", f"-----BEGIN SEED-----\n{SEED}\n", SecretSeed(f"-----BEGIN SEED-----\n{SEED}\n")),
        ("tls", "ON", True),
        ("tls", "true", True),
        ("tls", "False", False),
        ("ca", KEY, KEY),
        ("token", HIDDEN, Secret(HIDDEN)),
        ("key", KEY, SecretPem(KEY)),
        ("format", "Access", "access"),
    ],
)
def test_text_is_parsed_by_its_type(key: str, text: str, found: Any) -> None:
    assert value(key, text) == found


@pytest.mark.parametrize(
    ("key", "text", "allowed"),
    [
        ("endpoint", "example.org", "an http:// or https:// URL with a host"),
        ("endpoint", "ftp://example.org", "an http:// or https:// URL with a host"),
        ("endpoint", "https://", "an http:// or https:// URL with a host"),
        ("endpoint", "https://example.org:99999", "an http:// or https:// URL with a host"),
        ("endpoint", "https://example.org:0", "an http:// or https:// URL with a host"),
        ("endpoint", "https://exa mple.org", "an http:// or https:// URL with a host"),
        ("endpoint", "https://example.org/a\nb", "an http:// or https:// URL with a host"),
        ("endpoint", "https://[::1/", "an http:// or https:// URL with a host"),
        ("count", "-1", "a whole number, 0 or more"),
        ("count", "٣", "a whole number, 0 or more"),
        ("count", "9" * 19, "a whole number, 0 or more"),
        ("host", "local host:6379", "host:port, such as localhost:6379"),
        ("host", "localhost:65536", "host:port, such as localhost:6379"),
        ("host", "::1:6379", "host:port, such as localhost:6379"),
        ("since", "yesterday", "a date or a time, in UTC unless it has an offset, such as"),
        ("pause", "10", "a duration with its unit, such as 10s, 1m30s or 500ms"),
        ("pause", "1s2", "a duration with its unit"),
        ("beat", "10 s", "a duration with its unit, such as 10s, 1m30s or 500ms, or a number of"),
        ("tls", "yes", "on or off"),
        ("ca", "MIIEvQ", "PEM text that begins with -----BEGIN"),
        ("format", "namespaces", "one of namespace, access (did you mean 'namespace'?)"),
    ],
)
def test_wrong_text_is_shown_with_what_is_allowed(key: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        value(key, text)
    (error,) = refused.value.errors
    assert (error.key, error.found) == (key, f"found {text!r}")
    assert allowed in error.allowed


def test_defaults_are_read_as_a_user_would_write_them() -> None:
    found = read(Everything, NEEDED)
    assert (found.count, found.pause, found.names, found.tls) == (10, 10.0, (), False)
    assert (found.since, found.token) == (None, Secret(""))


def test_empty_text_counts_as_unset() -> None:
    assert read(Everything, NEEDED | {"count": "", "format": ""}) == read(Everything, NEEDED)


def test_all_problems_are_reported_at_once() -> None:
    given = {"tls": "yes", "cuont": "1", "count": "x"}
    assert [str(error) for error in validation_errors(Everything, given, "notify_x.a.")] == [
        "notify_x.a.tls: found 'yes'; allowed is on or off",
        "notify_x.a.cuont: unknown key; did you mean 'count'? allowed are "
        + ", ".join(options_of(Everything)),
        "notify_x.a.count: found 'x'; allowed is a whole number, 0 or more",
        "notify_x.a.endpoint: missing; a url is needed, for example https://example.org/hook",
    ]


@pytest.mark.parametrize("key", [*options_of(Everything)])
def test_any_option_may_be_a_reference(key: str) -> None:
    found = value(key, "secret:name#field")
    if isinstance(found, Secret):
        found = found.reveal()
    assert found == "secret:name#field"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("endpoint", f"https://user:{HIDDEN}@example.org/hook"),
        ("endpoint", f"https://{HIDDEN}@example.org/hook"),
        ("endpoint", f"https://user:a/{HIDDEN}@example.org/hook"),
        ("endpoint", f"amqp://user:{HIDDEN}@example.org"),
        ("host", f"user:{HIDDEN}@localhost:6379"),
        ("key", HIDDEN),
        ("seed", f"SA{HIDDEN}"),
    ],
)
def test_error_hides_a_value_that_may_be_secret(key: str, text: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        value(key, text)
    assert HIDDEN not in str(refused.value)
    assert HIDDEN not in repr(refused.value.errors)
    assert key in str(refused.value)


@pytest.mark.parametrize("made", [Secret(HIDDEN), SecretPem(HIDDEN)])
def test_secret_is_shown_by_reveal_only(made: Secret) -> None:
    printed = [repr(made), str(made), f"{made}", f"{made!r:>30}", repr([made]), repr({"k": made})]
    printed.append(repr(read(Everything, NEEDED | {"token": HIDDEN})))
    assert not [text for text in printed if HIDDEN in text]
    assert made.reveal() == HIDDEN


@pytest.mark.parametrize(
    ("key", "text", "names_file"),
    [
        ("key", KEY, False),
        ("key", "key.pem", True),
        ("ca", "/etc/ca.pem", True),
        ("seed", SEED, False),
        ("seed", f"-----BEGIN USER NKEY SEED-----\n{SEED}", False),
        ("seed", f"keys/{SEED}", True),
        ("token", "token.txt", False),
    ],
)
def test_a_path_is_distinguished_from_file_contents(
    key: str, text: str, *, names_file: bool
) -> None:
    assert options_of(Everything)[key].names_file(text) is names_file


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_default_and_example_of_a_target_would_be_accepted(kind: str) -> None:
    for each in options_of(targets.load(kind).Settings).values():  # type: ignore[arg-type]
        assert each.help
        assert each.help[0].islower() or each.help.startswith(("TLS", "ACL"))
        for text in filter(None, (each.default, each.example)):
            each.parse(text)


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Options with limits, and with a function of their own."""

    most: int | None = option("", default="0", limits=Limits("2", "9", or_zero=True))
    wait: WholeSeconds = option("", default="1m", limits=Limits("1s", "2m"))
    words: Csv = option("", default="", parse=choice(("one", "two")))


def test_limits_are_checked_and_shown() -> None:
    assert read(Narrowed, {}) == read(Narrowed, {"most": "0", "wait": "60s"})
    assert (read(Narrowed, {}).most, read(Narrowed, {}).wait) == (None, 60)
    assert str(options_of(Narrowed)["most"].limits) == "0, or 2 to 9"
    found = validation_errors(Narrowed, {"most": "1", "wait": "3m"}, "")
    assert list(map(str, found)) == [
        "most: found '1'; allowed is 0, or 2 to 9",
        "wait: found '3m'; allowed is 1s to 2m",
    ]
    (wrong,) = validation_errors(Narrowed, {"wait": "1500ms"}, "")
    assert str(wrong) == "wait: found '1500ms'; allowed is whole seconds, such as 10s or 1m30s"


def test_each_item_of_a_list_is_read() -> None:
    assert read(Narrowed, {"words": "ONE, two"}).words == ("one", "two")
    assert read(Narrowed, {}).words == ()
    (wrong,) = validation_errors(Narrowed, {"words": "one,tow"}, "")
    assert str(wrong) == "words: found 'tow'; allowed is one of one, two (did you mean 'two'?)"
