"""MinIO's options without an effect here give a note when they are set."""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import Option, options_of, read

GIVEN = {"string": "2.2.0", "number": "3", "duration": "5s", "on|off": "on"}
"""A value of each type that is not a default."""


def declared(kind: str) -> dict[str, Option]:
    settings: Any = targets.load(kind).Settings
    return dict(options_of(settings))


UNUSED = [
    (kind, key)
    for kind in targets.kinds()
    for key, option in declared(kind).items()
    if option.unused
]


def notes(kind: str, **given: str) -> list[str]:
    """What is said of the least that the kind needs, and what is given beside it."""
    least = {key: option.example for key, option in declared(kind).items() if option.required}
    target = targets.load(kind)
    return target.notes(read(target.Settings, least | given))


@pytest.mark.parametrize(("kind", "key"), UNUSED)
def test_unused_option_that_is_set_is_noted_with_the_reason(kind: str, key: str) -> None:
    option = declared(kind)[key]
    note = f"{key} does nothing here: {option.unused}"
    assert note in notes(kind, **{key: GIVEN[option.type]})
    assert note in notes(kind, **{key: "secret:somewhere"})
    assert note not in notes(kind)
    assert note not in notes(kind, **{key: option.default})
    assert option.help == f"accepted and not used: {option.unused}"


@pytest.mark.parametrize("key", ["cert_authority", "client_cert"])
def test_certificates_beside_a_plain_webhook_are_reported_as_unused(key: str) -> None:
    """Other kinds refuse them, or encrypt because of them; MinIO's users may have them here."""
    given = {key: "-----BEGIN CERTIFICATE-----"}
    if key == "client_cert":
        given["client_key"] = "-----BEGIN PRIVATE KEY-----"
    assert notes("webhook", endpoint="https://example.org/", **given) == []
    (note,) = notes("webhook", endpoint="http://example.org/", **given)
    assert note == f"{', '.join(given)}: beside an http:// endpoint they do nothing"
