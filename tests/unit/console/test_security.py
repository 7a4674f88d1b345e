"""Who may see the pages, and what another page can do with them."""

import re

import pytest

from tests.unit.console.site import ORIGIN, PORT, TOKEN, Site

COOKIE = f"bucketcast-{PORT}"
PAUSE = "/changes/pause"


def test_the_token_becomes_a_cookie_and_leaves_the_address(site: Site) -> None:
    answer = site.get(f"/rules?bucket=a%26b&token={TOKEN}", cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/rules?bucket=a%26b")
    assert answer.headers["set-cookie"] == f"{COOKIE}={TOKEN}; HttpOnly; Path=/; SameSite=strict"


@pytest.mark.parametrize("cookie", ["", f"{COOKIE}=", f"{COOKIE}=other", "bucketcast-1=the-token"])
@pytest.mark.parametrize("address", ["/", "/?token=other", "/static/console.mjs", "/live/flow"])
def test_without_the_token_there_is_no_page(site: Site, address: str, cookie: str) -> None:
    answer = site.get(address, cookie=cookie)
    assert answer.status == 403
    assert "Open the address that `bucketcast console` printed" in answer.body
    assert "set-cookie" not in answer.headers
    assert site.get(re.findall(r'href="([^"]*)"', answer.body)[0], cookie=cookie).status == 200


def test_the_token_leads_to_no_other_host(site: Site) -> None:
    assert site.get(f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


@pytest.mark.parametrize(
    "host", ["", "evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80"]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(site: Site, host: str) -> None:
    assert site.get("/", host=host).status == 421
    assert site.get(f"/?token={TOKEN}", host=host).status == 421


def test_browsers_leave_the_port_of_http_out(site: Site) -> None:
    assert Site(site.aws, port=80).get(f"/?token={TOKEN}", host="127.0.0.1").status == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:4001"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
    ],
)
def test_a_form_of_another_page_changes_nothing(site: Site, headers: dict[str, str]) -> None:
    answer = site.request("POST", PAUSE, b"arn=webhook:primary", headers)
    assert (answer.status, "Nothing was changed" in answer.body) == (403, True)
    assert "paused since" not in site.get("/targets/webhook:primary").text


def test_a_link_from_elsewhere_opens_by_loading_itself_again(site: Site) -> None:
    """The cookie is not sent with it, but with what the page itself loads."""
    first = site.get("/rules", cookie="", sec_fetch_site="cross-site")
    assert (first.status, first.headers["refresh"]) == (403, "0")
    again = site.get("/rules", cookie="", sec_fetch_site="same-origin")
    assert "refresh" not in again.headers


@pytest.mark.parametrize("address", ["/", "/static/console.mjs", "/nowhere"])
def test_every_response_forbids_scripts_and_frames_of_others(site: Site, address: str) -> None:
    headers = site.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
