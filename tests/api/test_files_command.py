"""`retake info` and `retake convert`, driven as a user would."""
import json
import os
import subprocess

import pytest

BINARY = os.environ.get("RETAKE_BINARY", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="RETAKE_BINARY is not set")

PLY = """ply
format ascii 1.0
element vertex 3
""" + "".join(f"property float {name}\n" for name in (
    "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3").split()
) + """end_header
1 2 3 .1 .2 .3 0 -1 -2 -3 1 0 0 0
4 5 6 .1 .2 .3 inf -1 -2 -3 0 0 0 0
nan 5 6 .1 .2 .3 1 -1 -2 -3 1 0 0 0
"""


def retake(*words):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=60)


@pytest.fixture(name="ply")
def fixture_ply(tmp_path):
    path = tmp_path / "toy.ply"
    path.write_text(PLY)
    return path


def info(path):
    answer = retake("info", path, "--json")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_help():
    for command in ("info", "convert"):
        answer = retake(command, "--help")
        assert answer.returncode == 0 and f"usage: retake {command}" in answer.stdout
        assert retake(command).returncode == 2


def test_info_counts_what_was_repaired(ply):
    found = info(ply)
    assert (found["format"], found["splats"], found["sh_degree"]) == ("ply", 2, 0)
    assert found["axes"] == "rdf" and len(found["warnings"]) == 3
    assert found["repairs"] == {"dropped": 1, "opacity_clamped": 1, "rotation_repaired": 1,
                                "colour_zeroed": 0}
    text = retake("info", ply).stdout
    assert "splats       2" in text and "dropped      1" in text


def test_info_names_the_finding(tmp_path):
    short = tmp_path / "short.ply"
    short.write_text(PLY.replace("vertex 3", "vertex 9"))
    answer = retake("info", short)
    assert answer.returncode == 1 and answer.stdout == ""
    assert answer.stderr.startswith("retake info: truncated: short.ply: ")
    glb = tmp_path / "x.glb"
    glb.write_bytes(b"glTF\2\0\0\0")
    assert "unsupported-format: x.glb: glTF" in retake("info", glb).stderr
    assert "missing-file" in retake("info", tmp_path / "none.ply").stderr


def test_convert_goes_round(ply, tmp_path):
    for name in ("a.retake", "b.spz", "c.splat", "folder", "d.ply"):
        answer = retake("convert", ply, tmp_path / name)
        assert answer.returncode == 0, answer.stderr
        assert "2 splats written" in answer.stdout
        assert ("lost: " in answer.stdout) == (name in ("b.spz", "c.splat"))
    bounds = {name: info(tmp_path / name)["bounds_m"]
              for name in ("a.retake", "b.spz", "c.splat", "folder", "d.ply")}
    for low, high in bounds.values():  # (x, y, z) of rdf is (z, -x, -y) of the world
        assert low == pytest.approx([3, -4, -5], abs=1e-3)
        assert high == pytest.approx([6, -1, -2], abs=1e-3)
    assert info(tmp_path / "b.spz")["axes"] == "rub"
    assert info(tmp_path / "d.ply")["axes"] == "flu"


def test_axes_are_obeyed(ply, tmp_path):
    out = tmp_path / "out.ply"
    assert retake("convert", ply, out, "--axes-in", "flu", "--axes-out", "luf").returncode == 0
    found = info(out)
    assert found["axes"] == "luf" and found["bounds_m"][0] == pytest.approx([1, 2, 3], abs=1e-5)


@pytest.mark.parametrize("words, code, said", [
    (["toy.ply", "toy.ply"], 2, "the same"),
    (["toy.ply", "x.obj"], 2, "must end in"),
    (["toy.ply", "x.spz", "--spz-sh-bits", "9"], 2, "1...8"),
    (["toy.ply", "x.ply", "--axes-out", "abc"], 1, "flu, rdf, rub or luf"),
    (["toy.ply", "nowhere/x.ply"], 1, "cannot create"),
])
def test_convert_refuses(ply, words, code, said):
    answer = subprocess.run([BINARY, "convert", *words], cwd=ply.parent, capture_output=True,
                            text=True, check=False, timeout=60)
    assert answer.returncode == code and said in answer.stderr
    assert sorted(p.name for p in ply.parent.iterdir()) == ["toy.ply"]
