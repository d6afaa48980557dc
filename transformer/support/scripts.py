"""Count the words of lines, also in scripts without blanks between words."""

import re

# Letters, and how many of them make a word: Chinese has 1.6 to 1.8 characters a word, Japanese 2 to 2.5, and Thai, Lao,
# Khmer, Burmese and Tibetan have 4 to 7 with their marks.
_LETTERS = (
    (re.compile(r"[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 2),
    (re.compile(r"[\u0e01-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3]"), 5),
)
_HAS_LETTERS = re.compile(r"\w")


def count_words(line: str) -> int:
    """The number of words in a line: blanks separate them. In a script without blanks, it is estimated from letters.

    Two characters of Chinese or Japanese count as a word, and five of Thai, Lao, Khmer, Burmese or Tibetan. If blanks
    separate more words than are estimated, somebody has put blanks between words, and these count.
    """
    words = len(line.split())
    if line.isascii():
        return words
    estimated, rest = 0, line
    for letters, word in _LETTERS:
        rest, count = letters.subn(" ", rest)
        estimated += -(-count // word)
    return max(words, estimated + sum(1 for each in rest.split() if _HAS_LETTERS.search(each))) if estimated else words
