# SPDX-License-Identifier: Apache-2.0
"""Make the pictures of the README from the bundled data set: `python docs/images/make.py`."""

from pathlib import Path

import numpy as np

import epimeter.data
from epimeter import draw

HERE = Path(__file__).parent
DATA = Path(epimeter.data.__path__[0]) / "cifar10_vgg16.npz"


def main() -> None:
    with np.load(DATA) as data:
        y_true, y_prob = data["labels"], data["probs"]
    figure = draw.reliability(y_true, y_prob, draws=999, title="VGG-16, CIFAR-10 test images")
    for suffix in ("png", "svg"):
        print(draw.save(figure, HERE / f"reliability.{suffix}", dpi=160))


if __name__ == "__main__":
    main()
