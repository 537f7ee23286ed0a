"""The types that load without asking, each with what is checked of it; every other type asks."""

from collections.abc import Callable

from steadyset.tables._model_files import _histograms, _own_trees, _rules, _tables, _trees, _vectors
from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import insist

Check = Callable[[Made], None]


def _nothing(made: Made) -> None:
    """Its values go to Python and NumPy, which look before they follow."""


def _fitted(check: Check) -> Check:
    """Return the check for what was fitted; a prototype that was not holds nothing but its arguments."""

    def check_fitted(estimator: Made) -> None:
        own = [name for name in estimator.state if name.startswith("_") or name.endswith("_")]
        if any(not name.startswith("_sklearn") for name in own):
            check(estimator)

    return check_fitted


def _losses(loss: Made) -> None:
    numbers = loss.args if isinstance(loss.args, tuple | list) else ()
    insist(all(isinstance(part, int | float) for part in numbers) and not loss.state, "a loss with odd arguments")


def _named(module: str, names: str) -> list[str]:
    return [f"{module}.{name}" for name in names.split()]


#: By the loader of skops that may make it: type, and the check of it.
_OBJECTS: dict[str, Check] = {
    **dict.fromkeys(
        _named("sklearn.tree._classes", "DecisionTreeClassifier DecisionTreeRegressor")
        + _named("sklearn.tree._classes", "ExtraTreeClassifier ExtraTreeRegressor"),
        _fitted(_trees.check_estimator),
    ),
    **dict.fromkeys(
        _named("sklearn.ensemble._forest", "RandomForestClassifier ExtraTreesClassifier"), _fitted(_trees.check_forest)
    ),
    "sklearn.ensemble._gb.GradientBoostingClassifier": _fitted(_trees.check_boosting),
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        _fitted(_histograms.check_boosting)
    ),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": _histograms.check_predictor,
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper": _histograms.check_bins,
    **dict.fromkeys(_named("sklearn.svm._classes", "SVC NuSVC"), _fitted(_vectors.check_svm)),
    "sklearn.neighbors._classification.KNeighborsClassifier": _fitted(_vectors.check_neighbors),
    "sklearn.neighbors._classification.RadiusNeighborsClassifier": _fitted(_vectors.check_radius_neighbors),
    "sklearn.preprocessing._encoders.OneHotEncoder": _fitted(_tables.check_one_hot),
    "steadyset.ensemble._classifier.StableClassifier": _tables.check_ensemble,
    "steadyset.ensemble._members.Member": _tables.check_member,
    "steadyset.bags._bags.Bags": _tables.check_bags,
    "steadyset.bags._membership.Bits": _tables.check_bits,
    "steadyset.bags._membership.Indices": _tables.check_indices,
    "steadyset.lanes._group.LaneGroup": _tables.check_lanes,
    "steadyset.neighbors._classifier.StableNeighborsClassifier": _fitted(_vectors.check_stable_neighbors),
    "steadyset.lanes._net.NetClassifier": _fitted(_tables.check_net),
    "steadyset.trees._columns.Columns": _own_trees.check_columns,
    "steadyset.trees._group.TreeGroup": _own_trees.check_group,
    "steadyset.trees._tree.TreeClassifier": _fitted(_own_trees.check_estimator),
    **dict.fromkeys(_rules.RULES, _rules.check_rule),
    **dict.fromkeys(
        [
            *_named("sklearn._loss.link", "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit"),
            *_named("sklearn._loss.loss", "ExponentialLoss HalfBinomialLoss HalfMultinomialLoss"),
            *_named("sklearn.compose._column_transformer", "ColumnTransformer _RemainderColsList"),
            "sklearn.decomposition._pca.PCA",
            *_named("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis"),
            "sklearn.dummy.DummyClassifier",
            "sklearn.ensemble._bagging.BaggingClassifier",
            "sklearn.ensemble._weight_boosting.AdaBoostClassifier",
            *_named("sklearn.impute._base", "MissingIndicator SimpleImputer"),
            *_named("sklearn.linear_model._logistic", "LogisticRegression LogisticRegressionCV"),
            "sklearn.linear_model._perceptron.Perceptron",
            *_named("sklearn.linear_model._ridge", "RidgeClassifier RidgeClassifierCV"),
            "sklearn.linear_model._stochastic_gradient.SGDClassifier",
            *_named("sklearn.naive_bayes", "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB"),
            "sklearn.neighbors._nearest_centroid.NearestCentroid",
            "sklearn.neural_network._multilayer_perceptron.MLPClassifier",
            *_named("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
            "sklearn.pipeline.Pipeline",
            *_named("sklearn.preprocessing._data", "MaxAbsScaler MinMaxScaler RobustScaler StandardScaler"),
            "sklearn.preprocessing._discretization.KBinsDiscretizer",
            "sklearn.preprocessing._encoders.OrdinalEncoder",
            "sklearn.preprocessing._function_transformer.FunctionTransformer",
            *_named("sklearn.preprocessing._label", "LabelBinarizer LabelEncoder"),
            "sklearn.svm._classes.LinearSVC",
            "steadyset.bags._bags.Part",
            "steadyset.bags._row_ids.RowIds",
            "steadyset.lanes._trainer.Trained",
            "steadyset.tables._encoders.TableNumbers",
        ],
        _nothing,
    ),
}

_LOSSES = [
    *_named("sklearn._loss._loss", "CyExponentialLoss CyHalfBinomialLoss CyHalfMultinomialLoss"),
    *_named("_loss", "CyExponentialLoss CyHalfBinomialLoss CyHalfMultinomialLoss"),  # as older releases name it
    *_named("sklearn.linear_model._sgd_fast", "EpsilonInsensitive Hinge Log ModifiedHuber"),
    *_named("sklearn.linear_model._sgd_fast", "SquaredEpsilonInsensitive SquaredHinge"),
]

CHECKS: dict[tuple[str, str], Check] = {
    **{("ObjectNode", name): check for name, check in _OBJECTS.items()},
    ("ListNode", "sklearn.compose._column_transformer._RemainderColsList"): _nothing,
    **{("LossNode", name): _losses for name in _LOSSES},
    ("TreeNode", "sklearn.tree._tree.Tree"): _trees.check_tree,
    ("RandomStateNode", "numpy.random.mtrand.RandomState"): _tables.check_random_state,
    ("RandomGeneratorNode", "numpy.random._generator.Generator"): _tables.check_generator,
    ("DTypeNode", "numpy.dtype"): _nothing,
    ("SliceNode", "builtins.slice"): _nothing,
    ("PartialNode", "functools.partial"): _nothing,
    # HistGradientBoostingClassifier holds one; the functions of others ask.
    ("FunctionNode", "sklearn.utils.validation.check_array"): _nothing,
    **{("TypeNode", f"builtins.{name}"): _nothing for name in ("bool", "float", "int", "str")},
    **{("TypeNode", f"numpy.{name}"): _nothing for name in ("bool", "float32", "float64", "int32", "int64", "str_")},
}

#: What skops has to be told to trust, since it asks for it: types whose values are checked here.
TRUSTED = sorted({name for _, name in CHECKS})
