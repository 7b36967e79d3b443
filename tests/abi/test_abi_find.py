"""Finding CANN: every layout, the order of preference, and machines in disorder."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from labkit.cann import find
from labkit.cann.advice import for_search
from labkit.cann.find import describe_search, find_cann, search_cann
from labkit.cann.packages import custom_op_libraries, device_nodes, driver_dirs, is_stub
from labkit.cann.versions import read_version, version_key

SPLIT = ("libacl_rt.so", "libascendcl.so", "libnnopbase.so", "libopapi_math.so", "libopapi_nn.so")
SINGLE = ("libascendcl.so", "libnnopbase.so", "libopapi.so")
ARCH = f"{platform.machine()}-linux"


def lay(root: Path, libraries=SPLIT, folder: str = "lib64", opp: bool = True) -> Path:
    """Lay out a CANN of empty files."""
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name in libraries:
        (root / folder / name).touch()
    if opp:
        (root / "opp").mkdir(exist_ok=True)
    return root


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def roots_of(installs) -> list[Path]:
    return [install.root for install in installs]


@pytest.fixture
def ascend(tmp_path) -> Path:
    """The system's Ascend directory of a machine made for the test."""
    path = tmp_path / "usr" / "Ascend"
    path.mkdir(parents=True)
    return path


def test_a_bare_machine_has_no_cann_and_the_report_names_every_place(ascend):
    search = search_cann({"HOME": "/nowhere/home"}, [ascend])
    assert search.installs == () and search.chosen is None
    text = str(search)
    for place in (
        "$ASCEND_HOME_PATH: not set",
        "$ASCEND_TOOLKIT_HOME: not set",
        f"{ascend}/cann: no such directory",
        f"{ascend}/ascend-toolkit/latest: no such directory",
        "/nowhere/home/Ascend/cann: no such directory",
        "/nowhere/home/Ascend/ascend-toolkit/latest: no such directory",
    ):
        assert place in text
    assert "not installed" in for_search(search)


def test_a_root_install_of_today_is_the_link_cann(ascend):
    lay(ascend / "cann-9.1.0")
    (ascend / "cann").symlink_to("cann-9.1.0")
    write(ascend / "cann-9.1.0" / "set_env.sh", "")
    (install,) = find_cann({}, [ascend])
    assert install.root == ascend / "cann"
    assert install.lib_dir == ascend / "cann" / "lib64"
    assert (install.layout, install.version, install.stub) == ("split", "9.1.0", False)
    assert install.opp_path == ascend / "cann" / "opp"
    assert install.set_env == ascend / "cann" / "set_env.sh"
    assert install.usable and install.missing == ()
    found = install.find_library("libacl_rt.so", "libascendcl.so")
    assert found == install.lib_dir / "libacl_rt.so"


def test_a_root_install_of_8_3_is_the_link_latest_and_its_script_lies_above(ascend):
    kit = ascend / "ascend-toolkit"
    lay(kit / "8.3.RC1", SINGLE, folder=f"{ARCH}/lib64")
    (kit / "8.3.RC1" / "lib64").symlink_to(f"{ARCH}/lib64")
    (kit / "latest").symlink_to("8.3.RC1")
    write(kit / "set_env.sh", "")
    (install,) = find_cann({}, [ascend])
    assert (install.root, install.layout, install.version) == (kit / "latest", "single", "8.3.RC1")
    assert install.set_env == kit / "set_env.sh"
    assert install.usable


def test_libraries_may_lie_under_the_processor_directory_only(ascend):
    lay(ascend / "cann", folder=f"{ARCH}/lib64")
    (install,) = find_cann({}, [ascend])
    assert install.lib_dir == ascend / "cann" / ARCH / "lib64"


@pytest.mark.parametrize("below", ["cann", "ascend-toolkit/latest", "cann-8.5.0"])
@pytest.mark.parametrize("variable", ["HOME", "CONDA_PREFIX"])
def test_a_user_and_a_conda_environment_have_their_own(variable, below, tmp_path, ascend):
    lay(tmp_path / "own" / "Ascend" / below)
    (install,) = find_cann({variable: str(tmp_path / "own")}, [ascend])
    assert install.root == tmp_path / "own" / "Ascend" / below


