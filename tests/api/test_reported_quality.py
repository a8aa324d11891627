"""The quality a reconstruction reports is what its pictures over HTTP show."""

import io
import os
import pathlib
import struct
import tarfile
import zlib

import numpy as np
import pytest
from recordings import submit, wait_state

DATA = pathlib.Path(os.environ.get("RETAKE_TEST_DATA", "../shared/data"))
ALLOWED_DB = 0.3
CAPTURES = [
    # name, steps, resolution: distorted photos; RGBA on white
    ("fox", 400, 0.25),
    ("nerf_chair_400", 400, 0.25),
]


def archive(folder):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(folder, arcname=folder.name)
    return buffer.getvalue()


def decode_png(png):
    """8-bit RGB with the filters none and sub, the only ones the server writes."""
    chunks, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + png[at + 8:at + 8 + size]
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert set(rows[:, 0]) <= {0, 1}
    pixels = rows[:, 1:].reshape(height, width, 3)
    summed = np.cumsum(pixels, axis=1, dtype=np.uint8)
    return np.where(rows[:, 0, None, None] == 1, summed, pixels)


def picture(server, scene, frame, view, width):
    path = f"/v1/scenes/{scene}/frames/{frame['sensor']}/{frame['t_us']}.png"
    answer = server.get(f"{path}?view={view}&w={width}&timeout_ms=60000")
    assert answer.status == 200, answer.body[:300]
    return decode_png(answer.body).astype(float) / 255


def frame_psnr(server, scene, frame):
    rendered = picture(server, scene, frame, "rendered", frame["width_px"])
    recorded = picture(server, scene, frame, "recorded", frame["width_px"])
    assert rendered.shape == recorded.shape
    seen = recorded.sum(axis=2) > 0  # black lies outside the lens
    return -10 * np.log10(np.mean((rendered[seen] - recorded[seen]) ** 2))


@pytest.mark.parametrize("name,steps,resolution", CAPTURES)
def test_served_frames_reproduce_the_reported_psnr(server, name, steps, resolution):
    if not (DATA / name).is_dir():
        pytest.skip(f"test data {name} is not there")
    assert server.put(f"/v1/recordings/{name}", archive(DATA / name)).status == 201
    config = {"steps": steps, "resolution": resolution, "splats_max": 30000, "init_splats": 10000,
              "eval_every": 0, "preview_every_s": 60, "checkpoint_every_s": 60}
    answer = submit(server, name, recording=name, config=config)
    assert answer.status == 202, answer.body
    row = wait_state(server, answer.json()["id"], ["succeeded"])
    path = f"/v1/reconstructions/{row['id']}/artifacts/eval.json"
    report = server.get(path).json()
    held_out = [frame for frame in report["frames"] if frame["holdout"]]
    assert len(held_out) == report["holdout"]["n"] > 5
    measured = np.mean([frame_psnr(server, name, frame) for frame in held_out])
    print(name, "reported", report["holdout"]["psnr_db"], "measured", measured)
    assert report["holdout"]["psnr_db"] == pytest.approx(row["result"]["psnr_db"], abs=1e-3)
    assert abs(measured - report["holdout"]["psnr_db"]) < ALLOWED_DB
