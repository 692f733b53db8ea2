"""Adapters: Phronesis as the memory of other frameworks, one module for each.

Each module imports its framework, which is not a dependency of this package.
"""
