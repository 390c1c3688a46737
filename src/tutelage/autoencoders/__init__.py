"""Representations with the information that was asked for (Phuong 2021, chapter 4)."""

from tutelage.autoencoders.bounds import Bounds, bounds
from tutelage.autoencoders.closed_forms import Infomax, NormalOptimum, best_elbo, infomax_of_table, normal_optimum
from tutelage.autoencoders.convolutions import conv_decoder, conv_encoder
from tutelage.autoencoders.exact import Exact, code, divergence, evaluate, grid, posterior
from tutelage.autoencoders.modules import MutualAutoencoder
from tutelage.autoencoders.objective import elbo, infomax
from tutelage.autoencoders.parts import Model, categorical_models, normal_models
from tutelage.autoencoders.records import Information
from tutelage.autoencoders.rows import row_decoder
from tutelage.autoencoders.sentence_files import load_sentences, save_sentences
from tutelage.autoencoders.sentence_measures import reconstructions, sentence_bounds
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import InformationObjective, SentenceObjective, settled_adam
from tutelage.autoencoders.training import TrainingHistory, train_models

__all__ = [
    "Bounds",
    "Exact",
    "Infomax",
    "Information",
    "InformationObjective",
    "Model",
    "MutualAutoencoder",
    "NormalOptimum",
    "SentenceObjective",
    "TrainingHistory",
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
    "load_sentences",
    "normal_models",
    "normal_optimum",
    "posterior",
    "reconstructions",
    "row_decoder",
    "save_sentences",
    "sentence_bounds",
    "sentence_models",
    "settled_adam",
    "train_models",
    "train_sentences",
]
