"""What a deployment costs: prices, how often AWS is called for an event, and the sums of both."""
