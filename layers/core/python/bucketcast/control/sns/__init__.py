"""The SNS API of topics, as Ceph RGW has it: `POST /` with a form, answered in XML.

`form` reads a call, `actions` does what it asks for, `replies` writes the answer, `routes` joins
them with the gate.
"""
