"""Every target's secrets can be found by the search of the fixtures."""

from tests.contract.case import SECRET_MARK, Case


def test_secrets_of_the_servers_can_be_found(server_case: Case) -> None:
    """The fixtures search all output for this mark, so every secret must contain it."""
    for settings in (server_case.server.settings(), server_case.server.wrong_password_settings()):
        secrets = [value for key, value in settings.items() if server_case.options[key].secret]
        assert any(SECRET_MARK in value for value in secrets)
        assert not any(
            SECRET_MARK in value
            for key, value in settings.items()
            if not server_case.options[key].secret
        )
