"""Short sentences as rows of word numbers: drawn from a grammar, or read from a text file."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tutelage import draws
from tutelage.data.grammar import FILM_TALK, Grammar
from tutelage.errors import TutelageError

LONGEST = 8
"""Words of the longest sentence that is kept (Phuong 2021, sec. 4.6.3)."""
END, UNKNOWN = 0, 1
"""Numbers of what stands behind the last word, and of every word that is not in the vocabulary."""
_MARKS = ("", "<unknown>")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")  # letters and digits, with apostrophes inside


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as numbers [N, longest], 0 behind the last word, with the words behind the numbers.

    entropy: of the distribution the sentences come from, in nats; no code can say more about them.
    """

    train: Tensor
    test: Tensor
    words: tuple[str, ...]
    entropy: float
    grammar: Grammar | None = None

    @property
    def longest(self) -> int:
        return self.train.shape[1]

    def numbers(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Words to numbers: [N, longest]."""
        return _numbers(sentences, self.words, self.longest)

    def text(self, numbers: Tensor) -> list[str]:
        """Rows of numbers [N, longest] to sentences.

        >>> corpus = film_talk(20, 4)
        >>> corpus.numbers([t.split() for t in corpus.text(corpus.test)]).equal(corpus.test)
        True
        """
        return [" ".join(self.words[w] for w in row if w != END) for row in numbers.tolist()]

    def unrelated(self) -> float:
        """Share of a sentence's words that stand at the same place in another one of the distribution, on average.

        The places of a pair are independent draws of the distribution: sum over words of the product of their shares,
        over the mean length. Taken from all sentences held here.
        """
        rows = torch.cat([self.train, self.test])
        shares = torch.stack([(rows == w).double().mean(0) for w in range(1, len(self.words))])
        return float(shares.square().sum() / (rows != END).double().sum(1).mean())


def film_talk(train: int = 1 << 15, test: int = 2048, seed: int = 0) -> Corpus:
    """Sentences about films drawn from a small grammar with a known entropy.

    Parameters
    ----------
    train, test
        Numbers of sentences; those of the test set follow those of the training set in one random stream.
    seed
        Of the stream.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> corpus = film_talk(train=1000, test=100)
    >>> corpus.train.shape, round(corpus.entropy, 2)
    (torch.Size([1000, 8]), 10.94)
    """
    return from_grammar(FILM_TALK, train, test, seed)


def from_grammar(grammar: Grammar, train: int, test: int, seed: int = 0) -> Corpus:
    """Sentences of a grammar, with its exact entropy."""
    if train < 2 or test < 2:
        raise TutelageError("a corpus needs at least 2 sentences to train on and 2 to test on")
    drawn = grammar.draw(train + test, seed)
    words = (*_MARKS, *grammar.words)
    rows = _numbers(drawn, words, grammar.longest)
    return Corpus(rows[:train], rows[train:], words, grammar.entropy, grammar)


def read_sentences(
    path: Path | str, *, shortest: int = 1, longest: int = LONGEST, vocabulary: int = 2000, seed: int = 0
) -> Corpus:
    """Read the sentences of a text file.

    Lines are split at ``. ! ?`` as well, letters become lower case, and sentences with too many or too few words are
    left out. A tenth of the sentences is kept for testing.

    Parameters
    ----------
    path
        Text file in UTF-8.
    shortest, longest
        Words of the shortest and the longest sentence that are kept.
    vocabulary
        Number of words that are told apart, the most frequent first; all others share one.
    seed
        Decides which sentences are for testing.

    Returns
    -------
    Corpus
        Its entropy is that of the distribution that gives every sentence of the file the same weight.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "talk.txt"
    ...     _ = path.write_text("The cat sleeps. The dog runs! Does the cat run? The end.")
    ...     corpus = read_sentences(path)
    >>> len(corpus.train) + len(corpus.test)
    4
    """
    text = _read(Path(path))
    split = [tuple(_WORD.findall(piece.lower())) for piece in re.split(r"[.!?\n\r]+", text)]
    spoken = [words for words in split if words]
    if not spoken:
        raise TutelageError(f"there are no sentences in {path}: give a text with words in it")
    kept = [words for words in spoken if shortest <= len(words) <= longest]
    if len(kept) < 4:
        raise TutelageError(
            f"{len(kept)} of {len(spoken)} sentences in {path} have {shortest} to {longest} words, and 4 are "
            "needed: give a text with such sentences, or change the limits"
        )
    counts = Counter(word for words in kept for word in words)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:vocabulary]
    rows = _numbers(kept, (*_MARKS, *frequent), longest)
    _, again = torch.unique(rows, dim=0, return_counts=True)
    entropy = math.log(len(rows)) - float((again * again.log()).sum() / len(rows))
    order = draws.permutations(draws.keys([seed], "sentences"), len(rows), 0)[0]
    apart = max(2, len(rows) // 10)
    return Corpus(rows[order[apart:]], rows[order[:apart]], (*_MARKS, *frequent), entropy)


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TutelageError(f"{path} cannot be read ({error.strerror}): name a text file") from None
    except UnicodeDecodeError:
        raise TutelageError(f"{path} is no text in UTF-8: convert it, or name another file") from None
    if "\0" in text:
        raise TutelageError(f"{path} holds zero bytes and is no text: name a text file")
    return text


def _numbers(sentences: Sequence[Sequence[str]], words: Sequence[str], longest: int) -> Tensor:
    place = {word: number for number, word in enumerate(words)}
    rows = []
    for sentence in sentences:
        if len(sentence) > longest:
            raise TutelageError(f"'{' '.join(sentence)}' has more than {longest} words: shorten it")
        rows.append([place.get(word, UNKNOWN) for word in sentence] + [END] * (longest - len(sentence)))
    return torch.tensor(rows, dtype=torch.int64).view(len(sentences), longest)
