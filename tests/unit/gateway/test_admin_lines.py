"""MinIO's lines of configuration, as `mc` sends them after the shell took the quotes away."""

import re

import pytest

from bucketcast.dynamic_targets import kvs
from bucketcast.dynamic_targets.kvs import Line, format_line, parse_line
from bucketcast.errors import ConfigErrors


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "notify_webhook:1 queue_limit=0 endpoint=http://localhost:3000 queue_dir=",
            {"queue_limit": "0", "endpoint": "http://localhost:3000", "queue_dir": ""},
        ),
        (
            "notify_webhook comment=two words endpoint=http://h",
            {"comment": "two words", "endpoint": "http://h"},
        ),
        (
            """notify_webhook:a-b comment="x=1 y=2" endpoint='http://h' """,
            {"comment": "x=1 y=2", "endpoint": "http://h"},
        ),
        (
            "notify_postgres:1 connection_string=host=h port=5432 password=x y dbname=e table=t",
            {"connection_string": "host=h port=5432 password=x y dbname=e", "table": "t"},
        ),
        (
            'notify_webhook comment="say "hi" to a=b" auth_token="\\" endpoint=x',
            {"comment": 'say "hi" to a=b', "auth_token": "\\", "endpoint": "x"},
        ),
        (
            'notify_webhook comment="never closed endpoint=http://h',
            {"comment": '"never closed', "endpoint": "http://h"},
        ),
        ("notify_redis:1", {}),
    ],
)
def test_settings_of_a_line_are_read(text: str, values: dict[str, str]) -> None:
    kind, _, id_ = text.partition(" ")[0].partition(":")
    assert parse_line(text) == Line(kind, id_, values)


@pytest.mark.parametrize("text", ["", "=x", "notify_webhook what is this", "!"])
def test_invalid_line_is_refused(text: str) -> None:
    with pytest.raises(ConfigErrors):
        parse_line(text)


def test_written_line_is_read_again() -> None:
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    values = {"endpoint": "http://h", "comment": "two \\n words", "queue_dir": "", "cert": pem}
    for id_ in ("", "1"):
        assert parse_line(format_line("notify_webhook", id_, values)) == Line(
            "notify_webhook", id_, values
        )
    assert format_line("notify_webhook", "_", {}, off=True) == '# notify_webhook enable="off"'


def test_an_open_quote_is_searched_for_its_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise 512 KB of keys would keep the gateway busy for minutes."""
    searches = []

    class Counting:
        def match(self, text: str, start: int) -> re.Match[str] | None:
            searches.append(start)
            return pattern.match(text, start)

    pattern = kvs._QUOTED
    monkeypatch.setattr(kvs, "_QUOTED", Counting())
    line = parse_line("notify_webhook:1 " + " ".join(f'k{number}="v' for number in range(1_000)))
    assert line.values["k999"] == '"v'
    assert len(searches) == 1


def test_a_quote_may_be_open_on_one_line_and_closed_on_the_next() -> None:
    line = parse_line('notify_webhook:1 a="x\nb="y" c=z')
    assert dict(line.values) == {"a": '"x', "b": "y", "c": "z"}