def test_the_order_of_preference(tmp_path, ascend):
    one, two = lay(tmp_path / "one"), lay(tmp_path / "two", SINGLE)
    places = [one, two]
    for base in (ascend, tmp_path / "home" / "Ascend", tmp_path / "conda" / "Ascend"):
        places += [lay(base / "cann"), lay(base / "ascend-toolkit" / "latest")]
    environ = {
        "ASCEND_HOME_PATH": str(one),
        "ASCEND_TOOLKIT_HOME": str(two),
        "HOME": str(tmp_path / "home"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
    }
    installs = find_cann(environ, [ascend])
    assert roots_of(installs) == places
    assert [install.found_by for install in installs][:2] == [
        "$ASCEND_HOME_PATH",
        "$ASCEND_TOOLKIT_HOME",
    ]


def test_one_installation_reached_twice_counts_once(ascend):
    lay(ascend / "cann-9.1.0")
    (ascend / "cann").symlink_to("cann-9.1.0")
    (ascend / "ascend-toolkit").mkdir()
    (ascend / "ascend-toolkit" / "latest").symlink_to("../cann-9.1.0")
    environ = {"ASCEND_HOME_PATH": str(ascend / "cann-9.1.0")}
    assert roots_of(find_cann(environ, [ascend])) == [ascend / "cann-9.1.0"]
    assert f"{ascend}/cann: the same as {ascend}/cann-9.1.0" in describe_search(environ, [ascend])


def test_without_the_link_the_highest_version_comes_first(ascend):
    versions = ["8.5.0", "9.1.0.beta", "9.0.0", "9.10.0", "9.9.0"]
    for version in versions:
        lay(ascend / f"cann-{version}")
    (ascend / "cann").symlink_to("cann-9.2.0")  # leads nowhere
    write(ascend / "cann-notes", "not a directory, and no version")
    lay(ascend / "cann-old")
    installs = find_cann({}, [ascend])
    assert [install.version for install in installs] == [
        "9.10.0",
        "9.9.0",
        "9.1.0.beta",
        "9.0.0",
        "8.5.0",
    ]
    assert f"{ascend}/cann: a link that leads nowhere" in describe_search({}, [ascend])


def test_without_latest_the_highest_toolkit_comes_first(ascend):
    for version in ("8.2.RC1", "8.3.RC1", "8.3.RC1.alpha003", "8.0.0"):
        lay(ascend / "ascend-toolkit" / version, SINGLE)
    versions = [install.version for install in find_cann({}, [ascend])]
    assert versions == ["8.3.RC1", "8.3.RC1.alpha003", "8.2.RC1", "8.0.0"]


def test_with_the_link_other_versions_are_left_alone(ascend):
    lay(ascend / "cann-9.1.0")
    lay(ascend / "cann-9.2.0")
    (ascend / "cann").symlink_to("cann-9.1.0")
    assert roots_of(find_cann({}, [ascend])) == [ascend / "cann"]


def test_a_beta_sorts_below_its_release():
    order = [
        *("", "8.0.RC2.10", "8.2.RC1.alpha003", "8.2.RC1", "8.2.RC1.1", "8.3", "8.10.0"),
        *("9.1.0.alpha.2", "9.1.0.beta", "9.1.0-beta.1", "9.1.0.beta.2", "9.1.0.RC1", "9.1.0"),
    ]
    assert sorted(reversed(order), key=version_key) == order
    assert version_key("9.1") == version_key("9.1.0")
    assert version_key("9.1.0.oddity") < version_key("9.1.0")


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        (f"{ARCH}/ascend_toolkit_install.info", "package_name=x\nversion=8.0.RC3\n", "8.0.RC3"),
        ("version.cfg", "# version: 1.0\ntoolkit_running_version=[7.6.0.1.220:8.0.0]\n", "8.0.0"),
        ("version.cfg", "runtime_running_version=[9.9]\n", "9.9"),
        ("version.cfg", "runtime_running_version=[1.83.T8.0.B128:CANN-1.83]\n", "1.83"),
        ("share/info/runtime/version.info", "Version=7.6.0\nversion_dir=8.5.0\n", "8.5.0"),
        ("share/info/opbase/version.info", "Version=9.1.0\n", "9.1.0"),
        ("version.cfg", "\x00\udcff nonsense = [[[\n", ""),
        ("share/info/runtime/version.info", "", ""),
        ("share/info/runtime/version.info", "Version=9.1.0\nversion=8.0.0\n", "9.1.0"),
    ],
)
def test_the_version_is_read_from_the_files_of_every_release(file, text, version, tmp_path):
    path = tmp_path / "kit" / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert read_version(tmp_path / "kit") == version


