"""Builds the consumer of the install test against the package, and compares the version that it prints."""

import io
import pathlib

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        said = io.StringIO()
        program = pathlib.Path(self.build_folder, self.cpp.build.bindir, "consumer").resolve()
        self.run(f'"{program}"', stdout=said, env="conanrun")
        wanted = str(self.dependencies["coracle"].ref.version)
        if said.getvalue().strip() != wanted:
            raise ConanException(f"the consumer says {said.getvalue()!r}, not {wanted}")
