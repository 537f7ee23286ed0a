"""Layers as plain values, with PyTorch's names and meanings; the network is checked when the data are known."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Conv2d:
    """Two-dimensional convolution with stride 1 and a bias.

    Parameters
    ----------
    out_channels : int
        Number of filters.
    kernel_size : int or (int, int), default=3
        Height and width of a filter.
    padding : int, default=0
        Rows and columns of zeros around the image.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.Conv2d(6, 5)
    Conv2d(out_channels=6, kernel_size=5, padding=0)
    """

    out_channels: int
    kernel_size: int | tuple[int, int] = 3
    padding: int = 0


@dataclass(frozen=True)
class MaxPool2d:
    """Largest value of square windows that do not overlap; rows and columns beyond the last whole window are dropped.

    Parameters
    ----------
    kernel_size : int, default=2
        Side of a window.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.MaxPool2d(2)
    MaxPool2d(kernel_size=2)
    """

    kernel_size: int = 2


@dataclass(frozen=True)
class AvgPool2d:
    """Mean of square windows that do not overlap; rows and columns beyond the last whole window are dropped.

    Parameters
    ----------
    kernel_size : int, default=2
        Side of a window.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.AvgPool2d(2)
    AvgPool2d(kernel_size=2)
    """

    kernel_size: int = 2


@dataclass(frozen=True)
class ReLU:
    """The larger of a value and 0.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.ReLU()
    ReLU()
    """


@dataclass(frozen=True)
class Tanh:
    """Hyperbolic tangent of each value.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.Tanh()
    Tanh()
    """


@dataclass(frozen=True)
class Flatten:
    """An image as one row of values, channel by channel.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.Flatten()
    Flatten()
    """


@dataclass(frozen=True)
class Dropout:
    """In training each value is set to 0 with probability `p`, and the others are divided by 1 - p.

    Parameters
    ----------
    p : float, default=0.5
        At least 0 and below 1.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.Dropout(0.2)
    Dropout(p=0.2)
    """

    p: float = 0.5


@dataclass(frozen=True)
class Linear:
    """Dense layer with a bias.

    Parameters
    ----------
    out_features : int or None, default=None
        Number of outputs. None stands for the number of classes, in the last layer.

    Examples
    --------
    >>> from steadyset import lanes
    >>> lanes.Linear(120)
    Linear(out_features=120)
    """

    out_features: int | None = None


Layer = Conv2d | MaxPool2d | AvgPool2d | ReLU | Tanh | Flatten | Dropout | Linear


def lenet5() -> tuple[Layer, ...]:
    """Return the layers of the paper's network, a LeNet-5 for 28 x 28 images.

    Returns
    -------
    layers : tuple
        Two convolutions (6 and 16 filters of 5 x 5), each with ReLU and pooling by 2, then 120, 84 and as many
        outputs as there are classes.

    Examples
    --------
    >>> from steadyset import lanes
    >>> net = lanes.NetClassifier(lanes.lenet5(), epochs=5, batch_size=4, learning_rate=0.001, scale="minus_one_one")
    >>> len(net.layers)
    12
    """
    return (
        Conv2d(6, 5),
        ReLU(),
        MaxPool2d(2),
        Conv2d(16, 5),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Linear(120),
        ReLU(),
        Linear(84),
        ReLU(),
        Linear(),
    )
