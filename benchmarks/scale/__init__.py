"""How many events a second one stack carries: a model, a simulation, and the page docs/scale.md."""
