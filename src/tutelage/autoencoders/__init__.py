"""Can a code be trained to carry the information that was asked for (Phuong 2021, chapter 4)?

Start with :class:`MutualAutoencoder` (around any torch encoder and decoder), :func:`train_sentences` and
:class:`Exact` (what a model with one or two latent dimensions is, by quadrature).

To read, in this order: :mod:`.objective` (what is climbed), :mod:`.exact`, :mod:`.closed_forms`, :mod:`.steps` and
:mod:`.training` (Algorithm 4.1), :mod:`.bounds` (information where the latent is large), :mod:`.modules`, then
:mod:`.sequences` for sentences and :mod:`.rows` for images.
"""

from tutelage.autoencoders.closed_forms import best_elbo, infomax_of_table, normal_optimum
from tutelage.autoencoders.convolutions import conv_decoder, conv_encoder
from tutelage.autoencoders.exact import Exact
from tutelage.autoencoders.modules import MutualAutoencoder
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.rows import row_decoder
from tutelage.autoencoders.sentence_measures import reconstructions, sentence_bounds
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import InformationObjective, settled_adam

__all__ = [
    "Exact",
    "InformationObjective",
    "Model",
    "MutualAutoencoder",
    "best_elbo",
    "conv_decoder",
    "conv_encoder",
    "infomax_of_table",
    "normal_optimum",
    "reconstructions",
    "row_decoder",
    "sentence_bounds",
    "sentence_models",
    "settled_adam",
    "train_sentences",
]
