"""Representations with the information that was asked for (Phuong 2021, chapter 4)."""

from tutelage.autoencoders.bounds import Bounds, bounds
from tutelage.autoencoders.closed_forms import Infomax, NormalOptimum, best_elbo, infomax_of_table, normal_optimum
from tutelage.autoencoders.convolutions import conv_decoder, conv_encoder
from tutelage.autoencoders.exact import Exact, active_units, code, divergence, evaluate, grid, posterior
from tutelage.autoencoders.likelihoods import Likelihood
from tutelage.autoencoders.modules import MutualAutoencoder
from tutelage.autoencoders.objective import elbo, infomax, information_gain, log_weights, resampled_bound
from tutelage.autoencoders.parts import (
    CategoricalDecoder,
    Model,
    NormalDecoder,
    NormalEncoder,
    TableEncoder,
    categorical_models,
    normal_models,
)
from tutelage.autoencoders.records import Information, TrainingRecord
from tutelage.autoencoders.rows import row_decoder
from tutelage.autoencoders.sentence_files import load_sentences, save_sentences
from tutelage.autoencoders.sentence_measures import reconstructions, sentence_bounds
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import InformationObjective, SentenceObjective, settled_adam
from tutelage.autoencoders.training import (
    Sampler,
    TrainingHistory,
    normal_data,
    train_models,
    uniform_symbols,
)

__all__ = [
    "Bounds",
    "CategoricalDecoder",
    "Exact",
    "Infomax",
    "Information",
    "InformationObjective",
    "Likelihood",
    "Model",
    "MutualAutoencoder",
    "NormalDecoder",
    "NormalEncoder",
    "NormalOptimum",
    "Sampler",
    "SentenceObjective",
    "TableEncoder",
    "TrainingHistory",
    "TrainingRecord",
    "active_units",
    "best_elbo",
    "bounds",
    "categorical_models",
    "code",
    "conv_decoder",
    "conv_encoder",
    "divergence",
    "elbo",
    "evaluate",
    "grid",
    "infomax",
    "infomax_of_table",
    "information_gain",
    "load_sentences",
    "log_weights",
    "normal_data",
    "normal_models",
    "normal_optimum",
    "posterior",
    "reconstructions",
    "resampled_bound",
    "row_decoder",
    "save_sentences",
    "sentence_bounds",
    "sentence_models",
    "settled_adam",
    "train_models",
    "train_sentences",
    "uniform_symbols",
]
