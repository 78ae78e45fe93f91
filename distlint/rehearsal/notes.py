"""What the frameworks' models call what they see, for the checks that read it: faults, and what a process keeps (``Stage.kept``)."""

from __future__ import annotations

LEFT_OUT = "layers left out of a pass"
"""Fault: parameters are waited for that get no gradient."""
GRAPH_CHANGED = "graph of a pass changed"
"""Fault: other parameters get a gradient than in the first pass."""
SCALED_USE = "scaled gradients used"
"""Fault: gradients are clipped or stepped with while they are scaled."""
BESIDE = "parts trained beside wrapped models"
"""Fault: parameters are stepped whose gradients nobody averages."""
GRADIENTS_BY_HAND = "gradients by hand"
"""Kept once the program brings gradients together itself."""
SCALER_ORDER = "order of a scaler"
"""Fault: a gradient scaler is asked for what it refuses."""
OWN_ORDER = "own order"
"""Fault: processes meet in a loop that goes through things in an order of each one's own. It shows in any turn of loops around."""

WEIGHTS_CHANGED = "layers whose weights were changed by hand"
LAYERS_USED = "layers and where they were used"
WEIGHTS_EVENED = "layers whose weights came from elsewhere once training was under way"
