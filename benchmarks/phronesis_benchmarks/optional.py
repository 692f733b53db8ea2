"""Packages that are measured when they are there, and are never required."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from phronesis.errors import MissingExtra


def import_optional(module: str, package: str, *, field: str = "peers") -> ModuleType:
    """Give ``module``, or raise MissingExtra that names the ``package`` to install and the ``field`` that needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{package} is not installed ({error}); pip install {package}", field=field) from error


def installed_version(package: str) -> str:
    """Return the version of an installed package, or raise MissingExtra."""
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise MissingExtra(f"{package} is not installed; pip install {package}", field="peers") from error
