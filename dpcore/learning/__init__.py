"""Private learning: naïve Bayes and coordinate descent from noisy statistics, and what their noise costs.

The estimators for scikit-learn stand in `dpcore.learning.estimators`, which needs the extra `[learning]`.
"""
