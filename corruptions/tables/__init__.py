"""Parameter tables, with one TOML file per calibration."""
