"""Rule files: one TOML file becomes one ``Rule``, or an error that says where it is wrong and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from distlint.judge import vocabulary
from distlint.judge.conditions import ConditionError, compile_condition
from distlint.judge.errors import RuleFileError
from distlint.judge.suggestion import did_you_mean, listing
from distlint.judge.tomltext import TomlText
from distlint.judge.versions import is_specifier
from distlint.judge.wording import compile_template
from distlint.model.finding import Safety, Severity
from distlint.model.rule import CheckSpec, FixSpec, ProofSpec, Rule
from distlint.model.value import Confidence

MAX_RULE_LENGTH = 64 * 1024

_CODE = re.compile(r"[A-Z]{2,8}[0-9]{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(\.\d+)*")

FIELDS: dict[str, type] = {
    "code": str,
    "name": str,
    "framework": str,
    "requires": list,
    "root-cause": str,
    "symptom": str,
    "stage": str,
    "bites": str,
    "fix-pattern": str,
    "severity": str,
    "confidence": str,
    "status": str,
    "since": str,
    "replaced-by": str,
    "versions": dict,
    "evidence": list,
    "summary": str,
    "explanation": str,
    "silence": str,
    "help": str,
    "check": dict,
    "fix": dict,
    "proof": dict,
}
PROOF_FIELDS: dict[str, type] = {
    "symptom": str,
    "run": list,
    "script": str,
    "arguments": list,
    "shows": str,
    "without": dict,
    "unless": str,
}
CHECK_FIELDS: dict[str, type | tuple[type, ...]] = {
    "subject": str,
    "when": str,
    "at": (str, list),
    "related": list,
    "message": str,
    "python": str,
    "parameters": dict,
}
VOCABULARIES: dict[str, frozenset[str]] = {
    "root-cause": vocabulary.ROOT_CAUSES,
    "symptom": vocabulary.SYMPTOMS,
    "stage": vocabulary.STAGES,
    "bites": vocabulary.BITES,
    "fix-pattern": vocabulary.FIX_PATTERNS,
    "severity": vocabulary.SEVERITIES,
    "confidence": vocabulary.CONFIDENCES,
    "status": vocabulary.STATUSES,
}
REQUIRED = ("code", "name", "framework", "root-cause", "symptom", "bites", "severity", "summary", "check")
REQUIRED_BUILT_IN = (
    *REQUIRED,
    "stage",
    "fix-pattern",
    "confidence",
    "status",
    "since",
    "evidence",
    "explanation",
    "silence",
)
_TYPE_NAMES = {str: "a string", list: "a list", dict: "a table"}


def parse_rule(text: str, source: str, *, built_in: bool = False) -> Rule:
    """The rule that a file's text states; ``source`` is its path. Raises ``RuleFileError``.

    ``built_in`` asks for what distlint's own rules must have: all fields, and a code whose digit fits its cause.
    """
    return _RuleFile(text, source, built_in).rule()


class _RuleFile:
    def __init__(self, text: str, source: str, built_in: bool) -> None:
        self.source = source
        self.built_in = built_in
        self.text = TomlText(text)
        if len(text) > MAX_RULE_LENGTH:
            raise RuleFileError(source, 1, f"longer than {MAX_RULE_LENGTH} characters")
        self.data = self._load(text)

    def _load(self, text: str) -> dict[str, Any]:
        import tomli

        try:
            return tomli.loads(text)
        except tomli.TOMLDecodeError as error:
            line, message = self.text.decode_error(error)
            raise RuleFileError(self.source, line, f"not TOML: {message}") from None
        except RecursionError:
            raise RuleFileError(self.source, 1, "not TOML: nested too deeply") from None

    def fail(self, table: str, key: str, message: str, offset: int = 0) -> RuleFileError:
        return RuleFileError(self.source, self.text.line_of(table, key) + offset, message)

    def rule(self) -> Rule:
        data = self.data
        self._fields("", data, FIELDS, REQUIRED_BUILT_IN if self.built_in else REQUIRED)
        for field, words in VOCABULARIES.items():
            self._word("", field, data.get(field), words)
        self._identity()
        fix, proof = data.get("fix"), data.get("proof")
        return Rule(
            code=data["code"],
            name=data["name"],
            framework=data["framework"],
            summary=data["summary"].strip(),
            explanation=data.get("explanation", "").strip(),
            silence=data.get("silence", "").strip(),
            severity=Severity.parse(data["severity"]),
            confidence=Confidence.parse(data.get("confidence", "certain")),
            bites=data["bites"],
            root_cause=data["root-cause"],
            symptom=data["symptom"],
            stage=data.get("stage", "training"),
            fix_pattern=data.get("fix-pattern", "parameter"),
            status=data.get("status", "stable"),
            since=data.get("since", ""),
            versions=self._versions(),
            evidence=self._strings("", "evidence", data.get("evidence", [])),
            check=self._check(data["check"]),
            help=self._template("", "help", data.get("help", "")),
            fix=None if fix is None else self._fix(fix),
            proof=None if proof is None else self._proof(proof),
            requires=self._strings("", "requires", data.get("requires", [])),
            replaced_by=data.get("replaced-by", ""),
            source=self.source,
        )

    def _fields(self, table: str, data: Mapping[str, Any], known: Mapping[str, Any], required: Iterable[str]) -> None:
        for key, value in data.items():
            if key not in known:
                raise self.fail(table, key, f"unknown field `{key}`{did_you_mean(key, known)}")
            kinds = known[key] if isinstance(known[key], tuple) else (known[key],)
            if not isinstance(value, kinds):
                wanted = " or ".join(_TYPE_NAMES[kind] for kind in kinds)
                raise self.fail(table, key, f"`{key}` has to be {wanted}")
        for key in required:
            if key not in data:
                raise self.fail(table, "", f"the field `{key}` is missing")
            if data[key] in ("", [], {}):
                raise self.fail(table, key, f"`{key}` must not be empty")

    def _word(self, table: str, key: str, word: str | None, words: frozenset[str]) -> None:
        if word is not None and word not in words:
            hint = did_you_mean(word, words) or f"; it may be {listing(words)}"
            raise self.fail(table, key, f"`{word}` is no {key}{hint}")

    def _identity(self) -> None:
        code, name, cause = self.data["code"], self.data["name"], self.data["root-cause"]
        if not _CODE.fullmatch(code):
            raise self.fail("", "code", f"`{code}` is no rule code: two to eight capital letters and three digits")
        if not _NAME.fullmatch(name):
            raise self.fail("", "name", f"`{name}` is no rule name: small letters and digits, joined by hyphens")
        digit = code[-3]
        if self.built_in and cause not in vocabulary.CAUSES_BY_DIGIT.get(digit, ()):
            raise self.fail("", "code", f"the digit {digit} of `{code}` does not stand for {cause}")
        if self.data.get("replaced-by") and self.data.get("status") != "deprecated":
            raise self.fail("", "replaced-by", "a rule that is replaced has the status `deprecated`")
        since = self.data.get("since", "")
        if since and not _VERSION.fullmatch(since):
            raise self.fail("", "since", f"`{since}` is no version of distlint")

    def _strings(self, table: str, key: str, items: list[Any]) -> tuple[str, ...]:
        if not all(isinstance(item, str) and item for item in items):
            raise self.fail(table, key, f"`{key}` has to be a list of strings")
        return tuple(items)

    def _versions(self) -> dict[str, str]:
        versions = self.data.get("versions", {})
        for package, specifier in versions.items():
            if not (isinstance(specifier, str) and is_specifier(specifier)):
                raise self.fail("", "versions", f"`{specifier}` is no version specifier for `{package}`")
        return dict(versions)

    def _check(self, check: dict[str, Any]) -> CheckSpec:
        python = check.get("python", "")
        needed = ("python",) if python or "when" not in check else ("subject", "when", "message")
        self._fields("check", check, CHECK_FIELDS, needed)
        if python and "when" in check:
            raise self.fail("check", "python", "a check has either `when` or `python`, not both")
        if not python and "parameters" in check and check.get("subject") != "call":
            raise self.fail("check", "parameters", "`parameters` belong to a check in Python, or to the subject `call`")
        if python and not _NAME.fullmatch(python):
            raise self.fail("check", "python", f"`{python}` is no name of a check")
        at = check.get("at", [])
        return CheckSpec(
            subject=check.get("subject", ""),
            when=self._condition(check.get("when", "")),
            at=(at,) if isinstance(at, str) else self._strings("check", "at", at),
            related=self._strings("check", "related", check.get("related", [])),
            message=self._template("check", "message", check.get("message", "")),
            python=python,
            parameters=check.get("parameters", {}),
        )

    def _condition(self, text: str) -> str:
        if text:
            try:
                compile_condition(text)
            except ConditionError as error:
                raise self.fail("check", "when", f"in `when`: {error}", error.line) from None
        return text

    def _template(self, table: str, key: str, text: str) -> str:
        # Multi-line strings are for the author's eyes; a message is one line.
        text = " ".join(text.split())
        try:
            compile_template(text)
        except ConditionError as error:
            raise self.fail(table, key, f"in `{key}`: {error}", error.line) from None
        return text

    def _fix(self, fix: dict[str, Any]) -> FixSpec:
        known = {"safety": str, "title": str, **vocabulary.FIX_STEPS}
        self._fields("fix", fix, known, ("safety", "title"))
        self._word("fix", "safety", fix["safety"], vocabulary.SAFETIES)
        steps = {key: value for key, value in fix.items() if key not in ("safety", "title")}
        for key, value in steps.items():
            if isinstance(value, list):
                self._strings("fix", key, value)
            for declared in value.values() if isinstance(value, dict) else ():
                if isinstance(declared, str):
                    self._template("fix", key, declared)
        return FixSpec(Safety.parse(fix["safety"]), self._template("fix", "title", fix["title"]), steps)

    def _proof(self, proof: dict[str, Any]) -> ProofSpec:
        self._fields("proof", proof, PROOF_FIELDS, ("unless",) if "unless" in proof else ("symptom",))
        others = [key for key in proof if key != "unless"]
        if "unless" in proof and others:
            raise self.fail("proof", others[0], f"`{others[0]}` has no place beside `unless`")
        self._word("proof", "symptom", proof.get("symptom"), frozenset(vocabulary.PROVEN_SYMPTOMS))
        run = self._strings("proof", "run", proof.get("run", ["torchrun"])) or ("",)
        self._word("proof", "run", run[0], vocabulary.LAUNCHERS)
        if ("shows" in proof) != (proof.get("symptom") == "exception"):
            raise self.fail("proof", "shows", "`shows` belongs to the symptom `exception`, which needs it")
        self._expression("proof", "shows", proof.get("shows", ""))
        reasons = proof.get("without", {})
        if not all(isinstance(reason, str) and reason for reason in reasons.values()):
            raise self.fail("proof", "without", "`without` has to give a reason for each case")
        return ProofSpec(
            symptom=proof.get("symptom", ""),
            run=run,
            script=proof.get("script", ""),
            arguments=self._strings("proof", "arguments", proof.get("arguments", [])),
            shows=proof.get("shows", ""),
            without=dict(reasons),
            unless=" ".join(proof.get("unless", "").split()),
        )

    def _expression(self, table: str, key: str, text: str) -> None:
        try:
            re.compile(text)
        except re.error as error:
            raise self.fail(table, key, f"in `{key}`: no regular expression: {error}") from None
