"""The examples of the docstrings run, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import fenchel

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(fenchel.__path__, "fenchel.")
    if not found.name.endswith("_core")
]
PUBLIC = [
    (module.__name__, name)
    for module in MODULES
    if "_" not in module.__name__.rsplit(".", 1)[-1][:1]
    for name in getattr(module, "__all__", [])
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_is_documented(module, name):
    item = getattr(importlib.import_module(module), name)
    text = inspect.getdoc(item)
    assert text, name
    if inspect.isfunction(item) or hasattr(item, "fit"):
        assert ">>> " in text, f"{name} has no example"
    if hasattr(item, "get_params"):
        for parameter in inspect.signature(item).parameters:
            assert f"\n{parameter} : " in text, f"{name} does not document {parameter}"
