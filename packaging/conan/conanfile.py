"""The recipe of Conan 2 for the tree that it lies in: `conan create packaging/conan -s compiler.cppstd=23`.

The libraries that Coracle needs are those of the system, so that a program links one OpenSSL and one zlib, and
nothing is downloaded. Conan says which packages are missing; with
`-c tools.system.package_manager:mode=install` it installs them.
"""

import pathlib

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

SYSTEM_PACKAGES = ["libbrotli-dev", "libc-ares-dev", "libidn2-dev", "libpsl-dev", "libre2-dev",
                   "libssl-dev", "liburing-dev", "libzstd-dev", "zlib1g-dev"]


class CoracleRecipe(ConanFile):
    name = "coracle"
    license = "MIT"
    description = "HTTP, WebSocket, TLS and mail as coroutines, for services and clients"
    topics = ("http", "http2", "websocket", "tls", "smtp", "coroutines", "io-uring")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def _tree(self):
        return pathlib.Path(self.recipe_folder).parent.parent

    def set_version(self):
        lists = load(self, str(self._tree() / "CMakeLists.txt"))
        self.version = lists.partition("project(coracle VERSION ")[2].split()[0]

    def export_sources(self):
        for folder in ("cmake", "include", "src"):
            copy(self, f"{folder}/*", self._tree(), self.export_sources_folder)
        for name in ("CMakeLists.txt", "LICENSE", "scripts/check_awaits.py", "scripts/source_tree.py"):
            copy(self, name, self._tree(), self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 23)
        if self.settings.os != "Linux":
            from conan.errors import ConanInvalidConfiguration
            raise ConanInvalidConfiguration("Coracle runs on Linux only")

    def system_requirements(self):
        Apt(self).install([*SYSTEM_PACKAGES, "pkg-config"], check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "TOOLS", "BENCH", "FUZZ"):
            toolchain.cache_variables[f"CORACLE_BUILD_{part}"] = False
        toolchain.cache_variables["CORACLE_INSTALL"] = True
        toolchain.cache_variables["CORACLE_REDIS"] = "OFF"
        toolchain.cache_variables["CORACLE_WERROR"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # coracleConfig.cmake is our own: it names missing libraries, and has coracle_check_awaits.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/coracle"]
        self.cpp_info.libs = ["coracle"]
        self.cpp_info.system_libs = ["uring", "cares", "ssl", "crypto", "z", "brotlienc", "brotlidec",
                                     "zstd", "re2", "psl", "idn2", "pthread"]
