"""The paper's Fashion-MNIST experiment: both tables and the survival figure, and what goes beyond them."""

from steadyset.paper.fashion_mnist._data import Images, load_images
from steadyset.paper.fashion_mnist._experiment import SCALES, Options, options, reproduce
from steadyset.paper.fashion_mnist._recertify import recertify
from steadyset.paper.fashion_mnist._time_left import show_time_left

__all__ = ["SCALES", "Images", "Options", "load_images", "options", "recertify", "reproduce", "show_time_left"]
