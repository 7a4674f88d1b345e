"""What becomes of an event by what the broker answers: the reason codes of MQTT 5.

Those of a CONNACK in MQTT 3 have the same meanings, see `protocol.decode_connack`. `401` and `403`
are answers to a websocket.
"""

from bucketcast.targets.base.answers import Answers, Verdict, of_connections

_LOGIN = "see username and password, and whether the broker lets this user in with this client_id"
_SCHEME = "does the broker's scheme suit its port, and does it know this version (see version)?"

ANSWERS = Answers(
    Verdict.LOGIN("0x87", f"let the user publish to the topic; at the login {_LOGIN}"),
    Verdict.LOGIN("0x86 0x8A 0x8C", _LOGIN),
    Verdict.LOGIN("401 403", "see the path of broker, and its port"),
    Verdict.SETTINGS("0x84", "set version to one that the broker knows"),
    Verdict.SETTINGS("0x85", "set client_id to a prefix that the broker accepts"),
    Verdict.SETTINGS("0x90", "set topic to one that the broker accepts"),
    Verdict.SETTINGS("0x9B", "set qos to one that the broker accepts"),
    Verdict.SETTINGS("0x9C 0x9D", "set broker to that server"),
    Verdict.HALVE("0x95", "raise the broker's largest packet"),
    Verdict.ROW("0x99", "the broker takes no such payload: see shape"),
    Verdict.SLOWER("0x89 0x96 0x97 0x9F"),
    Verdict.AWAY("0x8E", "does another client use this client_id?"),
    Verdict.AWAY("0x88 0x8B 0x8D 0x93 0x98 0xA0"),
    Verdict.AGAIN("0x80 0x81 0x82 0x83 0x8F 0x91 0x92 0x94 0x9A 0x9E 0xA1 0xA2"),
    connections=(
        Verdict.AWAY("HandshakeError", "see the path of broker, and its port"),
        Verdict.AWAY("Malformed", _SCHEME),
        *of_connections("the broker", "broker", _SCHEME),
    ),
)
