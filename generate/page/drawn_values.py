"""What was drawn for the samples that a page shows, where it has a name and a number says it: an angle, a sign."""

from __future__ import annotations

from collections.abc import Sequence

from ...corruptions.keys import Keys, sample_keys
from ...corruptions.registry import PLUGIN, corruption_names, get_corruption
from ...corruptions.stages import Stage, chain_keys
from ...errors import CorruptsetError
from ...manifests.records.models import Manifest, SetRecord

_ANY_SHAPE = (224, 224, 3)


def drawn_values(manifest: Manifest, record: SetRecord, ids: Sequence[str]) -> dict[str, str]:
    """Return draw -> its values for samples, of a set of one stage; empty where its corruption is of another revision here."""
    (stage,) = record.stages if len(record.stages) == 1 else (None,)
    if stage is None or stage.corruption not in corruption_names():
        return {}
    declared = get_corruption(stage.corruption)
    if declared.revision != stage.revision:
        return {}
    named = Stage(stage.corruption, stage.revision, stage.severity, stage.level, stage.parameters)
    try:
        keys = Keys(chain_keys([named], manifest.seed, manifest.coupling)[0], sample_keys(ids))
    except (CorruptsetError, KeyError, TypeError, ValueError):  # parameters that a stranger made up
        return {}
    found = {}
    for draw in declared.draws if declared.family != PLUGIN else ():
        try:
            values = draw.drawn(keys, _ANY_SHAPE, stage.parameters) if draw.drawn is not None and draw.is_number else None
            if values is not None:
                draw.checked(values[0], _ANY_SHAPE, stage.parameters, declared.name)
                found[draw.name] = ", ".join(f"{value:.4g}" for value in values)
        except (CorruptsetError, KeyError, TypeError, ValueError):  # with these parameters nothing is drawn
            continue
    return found
