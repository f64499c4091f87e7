"""Why a document gives no client."""

from enum import Enum


class Problem(Enum):
    """What kind of fault it is."""

    UNREACHABLE = "there is no answer that can be used"
    INVALID = "the document does not describe a client of this URL"
    BUSY = "the document may not be fetched at the moment"


class DocumentRefused(Exception):
    """A document that gives no client. ``why`` is for operators, not for persons."""

    def __init__(self, problem: Problem, why: str) -> None:
        super().__init__(why)
        self.problem, self.why = problem, why
