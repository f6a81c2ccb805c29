from __future__ import annotations

import random

import pytest

from torch_debugger.log import tfrecord as crc


def slow_crc32c(data: bytes) -> int:
    """Bit by bit, as the polynomial division is defined."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_the_known_answers() -> None:
    assert crc.crc32c(b"123456789") == 0xE3069283
    assert crc.crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, appendix B.4
    assert crc.crc32c(b"\xff" * 32) == 0x62A8AB43


# around the block of 128 bytes, the 32 blocks joined at once, and the level above
@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 127, 128, 129, 300, 4095, 4096, 4097, 131_072, 140_000])
def test_every_length_agrees_with_the_definition(length: int) -> None:
    data = random.Random(length).randbytes(length)

    assert crc.crc32c(data) == slow_crc32c(data)


def test_many_payloads_of_mixed_lengths_keep_their_order() -> None:
    dice = random.Random(7)
    payloads = [dice.randbytes(dice.choice([0, 2, 80, 81, 200])) for _ in range(200)]

    assert crc.crc32c_of_each(payloads) == [slow_crc32c(payload) for payload in payloads]


def test_mask_is_that_of_event_files() -> None:
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    for data in (b"", b"a", bytes(8), b"123456789" * 100):
        assert crc.mask(crc.crc32c(data)) == masked_crc32c(data)
