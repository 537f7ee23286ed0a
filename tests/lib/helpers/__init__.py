"""What several test files share: oracles, grids of inputs, strategies, browsers and processes."""