def test_a_directory_in_place_of_a_version_file_tells_nothing(tmp_path):
    (tmp_path / "kit" / "version.cfg").mkdir(parents=True)
    assert read_version(tmp_path / "kit") == ""
    assert read_version(tmp_path / "cann-9.1.0") == "9.1.0"


def test_an_installation_with_stubs_only_is_marked(ascend):
    lay(ascend / "cann", ("libacl_rt.so", "libascendcl.so"), folder="devlib")
    (install,) = find_cann({}, [ascend])
    assert install.stub and not install.usable
    search = search_cann({}, [ascend])
    assert search.chosen is None
    assert "stubs" in str(search) and "stubs" in for_search(search)


def test_devlib_beside_real_libraries_does_no_harm(ascend):
    lay(ascend / "cann")
    lay(ascend / "cann", ("libacl_rt.so",), folder="devlib")
    (install,) = find_cann({}, [ascend])
    assert install.usable and install.lib_dir.name == "lib64"


def test_a_link_from_lib64_into_devlib_is_seen_through(ascend):
    lay(ascend / "cann", SPLIT[1:])
    lay(ascend / "cann", ("libacl_rt.so",), folder="devlib")
    (ascend / "cann" / "lib64" / "libacl_rt.so").symlink_to("../devlib/libacl_rt.so")
    (install,) = find_cann({}, [ascend])
    assert install.stub
    assert is_stub(install.lib_dir / "libacl_rt.so") and not is_stub(install.lib_dir)


def test_a_toolkit_without_operators_is_found_and_says_what_it_lacks(ascend):
    lay(ascend / "cann-9.1.0", SPLIT[:3])
    search = search_cann({}, [ascend])
    (install,) = search.installs
    assert (install.layout, install.usable) == ("none", False)
    assert install.missing == ("libopapi_nn.so or libopapi.so",)
    assert "lacks libopapi_nn.so" in str(search)
    assert "ops package" in for_search(search) and "9.1.0" in for_search(search)


def test_the_first_complete_installation_is_chosen(tmp_path, ascend):
    half = lay(tmp_path / "half", SPLIT[:2])
    lay(ascend / "cann")
    search = search_cann({"ASCEND_HOME_PATH": str(half)}, [ascend])
    assert roots_of(search.installs) == [half, ascend / "cann"]
    assert search.chosen is not None and search.chosen.root == ascend / "cann"


def test_disorder_is_reported_and_never_fatal(tmp_path, ascend, monkeypatch):
    loop = ascend / "cann"
    loop.symlink_to("cann")
    file = write(tmp_path / "file", "")
    (ascend / "ascend-toolkit" / "latest").mkdir(parents=True)
    text = describe_search(
        {"ASCEND_HOME_PATH": str(file), "ASCEND_TOOLKIT_HOME": str(file / "x")}, [ascend]
    )
    assert f"{file}: not a directory" in text
    assert f"{file}/x: cannot be read" in text
    assert f"{loop}: cannot be read" in text
    assert "latest: a directory, but without lib64/libacl_rt.so" in text


def test_a_directory_that_may_not_be_read_is_reported(ascend, monkeypatch):
    lay(ascend / "cann")
    real = os.stat

    def refuse(path, *args, **kwargs):
        if str(path).startswith(str(ascend / "cann")):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(find.os, "stat", refuse)
    search = search_cann({}, [ascend])
    assert search.installs == ()
    assert f"{ascend}/cann: cannot be read (Permission denied)" in str(search)


def custom(base: Path) -> Path:
    return write(base / "op_api" / "lib" / "libcust_opapi.so", "")


