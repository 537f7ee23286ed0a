"""Label sets that hold steady when a training row is dropped."""

import lazy_loader

__version__ = "0.1.0"

#: What skops has to trust to load a saved StableClassifier: plain data of this package, nothing that runs on loading.
TRUSTED_TYPES: list[str]

# The map of public names is __init__.pyi. A room is entered when one of its names is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
