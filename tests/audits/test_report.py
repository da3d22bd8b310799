"""The texts of an audit's report: what each verdict means, and what to do about a set that does not match its name."""

from __future__ import annotations

import pytest

from corruptset.audits.records import Audit, Content, SetAudit
from corruptset.audits.table import meanings

FOG = Content("fog", 2, "imagenet")


def report_of(verdict, **fields):
    return " ".join(meanings(Audit("imagenet-c", sets={"fog/3": SetAudit("fog/3", verdict, **fields)})))


@pytest.mark.parametrize(("encoding", "compressed"), [("JPEG quality 85, 4:2:0", True), ("PNG", False)])
def test_jpeg_compression_is_mentioned_where_it_applies(encoding, compressed):
    assert ("apart from JPEG compression" in report_of("same_pixels", encoding=encoding)) == compressed


@pytest.mark.parametrize(
    ("verdict", "fields", "advice"),
    [
        ("other_order", {"found": FOG}, "Sort the images as the source does, or copy the set again."),
        ("other_images", {}, "Pass the source that it was made from, or copy the set again."),
        ("clean", {}, "Copy the set again."),
        ("other_severity", {"found": FOG}, "Rename the set, or copy it again."),
        ("inconclusive", {"candidates": (FOG,), "checked": 20, "images": 50}, "Compare more images with --samples"),
        ("inconclusive", {"checked": 50, "images": 50}, "get a copy whose origin you know."),
    ],
)
def test_sets_that_do_not_match_get_advice(verdict, fields, advice):
    text = report_of(verdict, **fields)
    assert advice in text
    assert text.endswith((".", ")."))
