"""A frozen encoder, then bagged heads: run with `python examples/deep_model.py`; it needs Fashion-MNIST and PyTorch.

A LeNet is trained on the first 30,000 images and never sees the other 30,000, whose rows the promise is about.
"""

import time

import numpy as np
import torch

import steadyset as ss
from steadyset import lanes
from steadyset.paper.fashion_mnist import load_images

EPSILON = 0.05
started = time.perf_counter(), time.process_time()


def told(what: str) -> None:
    """Print what was done, and the seconds, of the clock and of the CPU, since the last time."""
    global started
    now = time.perf_counter(), time.process_time()
    print(f"{what}: {now[0] - started[0]:.1f} s, {now[1] - started[1]:.1f} CPU s", flush=True)
    started = now


data = load_images()
others, rows, points = data.X_train[:30_000], data.X_train[30_000:], data.X_test
y_others, y_rows, y_points = data.y_train[:30_000], data.y_train[30_000:], data.y_test
told("images read")

encoder = lanes.NetClassifier(lanes.lenet5(), epochs=10, batch_size=64, scale="minus_one_one", random_state=0)
encoder.fit(others, y_others)
told(f"encoder trained on 30,000 other images, its own accuracy {encoder.score(points, y_points):.4f}")

trunk = torch.nn.Sequential(*list(encoder.to_torch())[:-1]).eval()


def embed(images: np.ndarray) -> np.ndarray:
    """Return what the network computes before its last layer."""
    with torch.no_grad():
        parts = [trunk(torch.as_tensor(encoder.scaled(images[i : i + 1000]))) for i in range(0, len(images), 1000)]
    return torch.cat(parts).numpy()


Z, Z_points = embed(rows), embed(points)
told(f"40,000 images embedded in {Z.shape[1]} numbers")

for name, size in {"half bags": 0.5, "bags of a twentieth": 0.05}.items():
    model = ss.StableNeighborsClassifier(10, max_samples=size, epsilon=EPSILON).fit(Z, y_rows)
    proba = model.predict_proba(Z_points)
    accuracy = np.mean(model.classes_[proba.argmax(axis=1)] == y_points)
    sets = model.rule_(proba)
    told(f"stable neighbours, {name}: accuracy {accuracy:.4f}, mean set size {sets.sum(axis=1).mean():.3f}")
    audit = model.audit(Z_points)
    delta = model.guarantee().delta
    told(f"  audit of all 30,000 rows: largest instability {audit.max_instability:.2g}, promised {delta:.2g}")

head = lanes.NetClassifier([lanes.Linear()], epochs=5, batch_size=64, learning_rate=0.05)
heads = ss.StableClassifier(head, n_estimators=1000, max_samples=0.05, epsilon=EPSILON, random_state=0, n_jobs=-1)
predictions = heads.fit_predict_bags(Z, y_rows, Z_points)
accuracy = np.mean(predictions.mean().argmax(axis=1) == y_points)
told(f"1,000 softmax regressions, bags of a twentieth: accuracy {accuracy:.4f}")
promise = ss.selection_stability(n_samples=30_000, bag_size=1500, epsilon=EPSILON, n_classes=10, n_bags=1000)
audit = ss.audit_bags(predictions, ss.InflatedArgmax(EPSILON))
told(f"  audit: largest instability {audit.max_instability:.2g}, promised {promise.delta:.2g}")
