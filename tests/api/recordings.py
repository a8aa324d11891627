"""Small recordings made on the spot: no test here depends on data from outside."""

import io
import json
import struct
import tarfile
import time
import zipfile
import zlib

import numpy as np


def png_bytes(rgb):
    """An 8-bit RGB PNG of rgb [h,w,3]."""
    rgb = np.ascontiguousarray(rgb, np.uint8)
    height, width = rgb.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)

    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body
                + struct.pack(">I", zlib.crc32(name + body)))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def look_at_centre(angle_rad, radius_m=3.0):
    """Camera to world of transforms.json (right, up, back), on a circle around the origin."""
    position = radius_m * np.array([np.cos(angle_rad), np.sin(angle_rad), 0.3])
    back = position / np.linalg.norm(position)
    right = np.cross([0, 0, 1], back)
    right /= np.linalg.norm(right)
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2], matrix[:3, 3] = (
        right, np.cross(back, right), back, position)
    return matrix


def picture(matrix, width, height, focal_px):
    """Two coloured balls around the origin on a grey ground, seen from `matrix`."""
    rows, columns = np.mgrid[0:height, 0:width] + 0.5
    rays = np.stack([(columns - width / 2) / focal_px, -(rows - height / 2) / focal_px,
                     -np.ones_like(rows)], -1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    rays = rays @ matrix[:3, :3].T
    rgb = np.full((height, width, 3), 90.0)
    for centre, colour in (([0.4, 0, 0], [220, 40, 40]), ([-0.4, 0, 0.1], [40, 60, 210])):
        offset = np.array(centre) - matrix[:3, 3]
        along = rays @ offset
        miss = np.linalg.norm(offset) ** 2 - along ** 2
        rgb[miss < 0.35 ** 2] = colour
    return rgb


def transforms(n_frames=8, width=48, height=32):
    focal_px = 40.0
    frames, files = [], {}
    for i in range(n_frames):
        matrix = look_at_centre(2 * np.pi * i / n_frames)
        name = f"images/{i:03d}.png"
        files[name] = png_bytes(picture(matrix, width, height, focal_px))
        frames.append({"file_path": name, "transform_matrix": matrix.tolist()})
    head = {"fl_x": focal_px, "fl_y": focal_px, "cx": width / 2, "cy": height / 2, "w": width,
            "h": height, "camera_model": "PINHOLE", "frames": frames}
    files["transforms.json"] = json.dumps(head).encode()
    return files


def tar_bytes(files, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, body in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return out.getvalue()


def zip_bytes(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return out.getvalue()


# A reconstruction of the recording above that ends within a second or two.
QUICK = {"steps": 60, "splats_max": 1000, "init": "random", "init_splats": 300, "resolution": 1,
         "refine_from": 10, "refine_every": 20, "preview_every_s": 0.2, "checkpoint_every_s": 1}


def submit(server, scene, recording="balls", headers=None, **members):
    config = {**QUICK, **members.pop("config", {})}
    body = {"recording": recording, "scene": scene, "preset": "preview", "config": config,
            **members}
    return server.post("/v1/reconstructions", body, **(headers or {}))


def wait_state(server, job, states, timeout_s=90):
    """The row once its state is one of `states`."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        row = server.get(f"/v1/reconstructions/{job}").json()
        if row["state"] in states:
            return row
        assert row["state"] not in ("failed", "cancelled", "succeeded"), row
        time.sleep(0.05)
    raise AssertionError(f"{job} is still {row['state']}: {row}")


def wait_training(server, job, timeout_s=60):
    """The first row seen in which the job trains: a resumed one has read its checkpoint then."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        row = server.get(f"/v1/reconstructions/{job}").json()
        if row["phase"] == "training" and row["progress"]["step"] > 0:
            return row
        assert row["state"] in ("queued", "running"), row
        time.sleep(0.01)
    raise AssertionError(row)


def wait_step(server, job, step, timeout_s=60):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        row = server.get(f"/v1/reconstructions/{job}").json()
        if row["progress"]["step"] >= step:
            return row
        assert row["state"] in ("queued", "running"), row
        time.sleep(0.05)
    raise AssertionError(row)
