# SPDX-License-Identifier: Apache-2.0
"""`Recalibrator`: a map with the manners of scikit-learn, without needing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import as_array, refuse_different_indexes
from epimeter.errors import InputError
from epimeter.kinds import WORDING
from epimeter.readers.digest import SCHEME, dataset_digest
from epimeter.recalibration.document import MapDocument, load, maps_of
from epimeter.recalibration.selection import FOLDS, ChosenMap, choose, cross_validated, folds_of
from epimeter.views import View, view

PARAMETERS = ("map", "kind", "folds", "seed")


class Recalibrator:
    """Maps what a model states into what comes true; fitted on held-out predictions, applied to new ones.

    It changes predictions, never the model. Give it predictions that the model was not trained on, and measure the result
    on rows that the map was not fitted on.

    Parameters
    ----------
    map
        ``temperature``, ``platt``, ``beta``, ``isotonic``, ``histogram``, ``spline``, ``venn_abers``; for classes also
        ``intra_order``, ``vector`` and ``dirichlet``. ``auto`` chooses by cross-validated log loss, ``identity`` (no change)
        included.
    kind
        ``event``, ``answer`` or ``classes``; None takes a vector for an event and a matrix for classes.
    folds, seed
        Of the cross-validation of ``auto``.

    Attributes
    ----------
    document_
        The fitted map with its numbers, what it was fitted on, and its digest.
    n_features_in_
        How many columns it was fitted on: 1 for a vector, and for a matrix of one column, which comes back as one.
    selection_
        How ``auto`` chose; None where the map was named.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> y = (np.arange(400) * 0.618 % 1 < p**2).astype(int)
    >>> model = Recalibrator("platt").fit(p, y)
    >>> bool(abs(model.predict(p).mean() - y.mean()) < 1e-6)
    True
    """

    def __init__(self, map: str = "auto", *, kind: str | None = None, folds: int = FOLDS, seed: int = 0) -> None:
        self.map = map
        self.kind = kind
        self.folds = folds
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X
            Probabilities: one number a row (as a vector or as a matrix of one column), or one column a class.
        y
            What came true: 0 or 1 beside a vector (right or wrong, for answers), class numbers beside a matrix.
        sample_weight
            Weights of the rows.
        groups
            One label a row, for ``auto``: rows of one label share a fold.
        """
        if y is None:
            raise InputError(
                "Recalibrator requires y to be passed, but the target y is None; give what came true", field="y"
            )
        refuse_different_indexes(y_true=y, y_prob=X, sample_weight=sample_weight)
        rows = view(y, _flat(X)[0], kind=self.kind, sample_weight=sample_weight)
        return self.fit_view(rows, groups=groups)

    def fit_view(
        self,
        rows: View,
        *,
        groups: Any = None,
        class_names: tuple[str, ...] | None = None,
        source: str = "",
    ) -> Self:
        """Fit the map to validated rows, and keep the names of their classes and of their source."""
        known = maps_of(rows.kind)
        if self.map != "auto" and self.map not in known:
            raise InputError(f"the maps of {rows.kind} are auto, {', '.join(known)}; got {self.map!r:.40}", field="map")
        self.selection_: ChosenMap | None = None
        name = self.map
        if name == "auto":
            fold = folds_of(rows.n_rows, groups, self.folds, self.seed)
            self.selection_ = choose(rows, *cross_validated(rows, known, fold), groups)
            name = self.selection_.name
        self.document_ = MapDocument(
            map=known[name].fit(rows),
            kind=rows.kind,
            n_classes=rows.n_classes,
            class_names=class_names,
            fitted_on={
                "digest": f"{SCHEME}:sha-256:{dataset_digest({'confidence': rows.prob, 'label': rows.true})}",
                "n_rows": rows.n_rows,
            }
            | ({"source": source} if source else {}),
            chosen=None if self.selection_ is None else self.selection_.to_dict(),
        )
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The probabilities mapped, in the shape they came in.

        Parameters
        ----------
        X
            Probabilities as in `fit`.
        """
        document, (flat, one_column) = self._fitted, _flat(X)
        prob = view(np.zeros(len(flat), np.int64), flat).prob
        came, wanted = prob.shape[1] if prob.ndim == 2 else 1, columns_of(document)
        if came != wanted:
            remedy = ". Reshape your data: one row is X.reshape(1, -1)" if np.ndim(prob) == 1 and not one_column else ""
            raise InputError(
                f"X has {came} features, but Recalibrator is expecting {wanted} features as input: it was fitted on "
                f"{WORDING[document.kind].what}{remedy}",
                field="X",
            )
        after = mapped(document, prob)
        return after[:, None] if one_column else after

    transform = predict

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> NDArray[np.float64]:
        """Fit, and map the same rows: good for a pipeline, too good for a measurement."""
        return self.fit(X, y, sample_weight, groups=groups).predict(X)

    def save(self, path: str | Path) -> Path:
        """Write the fitted map as JSON.

        Parameters
        ----------
        path
            Where; an existing file is replaced.
        """
        return self._fitted.save(path)

    @classmethod
    def load(cls, path: str | Path, *, edited: bool = False) -> Recalibrator:
        """Read a map.

        Parameters
        ----------
        path
            A file that `save` or ``epimeter recalibrate fit`` wrote.
        edited
            Accept a file whose digest is not that of its content.
        """
        document = load(path, edited=edited)
        made = cls(document.map.name, kind=document.kind)
        made.document_, made.selection_ = document, None
        return made

    @property
    def n_features_in_(self) -> int:
        """How many columns the map was fitted on."""
        if not hasattr(self, "document_"):
            raise AttributeError("n_features_in_ is known once the map is fitted")  # so that `hasattr` answers
        return columns_of(self._fitted)

    @property
    def digest(self) -> str:
        """What names the fitted map in reports and certificates."""
        return self._fitted.digest

    @property
    def _fitted(self) -> MapDocument:
        document = getattr(self, "document_", None)
        if not isinstance(document, MapDocument):
            raise _not_fitted()
        return document

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in PARAMETERS:
                raise InputError(
                    f"Recalibrator has the parameters {', '.join(PARAMETERS)}; got {name!r:.40}", field=name
                )
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "document_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        # No regressor, whose targets may be any number, and no classifier, whose answers are classes. A vector is taken too,
        # but `one_d_array` would tell scikit-learn that a matrix is not.
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, one_d_labels=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=True, positive_only=True),
        )

    def __repr__(self) -> str:
        defaults: Mapping[str, Any] = {"map": "auto", "kind": None, "folds": FOLDS, "seed": 0}
        said = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"Recalibrator({', '.join(said)})"


def columns_of(document: MapDocument) -> int:
    """How many columns a map takes: one a class, or one number a row."""
    return document.n_classes if document.kind == "classes" else 1


def mapped(document: MapDocument, prob: NDArray[Any]) -> NDArray[np.float64]:
    """Validated probabilities mapped, which have as many columns as the map takes."""
    return np.asarray(document.map(np.asarray(prob, np.float64)), np.float64)


def _flat(X: Any) -> tuple[Any, bool]:
    """Probabilities as a view takes them, and whether they were a matrix of one column, as scikit-learn hands one feature on."""
    if hasattr(X, "tocsr"):
        raise InputError("probabilities must be dense; got a sparse matrix. Pass X.toarray()", field="X")
    if not (hasattr(X, "shape") and hasattr(X, "__len__")):
        X = as_array(X, "y_prob")
    one_column = len(X.shape) == 2 and X.shape[1] == 1
    return (as_array(X, "y_prob")[:, 0] if one_column else X), one_column


def _not_fitted() -> Exception:
    """scikit-learn's own exception where it is installed, for its users; ours otherwise."""
    sentence = "this Recalibrator is not fitted; call fit, or load a map"
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return InputError(sentence)

    class NotFitted(InputError, NotFittedError):  # type: ignore[misc]
        """Not fitted, in the words of both."""

    return NotFitted(sentence)
