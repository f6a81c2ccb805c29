"""Requests travel upstream, and neither end ever waits for the other."""

from __future__ import annotations

import os

from torch_debugger.log.process_channels import make_request_pipe
from torch_debugger.records import Request


def test_requests_arrive_in_order_and_once() -> None:
    reader, sender = make_request_pipe()
    first, second = Request(20, ("net.fc1", "net.äß"), "dead units"), Request(3, profile=True)
    sender.send(first)
    sender.send(second)
    assert reader.poll() == [first, second]
    assert reader.poll() == []


def test_half_a_line_waits_for_its_rest() -> None:
    reader, sender = make_request_pipe()
    os.write(sender.fd, b'{"steps": 4, "modules"')
    assert reader.poll() == []
    os.write(sender.fd, b': [], "reason": "", "profile": false}\n{"st')
    assert reader.poll() == [Request(4)]


def test_a_long_list_of_modules_becomes_a_look_at_all_of_them() -> None:
    reader, sender = make_request_pipe()
    sender.send(Request(5, tuple(f"net.layer.{n}" for n in range(500)), "many"))
    assert reader.poll() == [Request(5)]


def test_a_full_pipe_loses_requests_and_no_time() -> None:
    reader, sender = make_request_pipe()
    for _ in range(10_000):
        sender.send(Request(1, (), "again"))
    received = reader.poll()
    assert received and set(received) == {Request(1, (), "again")}


def test_an_end_that_has_gone_is_no_trouble() -> None:
    reader, sender = make_request_pipe()
    reader.close()
    sender.send(Request(1))
    assert reader.poll() == []
    reader, sender = make_request_pipe()
    sender.send(Request(1))
    sender.close()
    assert [reader.poll(), reader.poll(), reader.poll()] == [[Request(1)], [], []]
