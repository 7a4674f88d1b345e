"""`POST /`: authenticated calls about topics; all other calls of the path are S3's."""

from starlette.types import ASGIApp, Scope

from bucketcast.control.authentication import LARGEST_FORM, Authenticator
from bucketcast.control.signature.claims import UNSIGNED
from bucketcast.control.sns import responses
from bucketcast.control.sns.actions import Actions
from bucketcast.control.sns.form import Form
from bucketcast.control.topic_api import IsSecure, Refusal, TopicApi, TopicCall
from bucketcast.control.user_topics import UserTopics
from bucketcast.topics.errors import TopicError


class Sns(TopicApi):
    """Answers topic calls; all others go to `others`."""

    services = ("sns", "s3")
    media_type = "application/xml"
    max_bytes = LARGEST_FORM

    def __init__(
        self, gate: Authenticator, is_secure: IsSecure, others: ASGIApp, topics: UserTopics
    ) -> None:
        super().__init__(gate, is_secure, others)
        self._actions = Actions(topics)

    def is_own(self, scope: Scope) -> bool:
        """Return whether it is a POST without a bucket, which S3 does not have."""
        if scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self.gate.read(scope).bucket

    def run(self, call: TopicCall) -> bytes:
        return self._actions(call, _form(call))

    def refused(self, what: Refusal) -> bytes:
        return responses.refused(what)


def _form(call: TopicCall) -> Form:
    """Return the form from query and body; a presigned call's body is unsigned, so not used."""
    request, body = call.request, call.body.strip()
    is_signed = call.admitted.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in request.params and not is_signed:
        raise TopicError("AccessDenied", "a presigned call signs no form: say all in the URL")
    return Form.parse(b"&".join(filter(None, (request.query.encode("latin-1"), body))))
