"""The recipes that ship with the package, one TOML file each."""
