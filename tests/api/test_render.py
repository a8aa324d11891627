import io
import zipfile

import numpy as np
import pytest
from conftest import FORWARD, camera_request, raw_rgb


def render(server, ball, **members):
    return server.post(ball + "/render/camera", camera_request(**members))


def test_directions_and_colours(server, ball):
    rgb = raw_rgb(render(server, ball, format="raw"))
    assert rgb.shape == (120, 160, 3)
    assert rgb[60, 80, 0] > 150 > 60 > rgb[60, 80, 1], "the red ball is straight ahead"
    left = rgb[60, 80 - int(1.5 / 5 * 104)]
    assert left[1] > 150 > 60 > left[0], "y > 0 is left in the picture"
    assert rgb[0, 0].max() == 0


def test_rig_poses_and_offsets(server, ball):
    plain = raw_rgb(render(server, ball, format="raw"))
    rig = {"fov_y_deg": 60, "size_px": [160, 120], "T_world_rig": {"t": [0, 0, 0]}, "format": "raw"}
    assert np.array_equal(raw_rgb(server.post(ball + "/render/camera", rig)), plain)
    rig["rig_offset"] = {"t": [0, 1.5, 0]}
    moved = raw_rgb(server.post(ball + "/render/camera", rig))
    assert moved[60, 80, 1] > 150 > moved[60, 80, 0], "1.5 m to the left the green ball is ahead"
    pair = render(server, ball, format="raw", T_world_sensor={"start": FORWARD, "end": FORWARD})
    assert np.array_equal(raw_rgb(pair), plain)


def test_crop_equals_that_part(server, ball):
    whole = raw_rgb(render(server, ball, format="raw"))
    part = raw_rgb(render(server, ball, format="raw", crop_px=[40, 30, 50, 61]))
    assert np.array_equal(part, whole[30:91, 40:90])
    assert render(server, ball, crop_px=[150, 0, 20, 10]).problem() == "invalid-request"


def test_depth_alpha_count_as_npz(server, ball):
    answer = render(server, ball, outputs=["rgb", "alpha", "depth", "splat_count"], format="npy")
    assert answer.headers["Content-Type"] == "application/zip"
    arrays = np.load(io.BytesIO(answer.body))
    assert arrays["rgb"].shape == (120, 160, 3) and arrays["rgb"].dtype == np.float32
    assert abs(arrays["depth"][60, 80] - 5) < 0.3, "the balls are 5 m away"
    assert np.isnan(arrays["depth"][0, 0]) and arrays["alpha"][0, 0] == 0
    assert arrays["alpha"][60, 80] > 0.99 and arrays["splat_count"][60, 80] >= 3
    median = render(server, ball, outputs=["depth"], depth="median", format="npy_f16")
    values = np.load(io.BytesIO(median.body))
    assert values.dtype == np.float16 and 4.4 < values[60, 80] < 5.1
    assert median.headers["X-Dtype"] == "f16" and median.headers["X-Layout"] == "HW"


def test_formats(server, ball):
    png = render(server, ball)
    assert png.headers["Content-Type"] == "image/png" and png.body[:4] == b"\x89PNG"
    assert png.headers["Cache-Control"] == "no-store"
    assert "render;dur=" in png.headers["Server-Timing"]
    assert png.headers["X-Device"] == "cpu" and png.headers["X-Projection"] == "ewa"
    assert render(server, ball, format="jpeg").body[:2] == b"\xff\xd8"
    planar = render(server, ball, format="raw_planar")
    assert planar.headers["X-Shape"] == "3,120,160" and planar.headers["X-Layout"] == "CHW"
    planes = np.frombuffer(planar.body, np.uint8).reshape(3, 120, 160)
    assert np.array_equal(planes.transpose(1, 2, 0), raw_rgb(render(server, ball, format="raw")))
    rgba = render(server, ball, outputs=["rgb", "alpha"])
    assert rgba.headers["X-Shape"] == "120,160,4" and rgba.body[25] == 6, "one straight RGBA file"
    both = zipfile.ZipFile(io.BytesIO(render(server, ball, outputs=["rgb", "depth"]).body))
    assert both.namelist() == ["rgb.png", "depth.png"]
    assert both.infolist()[0].compress_type == zipfile.ZIP_STORED


def test_background_and_visual(server, ball):
    rgb = raw_rgb(render(server, ball, format="raw", background=[0, 0.5, 1]))
    assert list(rgb[0, 0]) == [0, 128, 255]
    for colormap in ("turbo", "viridis", "cividis", "gray"):
        visual = {"colormap": colormap, "min": 0, "max": 10}
        picture = raw_rgb(render(server, ball, format="raw", outputs=["depth"], visual=visual))
        assert picture.shape == (120, 160, 3) and not picture[0, 0].any()
        assert picture[60, 80].any()
    assert abs(int(picture[60, 80, 0]) - 127) < 10, "5 of 10 m is half gray"
    assert render(server, ball, outputs=["depth"], format="jpeg").problem() == "invalid-request"


