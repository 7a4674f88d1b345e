"""The dialects in which events are sent, one module each."""
