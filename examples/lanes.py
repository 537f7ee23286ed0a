"""Forty networks on forty bags of digits, trained side by side: run with `python examples/lanes.py`."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import steadyset as ss
from steadyset import lanes

X, y = load_digits(return_X_y=True)
images = X.reshape(-1, 8, 8).astype(np.float32) / 16
train, test, y_train, y_test = train_test_split(images, y, test_size=300, random_state=0)

net = lanes.NetClassifier(
    [
        lanes.Conv2d(8, 3),
        lanes.ReLU(),
        lanes.MaxPool2d(2),
        lanes.Flatten(),
        lanes.Linear(32),
        lanes.ReLU(),
        lanes.Linear(),
    ],
    epochs=8,
    batch_size=16,
    learning_rate=0.02,
    scale="minus_one_one",
)
rng = np.random.default_rng(0)
bags = [np.sort(rng.choice(len(train), len(train) // 2, replace=False)) for _ in range(40)]

total = np.zeros((len(test), 10))
for group in net.fit_bags(train, y_train, bags, seeds=range(40), n_jobs=2):
    proba = group.predict_proba(test)
    total += proba.sum(axis=0)
    print(
        f"bags {group.numbers[0]} to {group.numbers[-1]}: mean accuracy {(proba.argmax(axis=2) == y_test).mean():.3f}"
    )

mean = total / 40
accuracy = (mean.argmax(axis=1) == y_test).mean()
sets = ss.inflated_argmax(mean, 0.2)
print(f"mean of all bags: accuracy {accuracy:.3f}, mean size of the sets at epsilon 0.2: {sets.sum(axis=1).mean():.3f}")
