"""The built-in formulas, one TOML file each."""
