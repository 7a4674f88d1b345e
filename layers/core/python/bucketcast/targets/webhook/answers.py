"""What becomes of an event by HTTP's statuses and, where there is none, by curl's codes, to 101.

`Retry-After` stands for a 429 or 503 with that header; `closed` for a closed connection with TLS.
"""

from bucketcast.targets.base.answers import REFUSED_CERTIFICATE, Answers, Verdict, of_http

_CERTIFICATE = "if it asks for a client's certificate: see client_cert"

ANSWERS = Answers(
    *of_http("endpoint"),
    Verdict.EVENT("400 422"),
    Verdict.HALVE("413", "raise the limit there"),
    Verdict.ROW("402 404-406 409-412 414 416-418 424 426 428 431 451", "is endpoint right?"),
    Verdict.SETTINGS("415", "see shape"),
    Verdict.LOGIN("401 403 407", "see auth_token"),
    Verdict.SLOWER("Retry-After"),
    Verdict.SETTINGS("300-303 307 308", "redirects are not followed; set endpoint to {location}"),
    Verdict.AGAIN("304-306 408 421 423 425 429 500-508 510 511"),
    connections=(
        # TLS 1.3 refuses a client's certificate after the handshake, by an alert or by closing.
        Verdict.LOGIN("1-99 closed", _CERTIFICATE, *REFUSED_CERTIFICATE, "private key"),
        Verdict.LOGIN("closed 98", _CERTIFICATE),
        Verdict.AWAY("5 6", "see endpoint, and the function's VPC"),
        Verdict.AWAY("7", "see endpoint, and the function's VPC and security groups"),
        Verdict.SILENT("28", "see timeout"),
        Verdict.AWAY("60 77", "see cert_authority"),
        Verdict.AGAIN("92"),
        Verdict.AWAY("1-91 93-101"),
    ),
)
