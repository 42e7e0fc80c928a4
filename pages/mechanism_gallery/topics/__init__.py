"""The topics of the gallery in the order of a lecture. A new one adds its module and its line here."""

from __future__ import annotations

from pages.lessons.topic import Topic

from . import (
    additive_noise,
    all_questions,
    exponential_mechanism,
    local_central,
    marginals,
    neighbours,
    never_meet,
    noisy_max,
    norm_gradient,
    objective_perturbation,
    private_quantiles,
    private_regression,
    randomised_response,
    reconstruction,
    subsample_aggregate,
)

TOPICS: tuple[Topic, ...] = (
    reconstruction.TOPIC,
    all_questions.TOPIC,
    randomised_response.TOPIC,
    additive_noise.TOPIC,
    private_regression.TOPIC,
    neighbours.TOPIC,
    local_central.TOPIC,
    noisy_max.TOPIC,
    objective_perturbation.TOPIC,
    exponential_mechanism.TOPIC,
    private_quantiles.TOPIC,
    norm_gradient.TOPIC,
    subsample_aggregate.TOPIC,
    marginals.TOPIC,
    never_meet.TOPIC,
)  # fmt: skip
