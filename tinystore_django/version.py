"""The version of this package, which a worker's lease shows."""

__version__ = "0.1.0"
