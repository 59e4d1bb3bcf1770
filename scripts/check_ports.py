#!/usr/bin/env python3
"""usage: check_ports.py [--build]

Checks the Conan recipe and the vcpkg port in packaging/: both have the version and the libraries of the tree, and
the portfile, run by CMake with stand-ins for what vcpkg defines, configures this tree and installs what it fixes
up. With --build, and conan installed, also builds the Conan package of this tree and a program against it, and
with VCPKG_ROOT set the vcpkg package: as long as the library takes. A missing tool is a skip by name, and a fault
with CORACLE_REQUIRE_PEERS=1. The first needs no network.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import source_tree

ROOT = source_tree.ROOT
PORT = ROOT / "packaging" / "vcpkg" / "coracle"
RECIPE = ROOT / "packaging" / "conan"

# The modules of pkg-config in cmake/dependencies.cmake: vcpkg's port, Debian's package.
LIBRARIES = {
    "liburing": ("liburing", "liburing-dev"), "libcares": ("c-ares", "libc-ares-dev"),
    "openssl": ("openssl", "libssl-dev"), "zlib": ("zlib", "zlib1g-dev"), "libbrotlienc": ("brotli", "libbrotli-dev"),
    "libbrotlidec": ("brotli", "libbrotli-dev"), "libzstd": ("zstd", "libzstd-dev"), "re2": ("re2", "libre2-dev"),
    "libidn2": ("libidn2", "libidn2-dev"), "libpsl": ("libpsl", "libpsl-dev"),
}

# What vcpkg defines, as far as the portfile uses it. Configures in earnest, and builds nothing.
STAND_INS = r"""
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PACKAGES_DIR "${WORK}/packages")
function(vcpkg_find_acquire_program name)
    find_program(found pkg-config REQUIRED)
    set(${name} "${found}" PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "vcpkg_cmake_configure: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${WORK}/build"
        "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_BUILD_TYPE=Release ${arg_OPTIONS}
        COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
    if(NOT EXISTS "${WORK}/build/cmake_install.cmake")
        message(FATAL_ERROR "nothing is configured to be installed")
    endif()
    file(READ "${WORK}/build/cmake_install.cmake" rules)
    file(WRITE "${WORK}/rules" "${rules}")
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
    file(READ "${WORK}/rules" rules)
    if(NOT rules MATCHES "/${arg_CONFIG_PATH}\"" OR NOT EXISTS "${WORK}/build/${arg_PACKAGE_NAME}Config.cmake")
        message(FATAL_ERROR "${arg_PACKAGE_NAME}Config.cmake is not installed into ${arg_CONFIG_PATH}")
    endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    foreach(file IN LISTS arg_FILE_LIST)
        if(NOT EXISTS "${file}")
            message(FATAL_ERROR "there is no ${file}")
        endif()
    endforeach()
endfunction()
include("${PORTFILE}")
"""


def modules():
    text = (ROOT / "cmake" / "dependencies.cmake").read_text(encoding="utf-8")
    calls = re.findall(r"pkg_check_modules\(\w+ REQUIRED ([^)]*)\)", text)
    return {re.split(r"[<>=]", name)[0] for call in calls for name in call.split()}


def texts():
    """The faults in what both say."""
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"project\(coracle VERSION ([\d.]+)", lists)[1]
    port = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    recipe = (RECIPE / "conanfile.py").read_text(encoding="utf-8")
    if port["version"] != version:
        yield f"packaging/vcpkg/coracle/vcpkg.json: version {port['version']}, but the tree has {version}"
    for unknown in sorted(modules() - set(LIBRARIES)):
        yield f"scripts/check_ports.py: does not know {unknown} of cmake/dependencies.cmake"
    used = [LIBRARIES[m] for m in modules() & set(LIBRARIES)]
    ours = {d for d in port["dependencies"] if isinstance(d, str)}
    if ours != {name for name, _ in used}:
        yield f"packaging/vcpkg/coracle/vcpkg.json: differs by {sorted(ours ^ {name for name, _ in used})}"
    packages = set(re.findall(r'"([\w.+-]+-dev)"', recipe))
    if packages != {package for _, package in used}:
        yield f"packaging/conan/conanfile.py: differs by {sorted(packages ^ {package for _, package in used})}"


def portfile(linkage):
    with tempfile.TemporaryDirectory() as work:
        script = os.path.join(work, "stand_ins.cmake")
        with open(script, "w", encoding="utf-8") as file:
            file.write(STAND_INS)
        done = source_tree.run(["cmake", f"-DWORK={work}", f"-DPORTFILE={PORT / 'portfile.cmake'}",
                                f"-DVCPKG_LIBRARY_LINKAGE={linkage}", "-DFEATURES=core", "-P", script])
    if done.returncode != 0:
        yield f"packaging/vcpkg/coracle/portfile.cmake ({linkage}):\n{done.stdout}"
    elif "not used by the project" in done.stdout:
        yield f"packaging/vcpkg/coracle/portfile.cmake: sets what the build does not know\n{done.stdout}"


def missing(tool):
    print(f"skipped: {tool} is not installed")
    if os.environ.get("CORACLE_REQUIRE_PEERS") == "1":
        yield f"{tool} is not installed"


def builds():
    conan = shutil.which("conan")
    if conan is None:
        yield from missing("conan")
    else:
        home = ROOT / "build" / "conan"
        environment = {**os.environ, "CONAN_HOME": str(home)}
        subprocess.run([conan, "profile", "detect", "--exist-ok"], env=environment, check=True)
        done = subprocess.run([conan, "create", str(RECIPE), "-s", "compiler.cppstd=23"], env=environment, check=False)
        if done.returncode != 0:
            yield "packaging/conan: conan create failed"
    vcpkg = shutil.which("vcpkg", path=os.environ.get("VCPKG_ROOT", "/nonexistent"))
    if vcpkg is None:
        yield from missing("vcpkg (VCPKG_ROOT)")
    elif subprocess.run([vcpkg, "install", "coracle", "--classic", f"--overlay-ports={PORT.parent}"],
                        check=False).returncode != 0:
        yield "packaging/vcpkg: vcpkg install failed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", action="store_true")
    options = parser.parse_args()
    faults = [*texts(), *portfile("static"), *portfile("dynamic")]
    if options.build and not faults:
        faults += builds()
    return source_tree.report(faults, "ports: the Conan recipe and the vcpkg port fit the tree")


if __name__ == "__main__":
    sys.exit(main())
