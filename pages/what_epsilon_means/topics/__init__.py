"""The topics, in the order in which a lecture takes them."""

from . import game, groups, posterior, privacy_loss, processing, renyi, response, tradeoff, worst_event

TOPICS = (
    worst_event.TOPIC, privacy_loss.TOPIC, game.TOPIC, posterior.TOPIC, tradeoff.TOPIC, renyi.TOPIC, groups.TOPIC,
    processing.TOPIC, response.TOPIC,
)  # fmt: skip
