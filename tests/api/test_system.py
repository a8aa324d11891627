import os
import socket
import subprocess
import time

from conftest import BINARY, Server, ball_ply


def test_health_version_devices(server):
    assert server.get("/v1/health/live").json() == {"status": "live"}
    for path in ("/v1/health/ready", "/readyz", "/v2/health/ready"):
        assert server.get(path).json() == {"status": "ready"}
    version = server.get("/v1/version").json()
    assert version["api_version"]["major"] == 1 and "cpu" in version["backends"]
    device = server.get("/v1/devices").json()["items"][0]
    assert device["id"] == "cpu" and device["state"] == "ok"
    assert device["queue"]["limit"] == 64 and device["bytes"]["budget"] > 0
    limits = server.get("/v1/metadata").json()["limits"]
    assert limits["width_px"] == 16384 and limits["json_bytes"] == 262144


def test_json_has_etag_and_304(server):
    first = server.get("/v1/version")
    again = server.get("/v1/version", If_None_Match=first.headers["ETag"])
    assert again.status == 304 and again.body == b""


def test_metrics_text(server, ball):
    server.get(ball + "/frames/default/0.jpg?w=64")
    text = server.get("/metrics").body.decode()
    assert 'retake_render_requests_total{sensor="camera",outcome="ok"}' in text
    assert "retake_build_info{" in text and "retake_http_requests_total" in text
    assert "ball" not in text, "a scene id is no label"


def run_serve(*arguments):
    done = subprocess.run([BINARY, "serve", *arguments], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr.strip()


def test_honest_start(tmp_path, server):
    data = str(tmp_path / "d")
    code, text = run_serve("--port", str(server.port), "--data", data)
    assert code == 64 and text.count("\n") == 0 and str(server.port) in text
    code, text = run_serve("--listen", "0.0.0.0:0", "--data", data)
    assert code == 64 and "loopback" in text
    (tmp_path / "file").write_text("x")
    code, text = run_serve("--port", "0", "--data", str(tmp_path / "file"))
    assert code == 64 and "data folder" in text
    code, text = run_serve("--port", "0", "--data", data, "--backend", "cuda")
    assert code == 64 and "cuda" in text.lower()
    assert run_serve("--port", "70000")[0] == 64
    assert run_serve("--no-such-option")[0] == 64


def test_environment_sets_options(tmp_path):
    environment = dict(os.environ, RETAKE_MEMORY_BYTES="many")
    done = subprocess.run([BINARY, "serve", "--port", "0", "--data", str(tmp_path)],
                          env=environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 64 and "memory-bytes" in done.stderr


def test_term_drains_and_exits_zero():
    running = Server()
    idle = socket.create_connection(("127.0.0.1", running.port))
    try:
        assert running.stop() == 0
    finally:
        idle.close()


def test_vanished_clients_do_not_hold_the_drain():
    running = Server()
    running.put("/v1/scenes/ball?axes=flu", ball_ply())
    clients = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(6)]
    for client in clients:
        path = b"/v1/scenes/ball/frames/default/0.png?w=2000&h=2000"
        client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    time.sleep(0.1)
    for client in clients:
        client.close()
    assert running.stop() == 0
