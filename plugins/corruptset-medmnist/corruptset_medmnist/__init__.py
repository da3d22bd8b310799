"""Provide MedMNIST-C: corruptions, calibrations, recipes, a source for MedMNIST files, an export and scores."""
