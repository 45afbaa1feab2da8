# SPDX-License-Identifier: Apache-2.0
"""Every metric of the catalogue, by its name. Made from the cards by ``python -m epimeter.generate``."""

from typing import Any, Literal

from epimeter.calling import Metric
from epimeter.metrics.bin.adaptive import AdaptiveTest
from epimeter.metrics.bin.balance import Areas
from epimeter.metrics.bin.hosmer import ChiSquareTest, ClassTests
from epimeter.metrics.bin.onto import OntoError
from epimeter.metrics.bin.roof import FittedError
from epimeter.metrics.bin.signed import SubsetScore
from epimeter.metrics.bin.simplex import SimplexError
from epimeter.metrics.bin.square import SquareInterval
from epimeter.metrics.bin.sweep import SweptError
from epimeter.metrics.cumulative.bridge import BridgeTest
from epimeter.metrics.cumulative.differences import CumulativeDifferences, CumulativeError
from epimeter.metrics.cumulative.subpopulations import MultiCalibration
from epimeter.metrics.curve.beta import BetaTest
from epimeter.metrics.curve.cox import CoxFit
from epimeter.metrics.curve.isotonic import ScoreParts
from epimeter.metrics.curve.neighbours import NearestTest, NeighbourPower
from epimeter.metrics.curve.parabola import ParabolaTest
from epimeter.metrics.curve.piecewise import PiecewiseError
from epimeter.metrics.detection.binned import DetectionError
from epimeter.metrics.detection.matching import Matching
from epimeter.metrics.distribution.states import NeesTest
from epimeter.metrics.distribution.strata import StrataCoverage
from epimeter.metrics.distribution.transform import TransformHistogram, UniformityTest
from epimeter.metrics.kernel.neighbours import NeighbourTest
from epimeter.metrics.kernel.reliability import CombinedExperts, ReliabilityMap
from epimeter.metrics.kernel.squared import KernelTest, LinearKernelTest
from epimeter.metrics.point.brier import StratifiedScore
from epimeter.metrics.point.decomposition import BrierTerms, LogTerms
from epimeter.metrics.point.entropic import EntropicSplit, EntropicTest
from epimeter.metrics.point.gaussian import GaussianDifference
from epimeter.metrics.point.spiegelhalter import SpiegelhalterTest
from epimeter.metrics.selective.points import CoverageAtAccuracy, SelectiveAccuracy
from epimeter.results import Number

__all__ = [
    "abc",
    "accuracy",
    "ace",
    "asymmetric_least_squares",
    "asymmetric_success_rate",
    "auarc",
    "aurc",
    "auroc",
    "avg_ece_at_l",
    "bbt",
    "bcs",
    "bkde",
    "brier_decomposition",
    "brier_score",
    "brier_skill_score",
    "brownian_tail",
    "calbin",
    "calibration_gain",
    "cdp",
    "ce2_db",
    "cece",
    "cis",
    "class_conditional_coverage",
    "classwise_ece",
    "classwise_hl",
    "conditional_coverage",
    "consistency_calibration",
    "corp",
    "coverage_at_accuracy",
    "crps",
    "cutoff_ce",
    "d_ece",
    "dce",
    "dece",
    "detection_ace",
    "dkde",
    "dpe",
    "dpe_simplex",
    "drmsce",
    "drmsce_bcs",
    "dss",
    "dual_focal_loss",
    "e50",
    "e90",
    "e_aurc",
    "ecce_mad",
    "ecce_r",
    "ecd",
    "ecd_gaussian",
    "ecd_split",
    "ecd_test",
    "ece",
    "ece_at_k",
    "ece_avg",
    "ece_db",
    "ece_ea",
    "ece_fott",
    "ece_knn",
    "ece_lb",
    "ece_lse",
    "ece_pl",
    "ece_pl3",
    "ece_sweep",
    "eci",
    "ecmmd",
    "egce",
    "eice",
    "emax",
    "eo_ratio",
    "error_percentile",
    "ers_ece",
    "esce",
    "fce",
    "fece",
    "focal_calibration_loss",
    "focal_loss",
    "fott_beta",
    "fott_isotonic",
    "fott_platt",
    "fott_spline",
    "gebel_cal",
    "general_least_squares",
    "gsb",
    "hcs",
    "hinge_loss",
    "hl",
    "hle_ce",
    "huber_loss",
    "ici",
    "imbalanced_ce",
    "interval_ce",
    "interval_score",
    "kccsd",
    "kernel_bandwidth",
    "kernel_curve",
    "klce",
    "knn_chi2",
    "knn_chi2_power",
    "l1cbod",
    "l1eps",
    "l2_ece_ci",
    "laace0",
    "laece",
    "laece0",
    "lkce",
    "loess_curve",
    "log_score",
    "lp_ce",
    "ls_ecoc_r",
    "lsece",
    "mae",
    "marginal_ce",
    "match_detections",
    "mce",
    "mcm",
    "mdca",
    "mean_interval_width",
    "miscalibration_area",
    "mmce",
    "mmce_weighted",
    "moment_score",
    "msce",
    "mvce",
    "mvms_ece",
    "nees_test",
    "nll",
    "nll_decomposition",
    "normalised_squared_error",
    "normalized_entropy",
    "nses",
    "oe_ratio",
    "onto_ece",
    "pce",
    "picp",
    "piece",
    "pinball_loss",
    "pit",
    "pit_test",
    "pointwise_lp_error",
    "power_score",
    "proper_linear_score",
    "prr",
    "pseudo_spherical_score",
    "pws",
    "qgc",
    "quantile_calibration_error",
    "rbece",
    "reliability_map",
    "rice",
    "root_brier_score",
    "rps",
    "rps_counts",
    "sarps",
    "sbct",
    "sbece",
    "sece",
    "selective_accuracy",
    "set_coverage",
    "set_size",
    "sgc",
    "sice",
    "silf",
    "size_stratified_coverage",
    "skce_b",
    "skce_ul",
    "skce_uq",
    "skde",
    "skill_score",
    "smbs",
    "smece",
    "smooth_ce",
    "soft_f1",
    "spherical_score",
    "spiegelhalter_z",
    "stratified_brier_score",
    "success_rate",
    "t_cal",
    "tace",
    "test_based_ce",
    "top_label_ce",
    "vece",
    "wcr",
    "weighted_interval_score",
    "wsece",
    "wsmcs",
]

