"""One machine, many learners: JupyterHub for a workshop.

    pip install -e '.[fast]' 'jupyterhub>=5,<6' && npm install -g configurable-http-proxy
    WORKSHOP_PASSWORD='a long one' WORKSHOP_FOLDER=/srv/workshop \
        jupyterhub -f workshop/jupyterhub_config.py

Everybody signs in with a name of their choice and the workshop's password, and gets a folder with
the course, an NPU where there are any, and a limit of memory. docs/workshop.md tells the rest.

    WORKSHOP_PASSWORD   the password that is told to everybody, at least 8 characters
    WORKSHOP_FOLDER     where the learners' folders are
    WORKSHOP_NPUS       numbers of the NPUs to share out, such as 0,1,2,3; empty: the software NPU
    WORKSHOP_MEMORY     bytes that one process of a learner may take, such as 4G
    WORKSHOP_PORT       the port, 8000 when not set
"""

import asyncio
import os
import re
import resource
import sys
import threading
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

c = get_config()  # noqa: F821 - JupyterHub defines it

FOLDER = Path(os.environ.get("WORKSHOP_FOLDER", "workshop-folders")).resolve()
NPUS = [number for number in os.environ.get("WORKSHOP_NPUS", "").split(",") if number.strip()]
SEATS = {}
SEATING = threading.Lock()


def npu_of(name):
    """Share the NPUs out: in turn, and the same one to the same learner."""
    with SEATING:
        return NPUS[SEATS.setdefault(name, len(SEATS)) % len(NPUS)] if NPUS else None


class LearnerSpawner(SimpleLocalProcessSpawner):
    """A learner's own JupyterLab: a folder, an NPU, a limit of memory."""

    def make_preexec_fn(self, name):
        """Limit what each process of the learner may allocate; the kernels inherit it."""
        before = super().make_preexec_fn(name)

        def limit():
            if before is not None:
                before()
            if self.mem_limit:
                resource.setrlimit(resource.RLIMIT_DATA, (self.mem_limit, self.mem_limit))

        return limit

    def get_env(self):
        """Add the learner's device. Each sees one NPU, as number 0."""
        environment = super().get_env()
        npu = npu_of(self.user.name)
        environment["LABKIT_DEVICE"] = "sim" if npu is None else "npu"
        if npu is not None:
            environment["ASCEND_RT_VISIBLE_DEVICES"] = npu.strip()
        return environment

    async def start(self):
        """Put the course into the learner's folder first; what they changed there stays."""
        copying = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "labkit", "lab", "--copy-only", str(self.course)),
            stdout=asyncio.subprocess.DEVNULL,
        )
        if await copying.wait():
            self.log.error("the course could not be copied to %s", self.course)
        return await super().start()

    @property
    def course(self):
        """The learner's folder with the course."""
        return FOLDER / self.user.name / "course"


c.JupyterHub.bind_url = f"http://:{os.environ.get('WORKSHOP_PORT', '8000')}"
c.JupyterHub.spawner_class = LearnerSpawner
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ.get("WORKSHOP_PASSWORD", "")
c.Authenticator.allow_all = True
# A name becomes a folder. JupyterHub looks at the beginning only, so the end is asked for.
c.Authenticator.username_pattern = r"[a-z][a-z0-9_-]{0,31}\Z"

c.SimpleLocalProcessSpawner.home_dir_template = str(FOLDER / "{username}")
c.Spawner.notebook_dir = str(FOLDER / "{username}" / "course")
c.Spawner.cmd = [str(Path(sys.executable).with_name("jupyterhub-singleuser"))]
if os.geteuid() == 0:  # in a container, say: then the learners' servers are root's too
    c.Spawner.args = ["--allow-root"]
c.Spawner.default_url = "/lab/tree/00_start_here.ipynb"
c.Spawner.mem_limit = os.environ.get("WORKSHOP_MEMORY", "4G")
# The variables that set_env.sh sets must reach the learners' kernels.
c.Spawner.env_keep = [
    *("PATH", "VIRTUAL_ENV", "CONDA_DEFAULT_ENV", "LANG", "LC_ALL", "LABKIT_LANG"),
    *(
        name
        for name in os.environ
        if re.match(r"ASCEND|LD_LIBRARY_PATH|PYTHONPATH|TOOLCHAIN", name)
    ),
]
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120

FOLDER.mkdir(parents=True, exist_ok=True)
c.JupyterHub.cookie_secret_file = str(FOLDER / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{FOLDER / 'hub.sqlite'}"
