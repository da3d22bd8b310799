"""The papers that several corruptions come from."""

HENDRYCKS_2019 = (
    "Hendrycks & Dietterich 2019, Benchmarking Neural Network Robustness to Common Corruptions and Perturbations, ICLR (ImageNet-C)"
)
HENDRYCKS_2018 = (
    "Hendrycks & Dietterich 2018, Benchmarks for Neural Network Robustness to Common Distortions and Styles, preprint (ImageNet-D)"
)
MU_2019 = "Mu & Gilmer 2019, MNIST-C: A Robustness Benchmark for Computer Vision"
SWINGLER_2022 = (
    "Swingler 2022, A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms, NCTA "
    "(30 levels; released notebook)"
)
MADRY_2018 = "Madry, Makelov, Schmidt, Tsipras & Vladu 2018, Towards Deep Learning Models Resistant to Adversarial Attacks, ICLR"