class _AsymmetricLeastSquares(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        under: float = 1.0,
        over: float = 1.0,
        interval: Any = None,
    ) -> Number:
        """Squared error with one price for saying too much and another for saying too little."""

asymmetric_least_squares: _AsymmetricLeastSquares

class _AsymmetricSuccessRate(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        threshold: float = 0.5,
        interval: Any = None,
    ) -> Number:
        """What decisions are worth where a miss and a false alarm cost differently."""

asymmetric_success_rate: _AsymmetricSuccessRate

class _BrierDecomposition(Metric[BrierTerms]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        binning: Literal["unique", "width", "mass"] = "unique",
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> BrierTerms:
        """Brier score as reliability, resolution and uncertainty, plus what happens inside the bins."""

brier_decomposition: _BrierDecomposition

class _BrierScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        scale: Literal["class", "half", "sum"] = "class",
        interval: Any = None,
    ) -> Number:
        """Mean squared distance between forecast and outcome: calibration and sharpness in one proper score."""

brier_score: _BrierScore

class _BrierSkillScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        reference: Any = None,
        interval: Any = None,
    ) -> Number:
        """Share of a reference forecast's Brier score that the forecast does away with."""

brier_skill_score: _BrierSkillScore

class _ConsistencyCalibration(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        perturbed: Any,
        norm: float | Literal["inf"] = 1.0,
        reduction: Literal["all", "top"] = "all",
        threshold: float = 0.5,
        interval: Any = None,
    ) -> Number:
        """Distance between the confidence stated and the share of perturbed copies that agree."""

consistency_calibration: _ConsistencyCalibration

class _Dss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared error in units of the stated variance, plus the logarithm of that variance."""

dss: _Dss

class _DualFocalLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        gamma: float = 2.0,
        variant: Literal["paper", "top2"] = "paper",
        eps: float = 0.0,
        per_class: bool = False,
        interval: Any = None,
    ) -> Number:
        """Focal loss that also asks for a distance between the true class and its nearest rival below."""

dual_focal_loss: _DualFocalLoss

class _Ecd(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        variant: Literal["general", "true_vs_rest"] = "general",
        eps: float = 0.0,
        interval: Any = None,
    ) -> Number:
        """Surprise at what came true minus the surprise the forecast announced: above 0 over-confident."""

ecd: _Ecd

class _EcdGaussian(Metric[GaussianDifference]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        variance: Any = 1.0,
        interval: Any = None,
    ) -> GaussianDifference:
        """Squared errors of a Gaussian forecast in units of its variance: ecd above 0 is over-confident."""

ecd_gaussian: _EcdGaussian

class _EcdSplit(Metric[EntropicSplit]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        eps: float = 0.0,
        interval: Any = None,
    ) -> EntropicSplit:
        """The surprise at what came true, the surprise the forecasts announced, and their difference, the ECD."""

ecd_split: _EcdSplit

class _EcdTest(Metric[EntropicTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        variant: Literal["general", "true_vs_rest"] = "general",
        eps: float = 0.0,
        interval: Any = None,
    ) -> EntropicTest:
        """Entropic calibration difference against its null mean and variance: z above 0 is over-confident."""

ecd_test: _EcdTest

class _Eice(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        jackknife: Any = None,
        loo_predictions: Any = None,
        loo_residuals: Any = None,
        coverage: float = 0.9,
        interval: Any = None,
    ) -> Number:
        """Mean distance between each forecast and a jackknife estimate of its own probability."""

eice: _Eice

class _EoRatio(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Events announced for each event seen: above 1 over-confident, below 1 under-confident."""

eo_ratio: _EoRatio

class _FocalCalibrationLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        gamma: float | Literal["flsd53"] = 2.0,
        strength: float = 1.0,
        alpha: Any = None,
        eps: float = 0.0,
        interval: Any = None,
    ) -> Number:
        """Focal loss plus a multiple of the squared distance between forecast and outcome."""

focal_calibration_loss: _FocalCalibrationLoss

class _FocalLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        gamma: float | Literal["flsd53"] = 2.0,
        alpha: Any = None,
        eps: float = 0.0,
        per_class: bool = False,
        interval: Any = None,
    ) -> Number:
        """Log loss in which rows that are already right count little."""

focal_loss: _FocalLoss

