"""`bertxfer.listing`: what an earlier version's `diff` asks this one for."""

from bertxfer.review.listing import main

__all__ = ["main"]
