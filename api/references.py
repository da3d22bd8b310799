"""The papers that docstrings, tables, `show`, pages and docs cite."""

from __future__ import annotations

from typing import NamedTuple


class Reference(NamedTuple):
    """A paper, which is printed as ``Authors year, Title, venue``."""

    authors: str
    year: int
    title: str
    venue: str
    about: str = ""
    """The parts of the paper that corruptset implements."""

    def __str__(self) -> str:
        return f"{self.authors} {self.year}, {self.title}, {self.venue}{f' ({self.about})' if self.about else ''}"


_HENDRYCKS = "Hendrycks & Dietterich"
HENDRYCKS_2018 = Reference(
    _HENDRYCKS,
    2018,
    "Benchmarks for Neural Network Robustness to Common Distortions and Styles",
    "preprint",
    "ImageNet-D",
)
HENDRYCKS_ICONS_2018 = Reference(
    _HENDRYCKS,
    2018,
    "Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations",
    "arXiv:1807.01697",
    "Icons-50",
)
HENDRYCKS_2019 = Reference(
    _HENDRYCKS,
    2019,
    "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations",
    "ICLR",
    "ImageNet-C",
)
MU_2019 = Reference("Mu & Gilmer", 2019, "MNIST-C: A Robustness Benchmark for Computer Vision", "arXiv:1906.02337")
SRIVASTAVA_2019 = Reference(
    "Srivastava, Ben-Yosef & Boix",
    2019,
    "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural Images",
    "ICLR",
)
DAI_2021 = Reference(
    "Dai & Berleant",
    2021,
    "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation",
    "IEEE Big Data",
)
SWINGLER_2022 = Reference(
    "Swingler",
    2022,
    "A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms",
    "NCTA",
    "30 levels; released notebook",
)
MADRY_2018 = Reference(
    "Madry, Makelov, Schmidt, Tsipras & Vladu",
    2018,
    "Towards Deep Learning Models Resistant to Adversarial Attacks",
    "ICLR",
)
MINTUN_2021 = Reference(
    "Mintun, Kirillov & Xie",
    2021,
    "On Interaction Between Augmentations and Corruptions in Natural Corruption Robustness",
    "NeurIPS",
    "ImageNet-C-bar, CIFAR-10-C-bar",
)
REFERENCES = (
    HENDRYCKS_2018,
    HENDRYCKS_ICONS_2018,
    MADRY_2018,
    HENDRYCKS_2019,
    MU_2019,
    SRIVASTAVA_2019,
    DAI_2021,
    MINTUN_2021,
    SWINGLER_2022,
)
