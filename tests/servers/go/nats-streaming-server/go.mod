module bucketcast.tests/nats-streaming-server

go 1.21

require github.com/nats-io/nats-streaming-server v0.25.6
