"""One target of each kind as MinIO users have it in a line of an export."""

EXPORTED = {
    "amqp": (
        "url=amqp://myuser:mypass@localhost:5672 exchange=bucketevents exchange_type=fanout"
        " routing_key=bucketlogs mandatory=on durable=on no_wait=off internal=off auto_deleted=on"
        " delivery_mode=2 publisher_confirms=on queue_limit=0 queue_dir="
    ),
    "elasticsearch": (
        "url=http://elastic:MagicWord@127.0.0.1:9200 format=access index=minio_events queue_dir="
        " queue_limit=0 username= password="
    ),
    "kafka": (
        "topic=bucketevents brokers=localhost:9092,localhost:9093 sasl_username=kafka"
        ' sasl_password="kafka pass" sasl_mechanism=sha512 client_tls_cert= client_tls_key='
        " tls_client_auth=0 sasl=on tls=on tls_skip_verify=on queue_limit=0 queue_dir="
        " version=2.2.0 batch_size=0 batch_commit_timeout=0s"
    ),
    "mqtt": (
        "broker=tcp://localhost:1883 topic=minio password=mqtt-pass username=u qos=1"
        " keep_alive_interval=10s reconnect_interval=1m0s queue_dir= queue_limit=0"
    ),
    "mysql": (
        'format=access dsn_string="root:my pass@tcp(172.17.0.1:3306)/miniodb" table=minio_images'
        " queue_dir= queue_limit=0 max_open_connections=5"
    ),
    "nats": (
        "address=0.0.0.0:4222 subject=bucketevents username=yourusername password=yoursecret"
        " token= tls=off tls_skip_verify=off cert_authority= client_cert= client_key="
        " ping_interval=0 jetstream=on streaming=off streaming_async=off"
        " streaming_max_pub_acks_in_flight=0 streaming_cluster_id= queue_dir= queue_limit=0"
    ),
    "nsq": "nsqd_address=127.0.0.1:4150 topic=minio tls=on tls_skip_verify=on queue_dir=",
    "postgres": (
        'format=access connection_string="host=localhost port=5432 dbname=minio_events'
        ' user=postgres password=password sslmode=disable" table=bucketevents queue_dir='
        " queue_limit=0 max_open_connections=2"
    ),
    "redis": (
        "format=access address=127.0.0.1:6379 key=bucketevents password=yoursecret user=me"
        " queue_dir= queue_limit=0"
    ),
    "webhook": (
        'endpoint=http://localhost:3000 auth_token="Basic YWxpY2U6" queue_limit=0 queue_dir='
        " client_cert= client_key="
    ),
}
