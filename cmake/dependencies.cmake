# What the library needs from outside. A dependency is found here, linked in CMakeLists.txt, and
# named once more in `coracle_requires` (CMake packages) or `coracle_pc_requires` (pkg-config
# modules), from which coracleConfig.cmake and coracle.pc are written.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# The io_uring backend. Linked by its plain name, so that what is exported holds no path of this
# machine.
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED liburing>=2.3)
# The resolver, in the same way.
pkg_check_modules(libcares REQUIRED libcares>=1.18)

set(coracle_requires Threads)
set(coracle_pc_requires "liburing libcares")
set(coracle_pc_libs "-pthread")
