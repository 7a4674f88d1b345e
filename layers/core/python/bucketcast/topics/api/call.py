"""A call about topics, and the response to one that failed."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.request import RawRequest


class Refusal(NamedTuple):
    """An error response."""

    status: HTTPStatus
    code: str
    message: str
    request_id: str


@dataclass(frozen=True, slots=True)
class TopicCall:
    """An authenticated call: its body, whether it came over HTTPS, and its request id."""

    admitted: AuthenticatedRequest
    body: bytes
    secure: bool
    request_id: str

    @property
    def user(self) -> User:
        return self.admitted.user

    @property
    def request(self) -> RawRequest:
        return self.admitted.call
