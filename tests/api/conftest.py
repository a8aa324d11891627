"""Starts the built binary with a fresh data folder on a free port, drives it as a client would."""

import http.client
import json
import os
import re
import signal
import subprocess
import tempfile

import numpy as np
import pytest

BINARY = os.environ.get("RETAKE_BINARY", "build/release/retake")
SOURCE = os.environ.get("RETAKE_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
SH_C0 = 0.28209479177387814


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def problem(self):
        """Name of the problem type; checks what every problem has."""
        assert self.headers["Content-Type"] == "application/problem+json", self.body
        body = self.json()
        assert body["status"] == self.status and "request_id" in body and body["detail"]
        assert "/tmp" not in body["detail"] and "upload-" not in body["detail"]
        return body["type"].removeprefix("/problems/")


class Server:
    def __init__(self, *arguments, data=None):
        self.folder = tempfile.TemporaryDirectory()
        self.data = data or os.path.join(self.folder.name, "data")
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--data", self.data, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert match, f"no address in {line!r}"
        self.port = int(match.group(1))

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=body, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.request("POST", path, {} if body is None else body, **headers)

    def put(self, path, body, **headers):
        return self.request("PUT", path, body, **headers)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=40)
        self.process.stdout.close()
        return code


def ply_bytes(xyz, rgb, radius_m=0.1, opacity=0.99):
    """A PLY of round splats in the original layout, degree 0. xyz [n,3], rgb [n,3] in 0...1."""
    xyz = np.asarray(xyz, np.float32)
    names = ["x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
             "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"]
    rows = np.zeros((len(xyz), len(names)), "<f4")
    rows[:, 0:3] = xyz
    rows[:, 3:6] = (np.asarray(rgb, np.float32) - 0.5) / SH_C0
    rows[:, 6] = np.log(opacity / (1 - opacity))
    rows[:, 7:10] = np.log(radius_m)
    rows[:, 10] = 1
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(xyz)}\n"
    head += "".join(f"property float {name}\n" for name in names) + "end_header\n"
    return head.encode() + rows.tobytes()


def ball_ply():
    """A red ball 5 m ahead of the world's origin, a green one 1.5 m to its left (y > 0)."""
    rng = np.random.default_rng(1)
    red = rng.normal(0, 0.15, (200, 3)) + [5, 0, 0]
    green = rng.normal(0, 0.15, (200, 3)) + [5, 1.5, 0]
    colours = np.repeat([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1]], 200, axis=0)
    return ply_bytes(np.concatenate([red, green]), colours, 0.08)


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def ball(server):
    """Path of the scene `ball`, in world numbers (axes flu)."""
    answer = server.put("/v1/scenes/ball?axes=flu", ball_ply())
    assert answer.status in (200, 201), answer.body
    return "/v1/scenes/ball"


# A camera at the origin that looks along x: right is -y, down is -z.
FORWARD = {"t": [0, 0, 0], "q_wxyz": [0.5, -0.5, 0.5, -0.5]}


def camera_request(**members):
    return {"fov_y_deg": 60, "size_px": [160, 120], "T_world_sensor": FORWARD, **members}


def raw_rgb(answer):
    assert answer.status == 200, answer.body
    shape = [int(n) for n in answer.headers["X-Shape"].split(",")]
    return np.frombuffer(answer.body, np.uint8).reshape(shape)