def test_custom_operators_come_from_the_variable_then_by_load_priority(tmp_path):
    opp = tmp_path / "opp"
    first, second = custom(tmp_path / "first"), custom(tmp_path / "second")
    zeta, alpha = custom(opp / "vendors" / "zeta"), custom(opp / "vendors" / "alpha")
    custom(opp / "vendors" / "unlisted")
    write(opp / "vendors" / "config.ini", "load_priority= zeta, alpha ,gone,\n")
    environ = {"ASCEND_CUSTOM_OPP_PATH": f"{tmp_path}/first::/gone:{tmp_path}/second"}
    assert custom_op_libraries(environ, opp) == [first, second, zeta, alpha]
    assert custom_op_libraries({}, None) == []


def test_the_opp_variable_decides_where_vendors_are(tmp_path):
    for name in ("mine", "other"):
        custom(tmp_path / name / "vendors" / "v")
        write(tmp_path / name / "vendors" / "config.ini", "load_priority=v")
    found = custom_op_libraries({"ASCEND_OPP_PATH": str(tmp_path / "mine")}, tmp_path / "other")
    assert found == [tmp_path / "mine/vendors/v/op_api/lib/libcust_opapi.so"]


@pytest.mark.parametrize(
    "config",
    ["", "load_priority", "load_priority=", "[x]\n=;;", "load_priority=../x,/etc,..,.", "\x00\xff"],
)
def test_a_broken_vendor_config_gives_no_custom_operators(config, tmp_path):
    write(tmp_path / "opp" / "vendors" / "config.ini", config)
    custom(tmp_path / "opp" / "x")
    assert custom_op_libraries({}, tmp_path / "opp") == []


def test_the_report_names_custom_operators_that_are_and_that_are_not_there(tmp_path, ascend):
    lay(ascend / "cann")
    there = custom(tmp_path / "there")
    environ = {"ASCEND_CUSTOM_OPP_PATH": f"{tmp_path}/there:{tmp_path}/gone"}
    text = describe_search(environ, [ascend])
    assert f"{there}: there (from $ASCEND_CUSTOM_OPP_PATH)" in text
    assert "gone/op_api/lib/libcust_opapi.so: named, but not there" in text


def test_driver_directories_come_from_the_installers_record_the_roots_and_the_path(tmp_path):
    recorded, root, other = (tmp_path / name for name in ("recorded", "root", "other"))
    for base in (recorded, root):
        (base / "driver" / "lib64" / "driver").mkdir(parents=True)
    (root / "driver" / "lib64" / "common").mkdir()
    write(other / "libascend_hal.so", "")
    write(tmp_path / "devlib" / "libascend_hal.so", "")
    (tmp_path / "empty").mkdir()
    info = write(tmp_path / "install.info", f"UserName=x\nDriver_Install_Path_Param={recorded}\n")
    path = ":".join(str(tmp_path / name) for name in ("empty", "devlib", "other"))
    assert driver_dirs({"LD_LIBRARY_PATH": path}, [root], info) == [
        recorded / "driver/lib64",
        recorded / "driver/lib64/driver",
        root / "driver/lib64",
        root / "driver/lib64/driver",
        root / "driver/lib64/common",
        other,
    ]
    assert driver_dirs({}, [], tmp_path / "no.info") == []


def test_device_nodes_are_listed_in_order_of_their_numbers(tmp_path):
    for name in ("davinci10", "davinci2", "davinci_manager", "hisi_hdc", "null"):
        (tmp_path / name).touch()
    assert device_nodes(tmp_path) == [tmp_path / "davinci2", tmp_path / "davinci10"]
    assert device_nodes(tmp_path / "none") == []


def test_searching_changes_neither_the_environment_nor_the_disk(ascend, monkeypatch):
    lay(ascend / "cann")
    before = dict(os.environ), sorted(ascend.rglob("*"))
    monkeypatch.setenv("ASCEND_HOME_PATH", str(ascend / "cann"))
    assert roots_of(find_cann(roots=[]))[:1] == [ascend / "cann"]
    monkeypatch.delenv("ASCEND_HOME_PATH")
    assert (dict(os.environ), sorted(ascend.rglob("*"))) == before
