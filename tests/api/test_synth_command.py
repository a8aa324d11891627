"""The command line of `retake synth`, driven as a user would."""
import json
import os
import subprocess

import pytest

BINARY = os.environ.get("RETAKE_BINARY", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="RETAKE_BINARY is not set")

SMALL = ["--static", "--frames", "3", "--size", "48x32"]


def synth(*words):
    return subprocess.run([BINARY, "synth", *map(str, words)], capture_output=True, text=True,
                          check=False, timeout=60)


def test_help_names_every_option():
    answer = synth("--help")
    assert answer.returncode == 0
    for option in ("--static", "--frames", "--seconds", "--cameras", "--size", "--seed", "--force"):
        assert option in answer.stdout


def test_it_writes_photos_and_names_the_next_command(tmp_path):
    answer = synth(tmp_path / "street", *SMALL)
    assert answer.returncode == 0, answer.stderr
    assert "3 pictures of 48 x 32 px" in answer.stdout
    assert f"retake reconstruct {tmp_path}/street -o scene.retake" in answer.stdout
    assert "pictures 3 of 3" in answer.stderr
    recording = json.loads((tmp_path / "street/recording.json").read_text())
    frames = recording["cameras"][0]["frames"]
    assert [frame["holdout"] for frame in frames] == [True, False, False]
    for frame in frames:
        assert (tmp_path / "street" / frame["file"]).stat().st_size > 500


def test_seeds_differ(tmp_path):
    pictures = []
    for seed in (1, 2):
        assert synth(tmp_path / str(seed), *SMALL, "--seed", seed, "--png").returncode == 0
        pictures.append((tmp_path / str(seed) / "images/photo/000001.png").read_bytes())
    assert pictures[0] != pictures[1]


def test_a_folder_with_files_is_left_alone_without_force(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    answer = synth(tmp_path, *SMALL)
    assert answer.returncode == 1
    assert "not empty" in answer.stderr and "--force" in answer.stderr
    assert not (tmp_path / "images").exists()
    assert synth(tmp_path, *SMALL, "--force", "--quiet").returncode == 0
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "recording.json").exists()


@pytest.mark.parametrize("words, said", [
    ([], "where to"),
    (["x", "--frames", "9"], "--frames needs --static"),
    (["x", "--static", "--seconds", "3"], "does not go with --static"),
    (["x", "--static", "--frames", "1"], "2...1000"),
    (["x", "--seconds", "nan"], "0.2...120"),
    (["x", "--seconds", "500"], "0.2...120"),
    (["x", "--cameras", "7"], "1...6"),
    (["x", "--size", "640"], "WIDTHxHEIGHT"),
    (["x", "--size", "8x8"], "16...4096"),
    (["x", "--seed"], "needs a value"),
    (["x", "--seed", "-1"], ">= 0"),
    (["x", "y"], 'unexpected "y"'),
    (["x", "--shutter", "rolling"], 'unexpected "--shutter"'),
])
def test_wrong_usage_is_named(tmp_path, words, said):
    answer = subprocess.run([BINARY, "synth", *words], capture_output=True, text=True, check=False,
                            cwd=tmp_path, timeout=60)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    answer = synth(tmp_path / "file" / "street", *SMALL)
    assert answer.returncode == 1
    assert "cannot make the folder" in answer.stderr and "Not a directory" in answer.stderr
