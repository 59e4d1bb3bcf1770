# What the library needs from outside. A dependency is found here, linked in CMakeLists.txt, and
# named once more in `coracle_requires` (CMake packages) or `coracle_pc_requires` (pkg-config
# modules), from which coracleConfig.cmake and coracle.pc are written.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(coracle_requires Threads)
set(coracle_pc_requires "")
set(coracle_pc_libs "-pthread")
