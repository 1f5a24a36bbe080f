"""The version of this package, which pyproject.toml reads."""

version = "0.1.0"
