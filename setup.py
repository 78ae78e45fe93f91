"""Build hook: ships the rule files inside the package, compiled into one index. All else is in ``pyproject.toml``."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
RULES = ROOT / "rules"


class BuildWithRules(build_py):
    """Copies ``rules/`` to ``distlint/rules`` with the index beside them; an editable install reads them in place."""

    def run(self) -> None:
        """Builds the package, then adds the rules."""
        super().run()
        if self.editable_mode:
            return
        sys.path.insert(0, str(ROOT))
        from distlint.judge.rulebook import INDEX_NAME, compile_folder

        target = Path(self.build_lib) / "distlint" / "rules"
        shutil.rmtree(target, ignore_errors=True)
        for source in self._rule_files():
            copy = target / source.relative_to(RULES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
        (target / INDEX_NAME).write_text(compile_folder(target, built_in=True), encoding="utf-8")

    def get_source_files(self) -> list[str]:
        """Names the rule files too, so that a source distribution holds them."""
        return [*super().get_source_files(), *(str(path.relative_to(ROOT)) for path in self._rule_files())]

    @staticmethod
    def _rule_files() -> list[Path]:
        return sorted([*RULES.rglob("*.toml"), *RULES.glob("advisories/*/*.json")])


setup(cmdclass={"build_py": BuildWithRules})
