"""The topics, in the order in which a lecture takes them."""

from . import budget, growth, subsampling, training

TOPICS = (growth.TOPIC, budget.TOPIC, subsampling.TOPIC, training.TOPIC)
