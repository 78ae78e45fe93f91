"""The collectives of Megatron-LM's helpers.

Sources: Megatron-LM core 0.14, ``core/tensor_parallel/mappings.py``, ``core/pipeline_parallel/p2p_communication.py``,
``core/parallel_state.py``, ``training/checkpointing.py``. Those over groups of their own are left out: which ranks share one can't be told.
"""

from __future__ import annotations

from distlint.model.framework import CollectiveSpec

COLLECTIVES = (
    CollectiveSpec("megatron.core.parallel_state.initialize_model_parallel", "initialize_model_parallel"),
    CollectiveSpec("megatron.core.mpu.initialize_model_parallel", "initialize_model_parallel"),
    CollectiveSpec("megatron.training.checkpointing.save_checkpoint", "Megatron save_checkpoint"),
    CollectiveSpec("megatron.training.checkpointing.load_checkpoint", "Megatron load_checkpoint"),
    CollectiveSpec("megatron.core.dist_checkpointing.save", "dist_checkpointing.save"),
    CollectiveSpec("megatron.core.dist_checkpointing.load", "dist_checkpointing.load"),
)
