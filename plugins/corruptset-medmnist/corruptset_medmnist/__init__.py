"""Provide MedMNIST-C: its corruptions, calibrations and recipes, a source of MedMNIST files, an export and scores."""
