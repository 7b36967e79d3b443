"""The workshop's JupyterHub, with the real hub and its proxy: two learners at once.

The configuration is the one that docs/workshop.md describes; only a token for the test is added.
"""

import ast
import asyncio
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "workshop" / "jupyterhub_config.py"
LEARNERS = ("ann", "bo")
PATIENCE = 150
CODE = """
import os, resource, labkit
call = labkit.hardshrink_backward([[1, 1], [1, 1]], [[0.2, 0.5], [0.6, -1]])
print([
    call.grad_input.tolist(), call.device, os.environ["LABKIT_DEVICE"],
    os.environ.get("ASCEND_RT_VISIBLE_DEVICES"), resource.getrlimit(resource.RLIMIT_DATA)[0],
    os.getcwd(), os.environ["HOME"],
])
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, skip_or_fail):
    """Find the hub's proxy, or fetch it from the registry of npm."""
    pytest.importorskip("jupyterhub", reason="JupyterHub is not installed; it is in `test`")
    found = shutil.which("configurable-http-proxy")
    if found:
        return found
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no configurable-http-proxy on this machine and no npm to fetch it with")
    folder = tmp_path_factory.mktemp("proxy")
    done = subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", "configurable-http-proxy"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        skip_or_fail(f"npm could not fetch configurable-http-proxy: {done.stderr[-500:]}")
    return str(folder / "node_modules" / ".bin" / "configurable-http-proxy")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Hub:
    """A running hub, and its REST interface."""

    def __init__(self, port, token, folder):
        self.url = f"http://127.0.0.1:{port}"
        self.token, self.folder = token, folder

    def ask(self, path, method="GET", data=None):
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if data is None else json.dumps(data).encode(),
            headers={"Authorization": f"token {self.token}"},
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def wait(self, path, ready=lambda answer: True):
        deadline = time.monotonic() + PATIENCE
        last = None
        while time.monotonic() < deadline:
            try:
                last = self.ask(path)
                if ready(last):
                    return last
            except OSError as error:  # HTTP errors are of that kind too
                last = error
            time.sleep(0.3)
        raise TimeoutError(f"{path}: {last}")


@pytest.fixture(scope="module")
def hub(proxy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    port, api, inner = free_ports(3)
    token = secrets.token_hex(16)
    (folder / "config.py").write_text(
        f"load_subconfig({str(CONFIG)!r})\n"
        f"c.ConfigurableHTTPProxy.command = [{proxy!r}]\n"
        f"c.ConfigurableHTTPProxy.api_url = 'http://127.0.0.1:{api}'\n"
        f"c.JupyterHub.bind_url = 'http://127.0.0.1:{port}'\n"
        f"c.JupyterHub.hub_bind_url = 'http://127.0.0.1:{inner}'\n"
        f"c.JupyterHub.services = [{{'name': 'test', 'api_token': {token!r}}}]\n"
        "c.JupyterHub.load_roles = [{'name': 'test', 'services': ['test'], 'scopes': "
        "['admin:users', 'admin:servers', 'access:servers']}]\n"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LABKIT_", "JUPYTER", "ASCEND"))
    }
    environment |= {
        "WORKSHOP_PASSWORD": "long enough to be told",
        "WORKSHOP_FOLDER": str(folder / "learners"),
        "WORKSHOP_MEMORY": "3G",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]]),
        "PYTHONPATH": str(ROOT),
    }
    with open(folder / "hub.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(folder / "config.py")],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            running = Hub(port, token, folder)
            running.wait("/hub/api/")
            yield running
        except TimeoutError as error:
            text = (folder / "hub.log").read_text(errors="replace")
            pytest.fail(f"{error}\n{text[-4000:]}", pytrace=False)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


async def run_code(hub, name, kernel):
    """Execute CODE in a kernel through the proxy; returns what it prints."""
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    url = f"{hub.url.replace('http', 'ws', 1)}/user/{name}/api/kernels/{kernel}/channels"
    request = HTTPRequest(url, headers={"Authorization": f"token {hub.token}"})
    channel = await websocket_connect(request)
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "username": name,
        "session": uuid.uuid4().hex,
        "date": "",
        "version": "5.3",
    }
    message = {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "channel": "shell",
        "content": {"code": CODE, "silent": False},
    }
    await channel.write_message(json.dumps(message))
    printed = ""
    while True:
        answer = json.loads(await asyncio.wait_for(channel.read_message(), PATIENCE))
        if answer["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        kind, content = answer["msg_type"], answer["content"]
        if kind == "stream":
            printed += content["text"] if content["name"] == "stdout" else ""
        elif kind == "error":
            pytest.fail("\n".join(content["traceback"]))
        elif kind == "execute_reply":
            channel.close()
            return printed


@pytest.fixture(scope="module")
def answers(hub):
    """What both learners' kernels print, started and run at the same time."""
    for name in LEARNERS:
        hub.ask(f"/hub/api/users/{name}", "POST")
        hub.ask(f"/hub/api/users/{name}/server", "POST")
    kernels = {}
    for name in LEARNERS:
        hub.wait(f"/hub/api/users/{name}", lambda user: user["server"] is not None)
        kernels[name] = hub.ask(f"/user/{name}/api/kernels", "POST", {"name": "python3"})["id"]

    async def both():
        return await asyncio.gather(*(run_code(hub, n, k) for n, k in kernels.items()))

    return dict(zip(LEARNERS, (ast.literal_eval(text) for text in asyncio.run(both()))))


def test_both_run_the_operator_at_once(answers):
    for name in LEARNERS:
        result, device, kind, npu, *_ = answers[name]
        assert result == [[0.0, 0.0], [1.0, 1.0]]
        assert (device, kind, npu) == ("software NPU as Ascend950PR_9599", "sim", None)


def test_each_has_a_home_and_a_limit_of_memory(answers, hub):
    for name in LEARNERS:
        *_, limit, folder, home = answers[name]
        assert limit == 3 * 1024**3
        assert Path(home) == hub.folder / "learners" / name
        assert Path(folder).is_relative_to(hub.folder / "learners" / name)


def test_each_has_the_course_in_both_languages(answers, hub):
    for name in LEARNERS:
        listed = hub.ask(f"/user/{name}/api/contents/?content=1")["content"]
        names = [entry["name"] for entry in listed]
        assert "00_start_here.ipynb" in names and "zh" in names


def test_a_name_that_is_no_folder_is_refused(hub):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        hub.ask("/hub/api/users/..%2Fann", "POST")
