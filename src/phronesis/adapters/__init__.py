"""Phronesis in the places of other memories: one module for each framework, which nothing else here imports.

A framework is imported when its module is, and is no dependency of this package.
"""
