"""The operator's pages. Django's admin finds this module by its name."""

from .jobs import JobAdmin

__all__ = ["JobAdmin"]
