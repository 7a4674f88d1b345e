"""The REST API of Ceph's PubSub sync module: topics, notifications, and events to pull."""
