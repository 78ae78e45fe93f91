"""Recipes of tests (YAML files with ``MODEL_ARGS``) as Megatron's command lines."""

from __future__ import annotations

from distlint.frameworks.megatron.recipes import recipe_launches
from distlint.frameworks.megatron.subjects import build
from distlint.model.launch import Launch
from tests.conftest import MakeProject

CASE = "tests/functional_tests/test_cases/gpt/small/model_config.yaml"
OPTIONS = """ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
  NCCL_ALGO: ${ALGORITHM}
TEST_TYPE: regular
MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --num-attention-heads: 8
  --tensor-model-parallel-size: 2
  --pipeline-model-parallel-size: 1
  --micro-batch-size: 4
  --bf16: true
  --rampup-batch-size: "[8 8 1000]"
  --data-path: ${DATA_PATH}/text
  --split: 949,50,1
  --pipeline-model-parallel-layout: Et\\\\|(tt\\\\|)*3L
  --moe-layer-freq: ([0]*3+[1]*9)
"""
RECIPE = """type: basic
spec:
  model: gpt
  nodes: 2
  gpus: 4
  script: |-
    export GPUS_PER_NODE={gpus}
    ARGUMENTS=(
        "TRAINING_SCRIPT_PATH=pretrain_gpt.py"
        "TRAINING_PARAMS_PATH=./tests/functional_tests/test_cases/{model}/{test_case}/model_config.yaml"
    )
    bash ./tests/run_test.sh ${{ARGUMENTS[@]}}
products:
  - test_case: [small, other]
    products:
      - environment: [dev]
"""
RUNNER = "PARAMS=$(yq '.MODEL_ARGS | to_entries' \"$TRAINING_PARAMS_PATH\")\n"


def launches(make_project: MakeProject, **texts: str) -> list[Launch]:
    places = {"case": CASE, "recipe": "tests/test_utils/recipes/h100/gpt.yaml", "runner": "tests/run_test.sh"}
    return list(recipe_launches(make_project({places[name]: text for name, text in texts.items()})))


def words(launch: Launch) -> list[str]:
    return [str(word.value.only) if word.value.is_known else "?" for word in launch.arguments]


def test_options_become_words_as_the_runner_makes_them(make_project: MakeProject) -> None:
    (launch,) = launches(make_project, case=OPTIONS)
    text = " ".join(words(launch))
    assert "--bf16 --rampup-batch-size 8 8 1000 --data-path ? --split 949,50,1" in text
    assert "--pipeline-model-parallel-layout Et|(tt|)*3L --moe-layer-freq ([0]*3+[1]*9)" in text
    assert launch.environment["CUDA_DEVICE_MAX_CONNECTIONS"].only == "1"
    assert launch.environment["NCCL_ALGO"].is_unknown


def test_the_recipe_says_how_many_processes_and_which_script(make_project: MakeProject) -> None:
    (launch,) = launches(make_project, case=OPTIONS, recipe=RECIPE)
    assert (launch.nodes.only, launch.processes_per_node.only, launch.world_size.only) == (2, 4, 8)
    assert launch.script.only == "pretrain_gpt.py"
    (alone,) = launches(make_project, case=OPTIONS)
    assert alone.world_size.is_unknown
    (foreign,) = launches(make_project, case=OPTIONS, recipe=RECIPE.replace("small", "another"))
    assert foreign.world_size.is_unknown


def test_without_a_number_eight_devices_are_eight_processes(make_project: MakeProject) -> None:
    usual = RECIPE.replace("    export GPUS_PER_NODE={gpus}\n", "").replace("gpus: 4", "gpus: 8")
    (launch,) = launches(make_project, case=OPTIONS, recipe=usual)
    assert launch.world_size.only == 16
    (launch,) = launches(make_project, case=OPTIONS, recipe=usual.replace("gpus: 8", "gpus: 1"))
    assert launch.world_size.is_unknown


def test_further_runs_have_counts_and_options_of_their_own(make_project: MakeProject) -> None:
    case = """MODEL_ENV_VARS:
  MODEL_ARGS: {GPUS_PER_NODE: 1}
  MODEL_ARGS_2: {GPUS_PER_NODE: 2}
BASE_MODEL_ARGS: &base
  --num-layers: 4
  --tensor-model-parallel-size: 1
MODEL_ARGS: *base
MODEL_ARGS_2:
  <<: *base
  --tensor-model-parallel-size: 2
"""
    first, second = launches(make_project, case=case)
    assert (first.processes_per_node.only, second.processes_per_node.only) == (1, 2)
    assert words(second) == ["--num-layers", "4", "--tensor-model-parallel-size", "2"]


def test_false_is_a_word_where_the_runner_writes_it(make_project: MakeProject) -> None:
    case = "MODEL_ARGS:\n  --num-layers: 4\n  --bf16: false\n"
    assert words(launches(make_project, case=case)[0]) == ["--num-layers", "4"]
    assert words(launches(make_project, case=case, runner=RUNNER)[0]) == ["--num-layers", "4", "--bf16", "false"]


def test_what_is_not_a_recipe_is_left_alone(make_project: MakeProject) -> None:
    for text in (
        "MODEL_ARGS:\n  trainer.max_steps: 4\n",
        "MODEL_ARGS: [--bf16]\n",
        "MODEL_ARGS: --bf16\n",
        "MODEL_ARGS:\n  1: 2\n  --bf16: true\n",
        "MODEL_ARGS: {}\n",
        "MODEL_ARGS: {--bf16: &a [*a]}\n",
    ):
        assert all(launch.arguments for launch in launches(make_project, case=text))


def test_hostile_texts_are_not_known(make_project: MakeProject) -> None:
    case = "MODEL_ARGS:\n  --num-layers: \"'\"\n  --a: 'x y'\n  --b: [1, 2]\n  --c: '`id`'\n  --d: {e: f}\n"
    assert words(launches(make_project, case=case)[0]) == [
        *("--num-layers", "?", "--a", "?", "--b", "?", "--c", "?", "--d", "?")
    ]


def test_a_recipe_is_judged_like_a_command(make_project: MakeProject) -> None:
    (subject,) = build(make_project({CASE: OPTIONS, "tests/test_utils/recipes/gpt.yaml": RECIPE}))
    assert subject.names["world_size"].only == 8
    assert subject.names["data_parallel_size"].only == 4
    assert subject.settings["tensor_model_parallel_size"].span.line == 9
    assert subject.settings["env.CUDA_DEVICE_MAX_CONNECTIONS"].value.only == "1"