@pytest.mark.parametrize("accept, expected", [
    ("*/*", "image/png"), ("image/jpeg", "image/jpeg"), ("application/json", "image/png"),
    ("image/png;q=0.1, image/jpeg", "image/jpeg"), ("application/x-npy", "application/x-npy")])
def test_accept(server, ball, accept, expected):
    answer = server.post(ball + "/render/camera", camera_request(), Accept=accept)
    assert answer.headers["Content-Type"] == expected


def test_not_acceptable(server, ball):
    answer = server.post(ball + "/render/camera", camera_request(), Accept="text/html")
    assert answer.problem() == "not-acceptable" and "image/png" in answer.json()["offered"]


@pytest.mark.parametrize("members, pointer", [
    ({"outptus": ["rgb"]}, "/outptus"), ({"size_px": [160.0, 120]}, "/size_px/0"),
    ({"size_px": [0, 120]}, "/size_px/0"), ({"near_m": 0}, "/near_m"), ({"near_m": "1"}, "/near_m"),
    ({"outputs": []}, "/outputs"), ({"outputs": ["rgb", "rgb"]}, "/outputs/1"),
    ({"T_world_sensor": {"t": [0, 0]}}, "/T_world_sensor/t"),
    ({"T_world_sensor": {"t": [0, 0, 0], "q_wxyz": [2, 0, 0, 0]}}, "/T_world_sensor/q_wxyz"),
    ({"rig_offset": {"t": [0, 0, 0]}}, "/rig_offset"), ({"quality": 0}, "/quality"),
    ({"background": "blue"}, "/background"), ({"t_us": 1.0}, "/t_us"),
    ({"camera": {"model": "pinhole", "width_px": 4}}, "/camera/height_px"),
    ({"visual": {"colormap": "jet"}}, "/visual/colormap"), ({"sensor": "a b"}, "/sensor")])
def test_faults_have_pointers(server, ball, members, pointer):
    answer = render(server, ball, **members)
    assert answer.problem() == "invalid-request"
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_all_faults_at_once(server, ball):
    answer = render(server, ball, near_m=-1, sh_degree=7, formt="png")
    assert {e["pointer"] for e in answer.json()["errors"]} == {"/near_m", "/sh_degree", "/formt"}
    assert 'did you mean "format"' in str(answer.json()["errors"])


@pytest.mark.parametrize("members, problem", [
    ({"edits": [{"op": "hide"}]}, "unsupported-feature"),
    ({"dynamic_objects": [{}]}, "unsupported-feature"),
    ({"ego_mask": "auto"}, "unsupported-feature"),
    ({"precision": "fast"}, "unsupported-feature"),
    ({"projection": "unscented"}, "unsupported-feature"),
    ({"outputs": ["normal"]}, "unsupported-feature"),
    ({"outputs": ["semantic"]}, "output-not-available"),
    ({"size_px": [20000, 10]}, "limit-exceeded"), ({"size_px": [16384, 16384]}, "limit-exceeded")])
def test_refused_by_name(server, ball, members, problem):
    answer = render(server, ball, **members)
    assert answer.status == 422 and answer.problem() == problem
    if problem == "unsupported-feature":
        assert answer.json()["capability"]


PINHOLE = {"model": "pinhole", "width_px": 160, "height_px": 120, "focal_px": [104, 104]}


@pytest.mark.parametrize("lens", [
    {"model": "fisheye"}, {"radial_k": [0.1]}, {"shutter": "rolling_top_to_bottom"}])
def test_lenses_of_later_versions(server, ball, lens):
    body = {"camera": {**PINHOLE, **lens}, "T_world_sensor": FORWARD}
    assert server.post(ball + "/render/camera", body).problem() == "unsupported-feature"


def test_inline_camera_equals_fov(server, ball):
    focal = 60 / np.tan(np.radians(30))
    lens = {**PINHOLE, "focal_px": [focal, focal], "radial_k": [0, 0]}
    body = {"camera": lens, "T_world_sensor": FORWARD, "format": "raw"}
    picture = raw_rgb(server.post(ball + "/render/camera", body))
    plain = raw_rgb(render(server, ball, format="raw"))
    assert np.abs(picture.astype(int) - plain).max() <= 1


def test_same_request_same_bytes(server, ball):
    assert render(server, ball).body == render(server, ball).body


def test_defaults_of_the_contract_are_accepted(server, ball):
    answer = render(server, ball, camera=None, edits=[], dynamic_objects=[], actors="recorded",
                    exposure="mean", projection="auto", precision="auto", device="auto",
                    ego_mask=None, visual=None, background="sky", timeout_ms=30000)
    assert answer.status == 200


def test_deadline(server, ball):
    answer = render(server, ball, size_px=[4000, 4000], timeout_ms=1)
    assert answer.problem() in ("deadline-exceeded", "queue-full")