class _GeneralLeastSquares(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        weights: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared errors under a weight matrix of the caller's."""

general_least_squares: _GeneralLeastSquares

class _Gsb(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared difference between mean forecast and class frequency, averaged over the classes."""

gsb: _Gsb

class _HingeLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        score: Literal["probability", "margin"] = "probability",
        interval: Any = None,
    ) -> Number:
        """How far rows lie on the wrong side of a margin of 1."""

hinge_loss: _HingeLoss

class _HuberLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        threshold: float = 0.5,
        unit_slope: bool = False,
        interval: Any = None,
    ) -> Number:
        """Squared error for small distances, absolute error for large ones."""

huber_loss: _HuberLoss

class _L1Eps(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        epsilon: float = 0.0001,
        interval: Any = None,
    ) -> Number:
        """Mean absolute error, rounded off near zero."""

l1eps: _L1Eps

class _Mae(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Mean distance between forecast and outcome."""

mae: _Mae

class _Mdca(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Distance between mean forecast and class frequency, averaged over the classes: ECE with one bin."""

mdca: _Mdca

class _Nll(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        eps: float = 0.0,
        per_class: bool = False,
        interval: Any = None,
    ) -> Number:
        """Mean surprise at what came true, in nats."""

nll: _Nll

class _NllDecomposition(Metric[LogTerms]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        binning: Literal["unique", "width", "mass"] = "unique",
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> LogTerms:
        """Log score as reliability, resolution and uncertainty."""

nll_decomposition: _NllDecomposition

class _NormalizedEntropy(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        eps: float = 0.0,
        interval: Any = None,
    ) -> Number:
        """Log loss as a share of the log loss of always saying the base rate."""

normalized_entropy: _NormalizedEntropy

class _Nses(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared error by the variance the forecast implies: above 1 over-confident, below 1 under-confident."""

nses: _Nses

class _OeRatio(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Events seen for each event announced: below 1 over-confident, above 1 under-confident."""

oe_ratio: _OeRatio

class _PointwiseLpError(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        norm: float | Literal["inf"] = 2.0,
        interval: Any = None,
    ) -> Number:
        """Power mean of the distances between forecast and outcome."""

pointwise_lp_error: _PointwiseLpError

class _PowerScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        alpha: float = 2.0,
        interval: Any = None,
    ) -> Number:
        """Brier-like score with another exponent than 2."""

power_score: _PowerScore

class _ProperLinearScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Brier score without the term that does not depend on the forecast."""

proper_linear_score: _ProperLinearScore

class _PseudoSphericalScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        alpha: float = 2.0,
        interval: Any = None,
    ) -> Number:
        """Probability of what came true, in units of the length of the forecast."""

pseudo_spherical_score: _PseudoSphericalScore

class _RootBrierScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        scale: Literal["class", "half", "sum"] = "class",
        interval: Any = None,
    ) -> Number:
        """Square root of the Brier score: the typical distance between forecast and outcome."""

root_brier_score: _RootBrierScore

class _Rps(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Brier score of all the questions "is the class at most k?", averaged over k."""

rps: _Rps

class _Sarps(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        normalize: bool = False,
        interval: Any = None,
    ) -> Number:
        """Squared distance between forecast and outcome, measured in steps of the order."""

sarps: _Sarps

class _Silf(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        epsilon: float = 0.2,
        beta: float = 0.8,
        interval: Any = None,
    ) -> Number:
        """Absolute error that forgives small distances, with a rounded border."""

silf: _Silf

class _SkillScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        metric: Literal["brier_score", "nll", "rps", "mae", "spherical_score"] = "brier_score",
        reference: Any = None,
        interval: Any = None,
    ) -> Number:
        """Share of the way from a reference forecast to a perfect one."""

skill_score: _SkillScore

class _SoftF1(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """F1 score of doubt as a detector of mistakes."""

soft_f1: _SoftF1

class _SphericalScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Cosine of the angle between forecast and outcome."""

spherical_score: _SphericalScore

class _SpiegelhalterZ(Metric[SpiegelhalterTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> SpiegelhalterTest:
        """Test of calibration by the Brier score: above 0 over-confident, below 0 under-confident."""

spiegelhalter_z: _SpiegelhalterZ

class _StratifiedBrierScore(Metric[StratifiedScore]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        scale: Literal["class", "half", "sum"] = "class",
        interval: Any = None,
    ) -> StratifiedScore:
        """Brier score of each true class by itself, so that a rare class is not drowned by a common one."""

stratified_brier_score: _StratifiedBrierScore

class _SuccessRate(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Share of rows whose most likely class came true; ties share the credit."""

success_rate: _SuccessRate

class _Abc(Metric[Areas]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        measure: Literal["mass", "line"] = "mass",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Areas:
        """Under-confidence and over-confidence apart: area above and below the diagonal of a reliability diagram."""

abc: _Abc

class _Ace(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        norm: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Calibration error over bins of equal counts, averaged over the classes."""

ace: _Ace

class _AvgEceAtL(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        limit: int = 100,
        steps: int = 10,
        bins: int | None = None,
        binning: Literal["width", "mass", "area"] = "mass",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean of the errors among the k most confident rows, for k evenly spaced up to a limit."""

avg_ece_at_l: _AvgEceAtL

class _Bcs(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        binning: Literal["mass", "width"] = "mass",
        start: int = 10,
        max_bins: int = 100,
        min_count: int = 10,
        interval: Any = None,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """A number of bins whose frequencies rise with the confidence, found by doubling and halving."""

bcs: _Bcs

class _Calbin(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        size: int | None = None,
        within: Literal["point", "mean"] = "point",
        interval: Any = None,
    ) -> Number:
        """Gap between confidence and frequency in every window of neighbouring confidences."""

calbin: _Calbin

class _CalibrationGain(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        after: Any,
        metric: str = "ece",
        **parameters: Any,
    ) -> Number:
        """How much a metric falls when the probabilities are replaced by recalibrated ones."""

calibration_gain: _CalibrationGain

class _Ce2Db(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        binning: Literal["width", "mass", "area"] = "mass",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean squared gap without the upward bias of few rows a bin."""

ce2_db: _Ce2Db

class _Cece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean of the errors of the classes that gives the worse classes more weight."""

cece: _Cece

class _ClasswiseEce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Expected calibration error of each class against the rest, averaged over the classes."""

classwise_ece: _ClasswiseEce

class _ClasswiseHl(Metric[ClassTests]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "mass",
        ddof: int = 0,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> ClassTests:
        """Chi-square test of calibration of each class against the rest, adjusted for their number."""

classwise_hl: _ClasswiseHl

class _CutoffCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Largest error that any interval of confidences hides, as a share of all rows."""

cutoff_ce: _CutoffCe

class _Dce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int | None = None,
        aggregate: Literal["max", "mean"] = "max",
        slack: bool = True,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Upper bound on how far the forecasts are from the nearest perfectly calibrated ones."""

dce: _Dce

class _Dece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        temperature: float = 0.01,
        norm: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error with the soft bins of a one-dimensional linear classifier."""

dece: _Dece

class _Dpe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Squared gap of the bins, less what chance alone would give."""

dpe: _Dpe

class _DpeSimplex(Metric[SimplexError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        cuts: int = 5,
        interval: Any = None,
    ) -> SimplexError:
        """Squared distance between vectors of probabilities and what came true, over cells of the simplex, without its bias."""

dpe_simplex: _DpeSimplex

class _Drmsce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        binning: Literal["width", "mass", "area"] = "mass",
        mode: Literal["top_label", "classwise"] = "top_label",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Root mean square gap without the upward bias of few rows a bin."""

drmsce: _Drmsce

class _DrmsceBcs(Metric[SweptError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        binning: Literal["mass", "width"] = "mass",
        start: int = 10,
        max_bins: int = 100,
        min_count: int = 10,
        mode: Literal["top_label", "classwise"] = "top_label",
        interval: Any = None,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> SweptError:
        """Debiased root mean square error over as many bins as `bcs` finds."""

drmsce_bcs: _DrmsceBcs

class _Ece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean gap between the confidence stated and the frequency seen, weighted by the rows of each bin."""

ece: _Ece

class _EceAtK(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        k: int = 100,
        bins: int | None = None,
        binning: Literal["width", "mass", "area"] = "mass",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Expected calibration error of the k most confident rows."""

ece_at_k: _EceAtK

class _EceAvg(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        widths: Any = None,
        interval: Any = None,
    ) -> Number:
        """Expected calibration error, averaged over several bin widths."""

ece_avg: _EceAvg

class _EceDb(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        binning: Literal["width", "mass", "area"] = "mass",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Expected calibration error less its bias, estimated as how much noise in the frequencies adds to it."""

ece_db: _EceDb

class _EceEa(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error over bins whose width times count is about equal: between equal width and equal mass."""

ece_ea: _EceEa

class _EceFott(Metric[FittedError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        bins: int | Literal["cv"] = "cv",
        binning: Literal["mass", "width"] = "mass",
        slope: float = 1.0,
        norm: float = 1.0,
        folds: int = 10,
        max_bins: int = 40,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> FittedError:
        """Mean distance of the confidences from a map fitted to the outcomes bin by bin."""

ece_fott: _EceFott

class _EceKnn(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        k: int | None = None,
        interval: Any = None,
    ) -> Number:
        """Gap between confidence and frequency among the nearest neighbours of every row."""

ece_knn: _EceKnn

class _EceLb(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        norm: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean distance of each single confidence from the frequency seen in its bin."""

ece_lb: _EceLb

class _EceLse(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        temperature: float = 1e-05,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Top-label calibration error with the maximum made smooth."""

ece_lse: _EceLse

class _EceSweep(Metric[SweptError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        binning: Literal["mass", "width"] = "mass",
        norm: float = 1.0,
        interval: Any = None,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> SweptError:
        """Calibration error over the most bins before their frequencies first fail to rise."""

ece_sweep: _EceSweep

class _ErsEce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error as ONTO-ERS defines it."""

ers_ece: _ErsEce

class _Esce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean outcome minus mean confidence: how much, on the whole, was promised too little or too much."""

esce: _Esce

class _Fce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error with trapezoidal bins that overlap by half their width."""

fce: _Fce

class _Fece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        groups: Any,
        interval: Any = None,
    ) -> Number:
        """Gap between confidence and frequency for every value of a field, weighted by its rows."""

fece: _Fece

class _GebelCal(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Geometric mean of the well-calibration ratio and of one minus the root of the Brier score."""

gebel_cal: _GebelCal

class _Hcs(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        beta: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Weighted harmonic mean of accuracy and of one minus the calibration error."""

hcs: _Hcs

class _Hl(Metric[ChiSquareTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "mass",
        ddof: int = 2,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> ChiSquareTest:
        """Chi-square test of calibration over bins."""

hl: _Hl

class _ImbalancedCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Mean gap in which thin bins count the more, the less balanced the classes are."""

imbalanced_ce: _ImbalancedCe

class _IntervalCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Error of the best partition into intervals, when each interval also pays for its width."""

interval_ce: _IntervalCe

class _L2EceCi(Metric[SquareInterval]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        alpha: float = 0.05,
        interval: Any = None,
        n_bins: int = ...,
    ) -> SquareInterval:
        """Debiased squared error with a confidence interval and a test of calibration."""

l2_ece_ci: _L2EceCi

class _LpCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        norm: float = 2.0,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Gaps of the bins raised to a power, averaged by their rows, and the root taken."""

lp_ce: _LpCe

class _MarginalCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        binning: Literal["width", "mass", "area"] = "mass",
        weights: Any = None,
        norm: float = 2.0,
        root: Literal["outer", "inner"] = "outer",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Errors of each class against the rest under one norm, the classes weighed as the caller says."""

marginal_ce: _MarginalCe

class _Mce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """The largest gap of any bin that holds rows."""

mce: _Mce

class _Mvce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        features: Any = None,
        groups: Any = None,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Calibration error averaged over several ways of grouping the rows."""

mvce: _Mvce

class _MvmsEce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        min_count: int = 1000,
        interval: Any = None,
    ) -> Number:
        """Distance between mean forecast and mean outcome in the cells of a partition of all class probabilities at once."""

mvms_ece: _MvmsEce

class _OntoEce(Metric[OntoError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        strategy: Literal["equal_width", "equal_mass", "adaptive"] = "equal_width",
        bins: int | None = None,
        interval: Any = None,
        n_bins: int = ...,
    ) -> OntoError:
        """Expected and maximum calibration error with the binning strategies of ONTO 42001."""

onto_ece: _OntoEce

class _Pce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        groups: Any,
        bins: int | None = None,
        binning: Literal["width", "mass"] = "width",
        loss: Literal["abs", "square"] = "abs",
        weights: Any = None,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Gap between confidence and frequency in every group, averaged over rows and over partitions."""

pce: _Pce

class _Piece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        features: Any,
        bins: int = 15,
        binning: Literal["mass", "width"] = "mass",
        proximity_bins: int = 10,
        k: int = 10,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Expected calibration error of rows in crowded and in lonely places apart."""

piece: _Piece

class _Rbece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        min_count: int = 10,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Plain mean of the gaps of all bins that hold enough rows: every region of confidence counts alike."""

rbece: _Rbece

class _Rice(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        k: int = 3,
        interval: Any = None,
    ) -> Number:
        """Expected calibration error with bins of one width, averaged over all shifts of the bins."""

rice: _Rice

class _Sbece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 15,
        temperature: float = 0.01,
        norm: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error with memberships that fall with the squared distance from the bin's centre."""

sbece: _Sbece

class _Sice(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        epsilon: float = 0.01,
        interval: Any = None,
    ) -> Number:
        """Least random interval error plus bin width, over the widths 1, 1/2, 1/4, and so on."""

sice: _Sice

class _Smbs(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Brier score with each confidence replaced by the mean of its bin."""

smbs: _Smbs

class _TCal(Metric[AdaptiveTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        alpha: float = 0.05,
        method: Literal["asymptotic", "resampling"] = "asymptotic",
        draws: int = 3000,
        seed: int = 0,
        interval: Any = None,
    ) -> AdaptiveTest:
        """Test of perfect calibration over all dyadic bin counts at once."""

t_cal: _TCal

class _Tace(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        threshold: float = 0.01,
        bins: int = 15,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Adaptive calibration error of the probabilities that are not negligible."""

tace: _Tace

class _TestBasedCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        alpha: float = 0.05,
        binning: Literal["pava_bc", "width", "mass"] = "pava_bc",
        min_count: int = 10,
        max_count: int = 1000,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Share of rows whose confidence is rejected, at level alpha, by the outcomes of their bin."""

test_based_ce: _TestBasedCe

class _TopLabelCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        norm: float = 1.0,
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """How far the confidence in the predicted class is from how often that class is right."""

top_label_ce: _TopLabelCe

class _Vece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        features: Any,
        column: int = 0,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> Number:
        """Expected calibration error over equal-mass bins of a variable instead of the confidence."""

vece: _Vece

class _Wcr(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """One minus the mean gap of all class probabilities, over the groups of rows with one predicted class."""

wcr: _Wcr

class _Wsece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bins: int = 10,
        binning: Literal["width", "mass", "area"] = "width",
        interval: Any = None,
        n_bins: int = ...,
        strategy: Literal["uniform", "quantile"] = ...,
    ) -> Number:
        """Expected calibration error of each class against the rest, averaged by how often the class occurs."""

wsece: _Wsece

class _Wsmcs(Metric[SubsetScore]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        subset: Literal["true", "predicted", "rest"] = "true",
        interval: Any = None,
    ) -> SubsetScore:
        """Signed error of over-confident and under-confident classes, each group weighted by its number of classes."""

wsmcs: _Wsmcs

class _Bkde(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["loo", "normal", "silverman", "median", "cv"] = "loo",
        norm: float = 2.0,
        debias: bool = True,
        interval: Any = None,
    ) -> Number:
        """Distance of confidences from the frequencies that their neighbours, weighted by beta kernels, show."""

bkde: _Bkde

class _Dkde(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["loo"] = "loo",
        norm: float = 1.0,
        interval: Any = None,
    ) -> Number:
        """Distance of whole probability vectors from the class frequencies that their neighbours show."""

dkde: _Dkde

class _Ecmmd(Metric[NeighbourTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        features: Any = None,
        k: int = 25,
        variance: Literal["null", "empirical"] = "null",
        interval: Any = None,
    ) -> NeighbourTest:
        """Do residuals of nearest neighbours agree: 0 when calibrated, positive when errors cluster."""

ecmmd: _Ecmmd

class _Kccsd(Metric[KernelTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        bandwidth: float | Literal["median"] = "median",
        method: Literal["spectral", "wild"] = "spectral",
        draws: int = 1000,
        seed: int = 0,
        interval: Any = None,
    ) -> KernelTest:
        """Squared kernel discrepancy of Stein residuals, and a test of calibration."""

kccsd: _Kccsd

class _KernelBandwidth(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        rule: Literal["normal", "silverman", "median", "cv", "loo"] = "normal",
        kernel: Literal["gaussian", "laplace", "epanechnikov", "triweight"] = "gaussian",
        interval: Any = None,
    ) -> Number:
        """Bandwidth that a rule chooses for the confidences at hand; not a measure of quality."""

kernel_bandwidth: _KernelBandwidth

class _KernelCurve(Metric[Any]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        at: Any = 0.5,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = 0.08,
        kernel: Literal["gaussian", "laplace", "epanechnikov", "triweight"] = "gaussian",
        normalise: bool = True,
        widths: Literal["fixed", "adaptive"] = "fixed",
        interval: Any = None,
    ) -> Any:
        """Frequency of the outcome as a smooth function of the confidence; a calibrated model gives the identity."""

kernel_curve: _KernelCurve

class _Klce(Metric[KernelTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        features: Any,
        bandwidth: float | Literal["median"] = "median",
        kernel: Literal["laplace", "gaussian"] = "gaussian",
        standardise: bool = True,
        method: Literal["spectral", "bootstrap"] = "spectral",
        draws: int = 1000,
        seed: int = 0,
        interval: Any = None,
    ) -> KernelTest:
        """Unbiased squared kernel error of the residuals over the features: are predictions calibrated for similar cases."""

klce: _Klce

class _Lkce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        squared: bool = False,
        interval: Any = None,
    ) -> Number:
        """Kernel calibration error with the kernel exp(-|c - c'|), which bounds the distance to calibration."""

lkce: _Lkce

class _LsEcocR(Metric[CombinedExperts]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        features: Any = None,
        k: int = 10,
        calibration_bandwidth: float = 0.01,
        bandwidth: float = 0.1,
        interval: Any = None,
    ) -> CombinedExperts:
        """Brier score of class probabilities combined from one-against-rest experts by their reliability."""

ls_ecoc_r: _LsEcocR

class _Lsece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float = 0.1,
        interval: Any = None,
    ) -> Number:
        """Calibration error of the confidences after Gaussian noise on their logits: continuous in the model."""

lsece: _Lsece

class _Mmce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = 0.4,
        kernel: Literal["laplace", "gaussian"] = "laplace",
        squared: bool = False,
        interval: Any = None,
    ) -> Number:
        """Size of the residuals as a function in the kernel's Hilbert space: zero if and only if no smooth bet on them wins."""

mmce: _Mmce

class _MmceWeighted(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = 0.4,
        kernel: Literal["laplace", "gaussian"] = "laplace",
        squared: bool = False,
        interval: Any = None,
    ) -> Number:
        """Distance between the mean embeddings of the residuals of right and of wrong predictions."""

mmce_weighted: _MmceWeighted

class _Msce(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = 0.08,
        kernel: Literal["gaussian", "laplace", "epanechnikov", "triweight"] = "gaussian",
        leave_one_out: bool = False,
        interval: Any = None,
    ) -> Number:
        """Mean squared distance of the kernel calibration curve from the identity."""

msce: _Msce

class _ReliabilityMap(Metric[ReliabilityMap]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        features: Any = None,
        k: int = 10,
        calibration_bandwidth: float = 0.01,
        bandwidth: float = 0.1,
        interval: Any = None,
    ) -> ReliabilityMap:
        """Share of the variance of outcomes among similar samples that their predictions explain."""

reliability_map: _ReliabilityMap

class _Sece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = 0.01,
        kernel: Literal["gaussian", "laplace", "epanechnikov", "triweight"] = "gaussian",
        leave_one_out: bool = False,
        interval: Any = None,
    ) -> Number:
        """Mean distance of the kernel calibration curve from the identity."""

sece: _Sece

class _SkceB(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["median"] = "median",
        kernel: Literal["laplace", "gaussian"] = "laplace",
        interval: Any = None,
    ) -> Number:
        """Squared norm of the residual vectors in the kernel's Hilbert space."""

skce_b: _SkceB

class _SkceUl(Metric[LinearKernelTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        bandwidth: float | Literal["median"] = "median",
        kernel: Literal["laplace", "gaussian"] = "laplace",
        interval: Any = None,
    ) -> LinearKernelTest:
        """Unbiased squared kernel calibration error from disjoint pairs of consecutive rows."""

skce_ul: _SkceUl

class _SkceUq(Metric[KernelTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        bandwidth: float | Literal["median"] = "median",
        kernel: Literal["laplace", "gaussian"] = "laplace",
        method: Literal["spectral", "bootstrap"] = "spectral",
        draws: int = 1000,
        seed: int = 0,
        interval: Any = None,
    ) -> KernelTest:
        """Unbiased squared kernel calibration error, and a test of calibration by its limiting law."""

skce_uq: _SkceUq

class _Skde(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | Literal["normal", "silverman", "median", "cv"] = "normal",
        norm: float = 1.0,
        interval: Any = None,
    ) -> Number:
        """Distance of the smoothed calibration curve from the identity, weighted by the density of the confidences."""

skde: _Skde

class _Smece(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        bandwidth: float | None = None,
        interval: Any = None,
    ) -> Number:
        """Calibration error smoothed at its own scale: free of bins and of a bandwidth to choose."""

smece: _Smece

class _SmoothCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Largest mean gain of a bounded 1-Lipschitz bet on the residuals: within a square of the distance to calibration."""

smooth_ce: _SmoothCe

class _Cis(Metric[CoxFit]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> CoxFit:
        """Intercept and slope of the outcome's log odds against the stated ones: 0 and 1 when calibrated."""

cis: _Cis

class _Corp(Metric[ScoreParts]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        score: Literal["brier", "log"] = "brier",
        interval: Any = None,
    ) -> ScoreParts:
        """The mean score split into miscalibration, discrimination and uncertainty by isotonic regression."""

corp: _Corp

class _E50(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        span: float = 0.75,
        degree: int = 2,
        interval: Any = None,
    ) -> Number:
        """Half of the rows lie closer to the smoothed calibration curve than this."""

e50: _E50

class _E90(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        span: float = 0.75,
        degree: int = 2,
        interval: Any = None,
    ) -> Number:
        """Nine rows in ten lie closer to the smoothed calibration curve than this."""

e90: _E90

class _EcePl(Metric[PiecewiseError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        segments: int | None = None,
        folds: int = 10,
        max_segments: int = 16,
        ensemble: bool = True,
        ridge: float = 1e-06,
        norm: float = 1,
        interval: Any = None,
    ) -> PiecewiseError:
        """Mean distance between the confidences and a piecewise-linear map fitted to the same rows."""

ece_pl: _EcePl

class _EcePl3(Metric[PiecewiseError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        segments: int | None = None,
        folds: int = 10,
        max_segments: int = 16,
        ensemble: bool = True,
        ridge: float = 1e-06,
        norm: float = 1,
        interval: Any = None,
    ) -> PiecewiseError:
        """Mean distance between the confidences and a map that is piecewise linear between logits."""

ece_pl3: _EcePl3

class _Eci(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        knots: int = 4,
        scale: Literal["mean", "percent"] = "mean",
        interval: Any = None,
    ) -> Number:
        """Mean squared distance between the probabilities and a smooth recalibration of them."""

eci: _Eci

class _Emax(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        span: float = 0.75,
        degree: int = 2,
        interval: Any = None,
    ) -> Number:
        """Largest distance of the smoothed calibration curve from the diagonal at any row."""

emax: _Emax

class _ErrorPercentile(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        span: float = 0.75,
        degree: int = 2,
        percentile: float = 90,
        interval: Any = None,
    ) -> Number:
        """A chosen percentile of the distance between the smoothed calibration curve and the diagonal."""

error_percentile: _ErrorPercentile

class _FottBeta(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        norm: float = 1,
        interval: Any = None,
    ) -> Number:
        """Mean distance between the confidences and the beta map fitted to the same rows."""

fott_beta: _FottBeta

class _FottIsotonic(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        norm: float = 1,
        interval: Any = None,
    ) -> Number:
        """Mean distance between the confidences and their isotonic regression on the same rows."""

fott_isotonic: _FottIsotonic

class _FottPlatt(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        space: Literal["logit", "probability"] = "logit",
        norm: float = 1,
        interval: Any = None,
    ) -> Number:
        """Mean distance between the confidences and Platt's map fitted to the same rows."""

fott_platt: _FottPlatt

class _FottSpline(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        knots: int = 6,
        norm: float = 1,
        interval: Any = None,
    ) -> Number:
        """Mean slope of a smooth fit to the cumulated differences between outcome and confidence."""

fott_spline: _FottSpline

class _Ici(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        span: float = 0.75,
        degree: int = 2,
        interval: Any = None,
    ) -> Number:
        """Mean distance of the smoothed calibration curve from the diagonal."""

ici: _Ici

class _KnnChi2(Metric[NearestTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        at: Any = None,
        k: int = 50,
        expected: Literal["anchor", "neighbours"] = "anchor",
        interval: Any = None,
    ) -> NearestTest:
        """Whether the outcomes of the rows nearest to a prediction occur as often as it says."""

knn_chi2: _KnnChi2

class _KnnChi2Power(Metric[NeighbourPower]):
    def __call__(
        self,
        y_prob: Any,
        *,
        k: Any = ...,
        concentration: float = 50.0,
        alpha: float = 0.05,
        draws: int = 2000,
        seed: int = 0,
        interval: Any = None,
    ) -> NeighbourPower:
        """How likely knn_chi2 finds out a model that is off, as a curve over the number of neighbours; value is the last."""

knn_chi2_power: _KnnChi2Power

class _LoessCurve(Metric[Any]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        at: Any = 0.5,
        span: float = 0.75,
        degree: int = 2,
        interval: Any = None,
    ) -> Any:
        """Frequency of the outcome at a confidence, smoothed over its neighbours; the identity when calibrated."""

loess_curve: _LoessCurve

class _Pws(Metric[ParabolaTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        covariance: Literal["HC0", "HC1", "null", "ols"] = "HC0",
        interval: Any = None,
    ) -> ParabolaTest:
        """Wald test that a parabola fitted to the outcomes is the diagonal."""

pws: _Pws

class _Sbct(Metric[BetaTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> BetaTest:
        """Area between the fitted beta map and the diagonal, and two tests that it is only chance."""

sbct: _Sbct

class _Bbt(Metric[BridgeTest]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        method: Literal["BB", "BB1p", "BM", "BM2p"] = "BB",
        reduction: Literal["top", "within", "class"] = "top",
        k: int = 1,
        ties: Literal["group", "stable"] = "group",
        interval: Any = None,
    ) -> BridgeTest:
        """Test of calibration by the end of the walk and by its bridge, two independent parts joined by Fisher."""

bbt: _Bbt

class _BrownianTail(Metric[Any]):
    def __call__(
        self,
        statistic: Any,
        *,
        kind: Literal["max_abs", "range", "bridge", "max_abs_given_end"] = "max_abs",
        end: float = 0.0,
        tail: Literal["upper", "lower"] = "upper",
        interval: Any = None,
    ) -> Any:
        """Probability that a functional of Brownian motion is at least (or at most) as large as a statistic."""

brownian_tail: _BrownianTail

class _Cdp(Metric[CumulativeDifferences]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        reduction: Literal["top", "within", "class"] = "top",
        k: int = 1,
        ties: Literal["group", "stable"] = "group",
        interval: Any = None,
    ) -> CumulativeDifferences:
        """Running mean of outcome minus confidence, from the least confident row to the most confident one."""

cdp: _Cdp

class _EcceMad(Metric[CumulativeError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        reduction: Literal["top", "within", "class"] = "top",
        k: int = 1,
        ties: Literal["group", "stable"] = "group",
        interval: Any = None,
    ) -> CumulativeError:
        """Largest distance of the cumulative differences from 0: the Kolmogorov-Smirnov calibration error."""

ecce_mad: _EcceMad

class _EcceR(Metric[CumulativeError]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        reduction: Literal["top", "within", "class"] = "top",
        k: int = 1,
        ties: Literal["group", "stable"] = "group",
        interval: Any = None,
    ) -> CumulativeError:
        """Largest excess or lack of outcomes over any interval of confidence: the Kuiper calibration error."""

ecce_r: _EcceR

class _Mcm(Metric[MultiCalibration]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        features: Any = None,
        depth: int = 3,
        min_size: int = 10,
        include_all: bool = True,
        reduction: Literal["top", "within", "class"] = "top",
        k: int = 1,
        ties: Literal["group", "stable"] = "group",
        interval: Any = None,
    ) -> MultiCalibration:
        """Worst Kuiper calibration error over subpopulations, each in units of its own standard deviation."""

mcm: _Mcm

class _Accuracy(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Share of right answers."""

accuracy: _Accuracy

class _Auarc(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Mean accuracy of the answers kept, over all thresholds."""

auarc: _Auarc

class _Aurc(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Mean share of wrong answers over all thresholds: what is left wrong when the least confident answers are withheld."""

aurc: _Aurc

class _Auroc(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """Chance that a right answer has a higher confidence than a wrong one; equal ones count half."""

auroc: _Auroc

class _CoverageAtAccuracy(Metric[CoverageAtAccuracy]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        accuracy: float = 0.9,
        interval: Any = None,
    ) -> CoverageAtAccuracy:
        """The largest share of the answers that can be kept at an accuracy."""

coverage_at_accuracy: _CoverageAtAccuracy

class _EAurc(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        interval: Any = None,
    ) -> Number:
        """How far the risk-coverage area lies above that of confidences which put every wrong answer last."""

e_aurc: _EAurc

class _HleCe(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        per_bin: int = 100,
        as_printed: bool = False,
        interval: Any = None,
    ) -> Number:
        """Root mean square gap between confidence and accuracy in bins of a hundred answers."""

hle_ce: _HleCe

class _Prr(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        max_rejection: float = 1.0,
        interval: Any = None,
    ) -> Number:
        """How much of the possible gain from rejecting doubtful answers the confidence brings."""

prr: _Prr

class _SelectiveAccuracy(Metric[SelectiveAccuracy]):
    def __call__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        coverage: float = 0.8,
        interval: Any = None,
    ) -> SelectiveAccuracy:
        """Accuracy of the most confident answers, as many as the coverage asks for."""

selective_accuracy: _SelectiveAccuracy

class _DEce(Metric[DetectionError]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        variant: Literal["confidence", "location", "shape", "full"] = "confidence",
        bins: Any = None,
        min_count: int = 8,
        renormalise: bool = False,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        image_size: Any = ...,
        n_bins: int = ...,
        interval: Any = None,
    ) -> DetectionError:
        """Expected gap between precision and score over cells of score, place and shape."""

d_ece: _DEce

class _DetectionAce(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        bins: int = 10,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        n_bins: int = ...,
        interval: Any = None,
    ) -> Number:
        """Mean gap between precision and score over the score bins that hold detections."""

detection_ace: _DetectionAce

class _Egce(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        bins: int = 15,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.1,
        average: bool = True,
        n_bins: int = ...,
        interval: Any = None,
    ) -> Number:
        """Expected gap between precision and score in score bins, missed objects counted as sure mistakes."""

egce: _Egce

class _L1Cbod(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        bandwidth: float | Literal["loo"] = "loo",
        link: Literal["threshold", "identity"] = "threshold",
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        classwise: bool = False,
        interval: Any = None,
    ) -> Number:
        """Mean distance between the score and the precision that detections of similar score have."""

l1cbod: _L1Cbod

class _Laace0(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        score_threshold: float = 0.0,
        classes: Any = None,
        empty_classes: Literal["zero", "skip"] = "zero",
        interval: Any = None,
    ) -> Number:
        """Mean distance between score and IOU, detection by detection, averaged over classes."""

laace0: _Laace0

class _Laece(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        bins: int = 25,
        iou_threshold: float = 0.1,
        score_threshold: float = 0.0,
        classes: Any = None,
        empty_classes: Literal["zero", "skip"] = "zero",
        n_bins: int = ...,
        interval: Any = None,
    ) -> Number:
        """Gap between the score and precision times fit of the box, by class and score bin."""

laece: _Laece

class _Laece0(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        bins: int = 25,
        score_threshold: float = 0.0,
        classes: Any = None,
        empty_classes: Literal["zero", "skip"] = "zero",
        n_bins: int = ...,
        interval: Any = None,
    ) -> Number:
        """Gap between the score and the fit of the box to whatever it overlaps, by class and score bin."""

laece0: _Laece0

class _MatchDetections(Metric[Matching]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        interval: Any = None,
    ) -> Matching:
        """Which detections are correct: each takes the free object it overlaps most, best scores first."""

match_detections: _MatchDetections

class _Qgc(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        average: bool = True,
        interval: Any = None,
    ) -> Number:
        """Brier score of a detector: squared distance of each score from the truth, 1 for each missed object."""

qgc: _Qgc

class _Sgc(Metric[Number]):
    def __call__(
        self,
        truth_image: Any,
        truth_class: Any,
        truth_box: Any,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        iou_threshold: float = 0.5,
        score_threshold: float = 0.0,
        average: bool = True,
        interval: Any = None,
    ) -> Number:
        """Spherical score of a detector, turned so that 0 is best; 1 for each missed object."""

sgc: _Sgc

class _ClassConditionalCoverage(Metric[StrataCoverage]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        least_rows: int = 10,
        interval: Any = None,
    ) -> StrataCoverage:
        """The least coverage of any true class, and how far classes are from the level."""

class_conditional_coverage: _ClassConditionalCoverage

class _ConditionalCoverage(Metric[StrataCoverage]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        groups: Any,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        least_rows: int = 10,
        interval: Any = None,
    ) -> StrataCoverage:
        """The least coverage of any group, and how far groups are from the level."""

conditional_coverage: _ConditionalCoverage

class _Crps(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        estimator: Literal["fair", "energy"] = "energy",
        interval: Any = None,
    ) -> Number:
        """Distance of the stated distribution from what came true; of a point forecast the absolute error."""

crps: _Crps

class _IntervalScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        interval: Any = None,
    ) -> Number:
        """Width of the intervals, and a fine for every truth outside."""

interval_score: _IntervalScore

class _LogScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """Surprise at what came true under the stated normal law."""

log_score: _LogScore

class _MeanIntervalWidth(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        interval: Any = None,
    ) -> Number:
        """How wide the intervals are, in the unit of what is forecast."""

mean_interval_width: _MeanIntervalWidth

class _MiscalibrationArea(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        count: int = 99,
        interval: Any = None,
    ) -> Number:
        """Area between the curve of the quantiles and the diagonal."""

miscalibration_area: _MiscalibrationArea

class _MomentScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared error in units of the stated variance, plus the logarithm of that variance; for any law."""

moment_score: _MomentScore

class _NeesTest(Metric[NeesTest]):
    def __call__(
        self,
        y_true: Any,
        *,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        alpha: float = 0.05,
        interval: Any = None,
    ) -> NeesTest:
        """Whether errors of a Gaussian forecast are as large as its covariance says: above the region over-confident."""

nees_test: _NeesTest

class _NormalisedSquaredError(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """Squared error by the stated variance: above 1 over-confident, below 1 under-confident."""

normalised_squared_error: _NormalisedSquaredError

class _Picp(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        interval: Any = None,
    ) -> Number:
        """How often the interval holds the truth; a calibrated forecast covers as often as its level says."""

picp: _Picp

class _PinballLoss(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        quantile: float | None = None,
        interval: Any = None,
    ) -> Number:
        """How far quantiles are from what came true, each side weighed by its chance."""

pinball_loss: _PinballLoss

class _Pit(Metric[TransformHistogram]):
    def __call__(
        self,
        y_true: Any,
        *,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> TransformHistogram:
        """Where truths fall in the stated distributions, as counts in classes; flat is calibrated."""

pit: _Pit

class _PitTest(Metric[UniformityTest]):
    def __call__(
        self,
        y_true: Any,
        *,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        method: Literal["auto", "chi2", "ks", "cvm"] = "auto",
        bins: int = 10,
        interval: Any = None,
        n_bins: int = ...,
    ) -> UniformityTest:
        """Test whether truths fall everywhere in the stated distributions alike; a small p-value refutes calibration."""

pit_test: _PitTest

class _QuantileCalibrationError(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        count: int = 19,
        norm: float = 1.0,
        interval: Any = None,
    ) -> Number:
        """Mean gap between the level of a quantile and the share of truths at or below it."""

quantile_calibration_error: _QuantileCalibrationError

class _RpsCounts(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """Ranked probability score of forecasts of a count: of a certain forecast the absolute error."""

rps_counts: _RpsCounts

class _SetCoverage(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        interval: Any = None,
    ) -> Number:
        """How often the set holds the true label."""

set_coverage: _SetCoverage

class _SetSize(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """How many labels a set names on average."""

set_size: _SetSize

class _SizeStratifiedCoverage(Metric[StrataCoverage]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        level: float = 0.9,
        strata: int = 5,
        least_rows: int = 10,
        interval: Any = None,
    ) -> StrataCoverage:
        """The least coverage among rows whose intervals or sets are of similar size."""

size_stratified_coverage: _SizeStratifiedCoverage

class _WeightedIntervalScore(Metric[Number]):
    def __call__(
        self,
        y_true: Any,
        *,
        sample_weight: Any = None,
        mean: Any = None,
        std: Any = None,
        variance: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        members: Any = None,
        lower: Any = None,
        upper: Any = None,
        sets: Any = None,
        rate: Any = None,
        dispersion: Any = None,
        interval: Any = None,
    ) -> Number:
        """Interval scores of several levels and the error of the median in one number, near the CRPS."""

weighted_interval_score: _WeightedIntervalScore
