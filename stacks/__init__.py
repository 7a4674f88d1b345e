"""The infrastructure: one stack, made of one construct an idea."""
