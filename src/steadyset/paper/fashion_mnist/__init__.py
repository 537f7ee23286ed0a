"""The paper's Fashion-MNIST experiment: both tables and the survival figure, and what goes beyond them."""

from steadyset.paper.fashion_mnist._experiment import SCALES, Options, options, reproduce

__all__ = ["SCALES", "Options", "options", "reproduce"]
