"""scikit-learn's own checks."""

from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import steadyset as ss

# A weight of 2 doubles a row inside the bags that hold it; a row that stands twice is drawn twice as often. Weights go
# to the learner and never into the draw, so that the two cannot agree.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "weights go to the learner, never into the draw of bags",
    "check_sample_weight_equivalence_on_sparse_data": "weights go to the learner, never into the draw of bags",
}


@parametrize_with_checks(
    [
        ss.StableClassifier(n_estimators=10, random_state=0),
        ss.StableClassifier(
            DecisionTreeClassifier(max_depth=5), n_estimators=10, max_samples=0.4, oob_score=True, random_state=0
        ),
        ss.StableClassifier(LogisticRegression(), n_estimators=10, random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_the_declared_checks_fail_and_no_others():
    found = check_estimator(
        ss.StableClassifier(n_estimators=5, random_state=0), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None
    )
    status = {check["check_name"]: check["status"] for check in found}
    assert {name for name, came in status.items() if came == "xfail"} == set(EXPECTED)
    assert set(status.values()) <= {"passed", "xfail", "skipped"}
    assert all(name in ss.StableClassifier.__doc__ or name.endswith("_on_sparse_data") for name in EXPECTED)
