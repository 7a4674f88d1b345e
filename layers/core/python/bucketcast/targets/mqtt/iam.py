"""Logins by IAM to AWS IoT Core, over a websocket.

Source: "MQTT over WebSocket" with Signature Version 4 of IoT Core's documentation.
"""

from bucketcast.aws import iam_login
from bucketcast.targets.mqtt.address import Broker
from bucketcast.targets.mqtt.settings import MqttSettings


def signed_path(settings: MqttSettings, broker: Broker) -> str:
    """Return the path of the broker's URL with a query that signs it, new for each connection.

    Raises:
        NotAuthorized: it cannot be made.
    """
    region = settings.iam_parts["region"]
    return iam_login.websocket_path("iotdevicegateway", region, broker.host_header, broker.path)
