"""Which packages the table covers, and how much it says about which of their modules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Package:
    """A package of the table.

    ``tops`` are its top-level modules. Modules that ``skipped`` matches are left out; of those that ``names_only`` matches only
    the names are kept, without parameters and class members.
    """

    name: str
    tops: tuple[str, ...]
    names_only: str = r"(?!)"
    skipped: str = r"(?!)"
    unlisted: str = r"(?!)"
    """Modules that only gather what others define, under names that nobody uses: their names are left out."""
    complete_stubs: tuple[str, ...] = ()
    """Stubs of C extensions that are generated from what the extension defines, so that nothing is missing in them."""
    since: str = "0"
    """The first release that is read."""
    sources: tuple[str, ...] = field(default=("",))
    """Folders of a release that may hold the top-level modules; the first that has one counts."""

    def tells(self, key: str) -> bool:
        """Whether the table has rows of that key, one of a module or of a name in it."""
        module, colon, name = key.removesuffix(">").partition(":")
        if (
            name == "_import_structure"
        ):  # what a lazy module makes itself from, and has as an attribute in some releases
            return False
        return self.detail(module) != "none" and not (colon and re.match(self.unlisted, module))

    def detail(self, module: str) -> str:
        """``full``, ``names`` or ``none``."""
        if re.search(_TESTS, module) or re.match(self.skipped, module):
            return "none"
        return "names" if re.match(self.names_only, module) else "full"


_TESTS = r"(^|\.)(tests?|testing\._internal|_vendor|third_party|conftest|examples|benchmarks?)(\.|$)"

_NAMES = r".*"

PACKAGES: tuple[Package, ...] = (
    Package(
        "torch",
        since="1.6.0",
        complete_stubs=("torch._C._VariableFunctions",),
        tops=("torch", "functorch"),
        names_only=(
            r"functorch|torch\.(_C|_?ao|_decomp|_dispatch|_dynamo|_export|_functorch|_guards|_higher_order_ops|_inductor|_lazy"
            r"|_logging|_meta_registrations|_numpy|_ops|_prims\w*|_refs|_strobelight|_subclasses|contrib|export|fx|jit|masked|onnx"
            r"|package|quantization|sparse|testing|utils\.(benchmark|hipify|bottleneck|_sympy|tensorboard|viz|model_dump|backport)"
            r"|nn\.(intrinsic|qat|quantizable|quantized)|autograd\._functions|_jit_internal|_tensor_docs|_torch_docs|storage|overrides"
            r"|distributed\._tools|utils\.data\.datapipes|special|linalg|fft|signal|nested|_vmap_internals|nativert|numa)(\.|$)"
        ),
        skipped=r"torch\.(_inductor\.(?!config|utils|compile_fx)\w+|_dynamo\.(?!config|utils)\w+|onnx\.\w+|_refs\.|_prims\.|_numpy\.|testing\.\w+"
        r"|_export\.\w+|_functorch\._aot\w+|fx\.(experimental|passes)\.|ao\.\w+\.\w+\.|_higher_order_ops\.\w+|distributed\._tensor\.examples"
        r"|utils\.(hipify|benchmark|_strobelight)\.|utils\._sympy\.|_C\._jit_tree|contrib\.)",
    ),
    Package(
        "deepspeed",
        since="0.3.1",
        tops=("deepspeed",),
        names_only=r"deepspeed\.(model_implementations|inference\.v2\.model_implementations|inference\.v2\.kernels)(\.|$)",
    ),
    Package(
        "colossalai",
        ("colossalai",),
        names_only=r"colossalai\.(_analyzer|auto_parallel|fx|legacy\.(?!amp|engine|initialize|core|trainer|utils|context|zero)\w+|kernel|autochunk)(\.|$)",
    ),
    Package(
        "megatron-core",
        ("megatron",),
        names_only=r"megatron\.core\.(models\.(vision|retro|multimodal|mimo)|fusions|export)(\.|$)",
    ),
    Package("accelerate", ("accelerate",)),
    Package(
        "transformers",
        since="4.0.0",
        tops=("transformers",),
        names_only=r"transformers\.(models|pipelines|data|convert\w*|commands|agents|tools|kernels|onnx|sagemaker|benchmark|cli)(\.|$)",
        skipped=r"transformers\.(models\.\w+\.(convert_|tokenization_utils_|load_tf)|utils\.dummy_|testing_utils$)",
        unlisted=r"transformers\.models$",
    ),
    Package("peft", ("peft",), names_only=r"peft\.tuners\.\w+\.(?!config)\w+(\.|$)"),
    Package("trl", ("trl",)),
    Package(
        "lightning",
        since="1.8.0",
        tops=("lightning",),
        names_only=r"lightning\.(data|pytorch\.(demos|tuner)|__)(\.|$)",
        skipped=r"lightning\.(app|store)(\.|$)",
    ),
    Package(
        "pytorch-lightning",
        since="1.5.0",
        tops=("pytorch_lightning",),
        names_only=r"pytorch_lightning\.(demos|lite|_graveyard)(\.|$)",
    ),
    Package("bitsandbytes", since="0.35.0", tops=("bitsandbytes",)),
    Package("flash-attn", since="0.2.0", tops=("flash_attn",), names_only=r"flash_attn\.(ops\.triton|cute)(\.|$)"),
    Package(
        "huggingface-hub",
        since="0.4.0",
        tops=("huggingface_hub",),
        names_only=_NAMES,
        skipped=r"huggingface_hub\.(inference|cli|commands|_\w+)\.",
    ),
    Package(
        "diffusers",
        since="0.10.0",
        tops=("diffusers",),
        names_only=_NAMES,
        skipped=r"diffusers\.((models|pipelines|modular_pipelines)\.\w+\.|utils\.dummy_)",
    ),
    Package("datasets", since="1.18.0", tops=("datasets",), names_only=_NAMES),
    Package(
        "tokenizers",
        since="0.10.0",
        tops=("tokenizers",),
        names_only=_NAMES,
        sources=("", "py_src", "bindings/python/py_src"),
    ),
    Package("safetensors", ("safetensors",), names_only=_NAMES, sources=("", "py_src", "bindings/python/py_src")),
    Package("sentence-transformers", since="2.0.0", tops=("sentence_transformers",), names_only=_NAMES),
    Package(
        "torchmetrics",
        since="0.7.0",
        tops=("torchmetrics",),
        names_only=_NAMES,
        skipped=r"torchmetrics\.functional\.\w+\.\w+",
    ),
    Package("pydantic", since="1.8", tops=("pydantic", "pydantic_v1"), names_only=_NAMES),
)

METADATA_ONLY: tuple[str, ...] = (
    "auto-gptq",
    "causal-conv1d",
    "einops",
    "evaluate",
    "fsspec",
    "liger-kernel",
    "lightning-fabric",
    "lightning-utilities",
    "mamba-ssm",
    "numpy",
    "optimum",
    "pandas",
    "protobuf",
    "pyarrow",
    "ray",
    "scikit-learn",
    "scipy",
    "setuptools",
    "timm",
    "torchao",
    "torchaudio",
    "torchdata",
    "torchtune",
    "torchvision",
    "transformer-engine",
    "triton",
    "vllm",
    "xformers",
)
"""Packages of which only what they require is taken: others of the table require them, or they require those."""

COVERED_TOPS = frozenset(top for package in PACKAGES for top in package.tops)


def package_named(name: str) -> Package:
    """The package of a name. Raises ``KeyError`` for one that the table does not cover."""
    for package in PACKAGES:
        if package.name == name:
            return package
    raise KeyError(name)
