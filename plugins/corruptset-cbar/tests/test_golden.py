"""Test that output bytes change only with a revision, by the digests that corruptset's tests record."""

from __future__ import annotations

import json
from pathlib import Path

import digests as golden
import pytest

RECORDED = json.loads(Path(__file__).with_name("digests.json").read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_output_bytes_match_golden_digests(name):
    assert golden.differences({name: RECORDED[name]}, golden.measure([name])) == []
