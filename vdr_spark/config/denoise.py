"""The section `denoise`: which model, and how networks are trained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from vdr_spark.config.settings import Section


class AutoencoderSettings(Section):
    """What the paper's model and its continuous sibling have in common."""

    epochs: int = Field(default=60, ge=1, description="at most so many")
    patience: int | None = Field(
        default=10, ge=1, description="epochs without a better measure that end it; null: never"
    )
    validation_share: float = Field(
        default=0.1, ge=0, lt=1, description="of the slices, which are kept for the measure"
    )
    batch_size: int = Field(default=8, ge=1, description="slices, or crops of them, in a step")
    learning_rate: float = Field(default=3e-4, gt=0, description="of the optimiser, at most; it falls along a cosine")
    alpha: float = Field(default=1.0, ge=0, description="weight of the regularisation; near 0 is the plain autoencoder")
    channels: int = Field(default=64, ge=4, description="of the hidden layers")
    resolutions: int = Field(default=3, ge=1, le=4, description="r: slices aggregated over 1x1 .. r x r blocks")
    asinh: bool = Field(
        default=True, description="asinh of counts in deviations of the noise: peaks and empty country at one scale"
    )
    crop_size: int | None = Field(
        default=None,
        ge=16,
        description="train on crops of this side, most of them where it is busy; null: whole slices",
    )
    checkpoint_every: int = Field(default=5, ge=1, description="epochs")
    seed: int = Field(default=0, ge=0, description="of initial weights and of the order of slices, never of noise")


class VqvaeSettings(AutoencoderSettings):
    """The paper's model: its bottleneck is a codebook."""

    # What trained it best on SF cabs; an epoch shows as many pixels as the slices have at all resolutions.
    epochs: int = Field(default=10, ge=1, description="at most so many")
    batch_size: int = Field(default=16, ge=1, description="slices, or crops of them, in a step")
    learning_rate: float = Field(default=2e-3, gt=0, description="of the optimiser, at most; it falls along a cosine")
    asinh: bool = Field(
        default=False, description="asinh of counts in deviations of the noise: peaks and empty country at one scale"
    )
    crop_size: int | None = Field(
        default=64,
        ge=16,
        description="train on crops of this side, most of them where it is busy; null: whole slices",
    )
    checkpoint_every: int = Field(default=1, ge=1, description="epochs")
    codebook_size: int = Field(default=128, ge=2, description="number of codes")
    ema_decay: float = Field(default=0.99, gt=0, lt=1, description="of the moving averages that codes follow")
    commitment_weight: float = Field(default=0.25, ge=0, description="weight of keeping to the codes")


class VaeSettings(AutoencoderSettings):
    """The same with a continuous bottleneck, as the paper compares it."""

    alpha: float = Field(
        default=0.01, ge=0, description="weight of the regularisation; near 0 is the plain autoencoder"
    )


class BlindspotSettings(Section):
    """A small network that corrects the ridge regression, blind to the cell it predicts."""

    steps: int = Field(default=400, ge=1, description="of training")
    batch_size: int = Field(default=16, ge=1, description="slices, or crops of them, in a step")
    crop_size: int = Field(default=64, ge=8, description="train on random crops of this side")
    learning_rate: float = Field(default=2e-3, gt=0, description="of the optimiser")
    seed: int = Field(default=0, ge=0, description="of initial weights and crops, never of noise")


Model = Literal["identity", "temporal", "ridge", "blindspot", "vqvae", "vae"]


class DenoiseSettings(Section):
    """Which model denoises, and how networks are trained."""

    model: Literal["auto", "identity", "temporal", "ridge", "blindspot", "vqvae", "vae"] = Field(
        default="auto", description="`auto`: of the candidates the one with the least estimated error"
    )
    candidates: list[Model] = Field(
        default=["identity", "temporal", "ridge", "blindspot"], min_length=1, description="that `auto` tries"
    )
    fusion: bool = Field(
        default=True,
        description="combine the model's prior with the noisy counts, and give error bars; without it what a network "
        "lets through of the noise adds up in empty country",
    )
    blindspot: BlindspotSettings = Field(default=BlindspotSettings(), description="training of that model")
    vqvae: VqvaeSettings = Field(default=VqvaeSettings(), description="training of the paper's model")
    vae: VaeSettings = Field(default=VaeSettings(), description="training of its continuous sibling")
    # How a network is trained. None of this is part of a release: another machine may continue.
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="where networks are trained")
    precision: Literal["auto", "float32", "mixed"] = Field(
        default="auto", description="`auto`: mixed (bfloat16) on a GPU that has it, never on a CPU"
    )
    compile: bool = Field(
        default=False, description="torch.compile, which needs a C++ compiler, and minutes before the first step"
    )
    processes: int = Field(default=1, ge=1, description="that train together, started by Spark's TorchDistributor")
    processes_on: Literal["driver", "executors"] = Field(default="driver", description="where they run")

    @model_validator(mode="after")
    def _something_to_fuse(self) -> DenoiseSettings:
        if self.model == "identity" and self.fusion and "fusion" in self.model_fields_set:
            raise ValueError("`fusion: true` needs a model; `identity` has no prior to combine the counts with")
        return self

    @property
    def uses_fusion(self) -> bool:
        """Whether a model's prior is combined with the noisy counts."""
        return self.fusion and self.model != "identity"

    @property
    def models(self) -> list[Model]:
        """The models that are run: the one that is named, or all candidates."""
        return list(dict.fromkeys(self.candidates)) if self.model == "auto" else [self.model]

    def autoencoder(self, model: str) -> AutoencoderSettings:
        """Return the settings of the paper's model, or of its continuous sibling."""
        return self.vqvae if model == "vqvae" else self.vae

    @property
    def network_settings(self) -> dict[str, Section]:
        """The settings of those of the models run that are trained, by name."""
        networks: dict[str, Section] = {"vqvae": self.vqvae, "vae": self.vae, "blindspot": self.blindspot}
        return {model: settings for model, settings in networks.items() if model in self.models}
