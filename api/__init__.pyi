"""The public names, for type checkers and editors. `__init__.py` loads each name when it is first used."""

from . import errors as errors
from .audits.audit import audit as audit
from .corruptions.call import corrupt as corrupt
from .corruptions.models.surrogate import load_surrogate as load_surrogate
from .corruptions.plugins import load_plugin as load_plugin
from .corruptions.transforms import Corrupt as Corrupt
from .generate.build import build as build
from .generate.catalogue import names as names
from .generate.catalogue import recipes as recipes
from .generate.contract import check_corruption as check_corruption
from .generate.exports.export import export as export
from .generate.planning import plan as plan
from .generate.preview import preview as preview
from .generate.recipes.two_factor import pairs as pairs
from .generate.reproduction.open_dataset import open as open
from .generate.reproduction.page import page as page
from .generate.reproduction.rebuild import rebuild as rebuild
from .generate.reproduction.verify import verify as verify
from .generate.show import show as show
from .manifests.distribution.fetch import fetch as fetch
from .manifests.distribution.publish import publish as publish
from .manifests.release.pack import pack as pack
from .manifests.release.unpack import unpack as unpack
from .scores.compare import compare as compare
from .scores.predict import predict as predict
from .scores.report import report as report
from .scores.score import score as score
from .scores.score_table import score_table as score_table

__version__: str
__all__: list[str]
