"""Guards for tools of frameworks. Each module imports its framework only when it is used."""
