"""What skops has to trust to load a saved StableClassifier: plain data, nothing that runs on loading."""

TRUSTED_TYPES = [
    "sklearn.tree._tree.Tree",
    "steadyset.bags._bags.Bags",
    "steadyset.bags._bags.Part",
    "steadyset.bags._membership.Bits",
    "steadyset.bags._membership.Indices",
    "steadyset.ensemble._classifier.StableClassifier",
    "steadyset.ensemble._members.Member",
    "steadyset.selection._argmax.Argmax",
    "steadyset.selection._fixed_margin.FixedMargin",
    "steadyset.selection._inflated_argmax.InflatedArgmax",
    "steadyset.selection._mass_threshold.MassThreshold",
    "steadyset.selection._ndc.NDC",
    "steadyset.selection._svbop.SVBOP",
    "steadyset.selection._top_k.TopK",
]
