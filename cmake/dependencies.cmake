# What the library needs from outside. A dependency is found here, linked in CMakeLists.txt, and
# named once more in `coracle_requires` (CMake packages) or `coracle_pc_requires` (pkg-config
# modules), from which coracleConfig.cmake and coracle.pc are written.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# The io_uring backend. Linked by its plain name, so that what is exported holds no path of this
# machine.
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED liburing>=2.3)
# The resolver, in the same way; then TLS, the content codings, routes with a regular expression, names of
# hosts beyond ASCII, and which domains belong to nobody, for cookies.
pkg_check_modules(libcares REQUIRED libcares>=1.18)
pkg_check_modules(openssl REQUIRED openssl>=3.0)
pkg_check_modules(zlib REQUIRED zlib>=1.2.11)
pkg_check_modules(brotli REQUIRED libbrotlienc>=1.0.9 libbrotlidec>=1.0.9)
pkg_check_modules(zstd REQUIRED libzstd>=1.4.8)
pkg_check_modules(re2 REQUIRED re2)
pkg_check_modules(libidn2 REQUIRED libidn2>=2.3)
pkg_check_modules(libpsl REQUIRED libpsl>=0.21)

# A static link takes them in this order: what libpsl needs comes after it.
set(coracle_dependencies liburing libcares openssl zlib brotli zstd re2 libpsl libidn2)
# The package of Debian that whoever links the static library needs for each.
set(coracle_packages liburing-dev libc-ares-dev libssl-dev zlib1g-dev
                     libbrotli-dev libzstd-dev libre2-dev libpsl-dev libidn2-dev)

set(coracle_requires Threads)
set(coracle_pc_requires
    "liburing libcares openssl zlib libbrotlienc libbrotlidec libzstd re2 libpsl libidn2")
set(coracle_pc_libs "-pthread")

# Tests, fuzz targets and benchmarks of HTTP/2 compare with nghttp2 where it is found.
pkg_check_modules(nghttp2 QUIET libnghttp2>=1.43)

# The library needs no JSON library: <coracle/http/nlohmann.hpp> adapts this one for who includes it, as
# the tests and an example do where it is found.
find_package(nlohmann_json QUIET)
