"""How the workshop's configuration shares out NPUs, read without starting a hub."""

from pathlib import Path

import pytest

pytest.importorskip("jupyterhub", reason="JupyterHub is not installed; it is in `test`")

CONFIG = Path(__file__).resolve().parents[2] / "workshop" / "jupyterhub_config.py"


@pytest.fixture
def configuration(monkeypatch, tmp_path):
    """Run the configuration file as JupyterHub does; return its names and the settings."""
    from traitlets.config import Config

    def run(**environ):
        monkeypatch.setenv("WORKSHOP_FOLDER", str(tmp_path / "learners"))
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        config = Config()
        names = {"get_config": lambda: config, "__file__": str(CONFIG), "__name__": "config"}
        exec(compile(CONFIG.read_text(encoding="utf-8"), str(CONFIG), "exec"), names)
        return names, config

    return run


def test_npus_are_shared_out_in_turn_and_stay_with_their_learner(configuration):
    names, _ = configuration(WORKSHOP_NPUS="0, 3")
    npu_of = names["npu_of"]
    assert [npu_of(name).strip() for name in ("ann", "bo", "cy", "ann", "bo")] == [
        *("0", "3", "0", "0", "3"),
    ]


def test_without_npus_everybody_has_the_software_npu(configuration):
    names, _ = configuration(WORKSHOP_NPUS="")
    assert names["npu_of"]("ann") is None


def test_what_set_env_sets_reaches_the_learners(configuration):
    _, config = configuration(ASCEND_HOME_PATH="/opt/cann", LD_LIBRARY_PATH="/opt/cann/lib64")
    assert {"ASCEND_HOME_PATH", "LD_LIBRARY_PATH", "PATH"} <= set(config.Spawner.env_keep)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        *(("ann", True), ("a-1", True), ("a" * 32, True), ("a" * 33, False), ("..", False)),
        *(("a/b", False), ("A", False), ("ann b", False), ("ann\\..", False), ("ann\n", False)),
    ],
)
def test_a_name_becomes_a_folder(configuration, name, fits):
    from jupyterhub.auth import Authenticator

    _, config = configuration()
    assert Authenticator(config=config).validate_username(name) is fits
