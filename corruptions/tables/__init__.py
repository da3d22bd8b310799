"""Parameter tables, one TOML file a calibration."""
