# SPDX-License-Identifier: Apache-2.0
"""Makes forecast_peers.json: what MAPIE and the uncertainty toolbox say of the same rows.

In an environment of its own, as neither package is needed by anything else:

    pip install mapie==1.6.0 uncertainty-toolbox==0.1.1
    python tests/metrics/make_forecast_peers.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import uncertainty_toolbox as toolbox
from mapie.metrics import classification, regression


def main():
    rng = np.random.default_rng(11)
    mean, std = rng.normal(size=60).round(4), rng.uniform(0.4, 2, 60).round(4)
    y = (mean + 1.3 * std * rng.normal(size=60)).round(4)
    half = rng.uniform(0.8, 2.5, 60).round(4)  # of widths that are all different
    ends = np.stack([mean - half, mean + half], axis=1)
    label = rng.integers(0, 4, 60)
    sets = rng.random((60, 4)) < 0.5
    values = {
        "uncertainty_toolbox": {
            "crps": toolbox.crps_gaussian(mean, std, y),
            "log_score": toolbox.nll_gaussian(mean, std, y),
            "pinball_loss": toolbox.check_score(mean, std, y, start_q=0.1, end_q=0.9, resolution=9),
            "interval_score": toolbox.interval_score(mean, std, y, start_p=0.9, end_p=0.9, resolution=1),
            "picp": toolbox.get_proportion_in_interval(mean, std, y, 0.9),
            "miscalibration_area": toolbox.miscalibration_area(mean, std, y, num_bins=100, prop_type="quantile"),
            "mean_absolute": toolbox.mean_absolute_calibration_error(mean, std, y, num_bins=100, prop_type="quantile"),
            "root_mean_squared": toolbox.root_mean_squared_calibration_error(
                mean, std, y, num_bins=100, prop_type="quantile"
            ),
        },
        "mapie": {
            "picp": regression.regression_coverage_score(y, ends[:, :, None])[0],
            "mean_interval_width": regression.regression_mean_width_score(ends[:, :, None])[0],
            "interval_score": regression.regression_mwi_score(y, ends[:, :, None], 0.8),
            "size_stratified_coverage": regression.regression_ssc_score(y, ends[:, :, None], num_bins=5)[0],
            "set_coverage": classification.classification_coverage_score(label, sets[:, :, None])[0],
            "set_size": classification.classification_mean_width_score(sets[:, :, None])[0],
        },
    }
    rows = {"y": y, "mean": mean, "std": std, "half": half, "label": label, "sets": sets.astype(int)}
    made = {
        "versions": {name: version(name) for name in ("mapie", "uncertainty-toolbox")},
        "rows": {name: column.tolist() for name, column in rows.items()},
        "values": {package: {name: float(v) for name, v in found.items()} for package, found in values.items()},
    }
    Path(__file__).with_name("forecast_peers.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
