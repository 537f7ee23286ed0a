"""What skops has to trust to load a saved model: plain data, nothing that runs on loading."""

TRUSTED_TYPES = [
    "sklearn.tree._tree.Tree",
    "steadyset.bags._bags.Bags",
    "steadyset.bags._bags.Part",
    "steadyset.bags._membership.Bits",
    "steadyset.bags._membership.Indices",
    "steadyset.bags._row_ids.RowIds",
    "steadyset.ensemble._classifier.StableClassifier",
    "steadyset.ensemble._members.Member",
    "steadyset.neighbors._classifier.StableNeighborsClassifier",
    "steadyset.selection._argmax.Argmax",
    "steadyset.selection._fixed_margin.FixedMargin",
    "steadyset.selection._inflated_argmax.InflatedArgmax",
    "steadyset.selection._mass_threshold.MassThreshold",
    "steadyset.selection._ndc.NDC",
    "steadyset.selection._svbop.SVBOP",
    "steadyset.selection._top_k.TopK",
    "steadyset.trees._columns.Columns",
    "steadyset.trees._group.TreeGroup",
    "steadyset.trees._tree.TreeClassifier",
]
