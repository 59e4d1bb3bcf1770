// Serves the files of a directory, or lists them: files DIR [ADDRESS] [LOOPS]

#include <coracle/http/files.hpp>
#include <coracle/http/server.hpp>

#include <cstdio>
#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: files DIR [ADDRESS] [LOOPS]\n", stderr);
        return 2;
    }
    http::server_options options;
    if (argc > 2) options.listen = argv[2];
    if (argc > 3) options.loops = static_cast<unsigned>(std::atoi(argv[3]));
    http::file_options files;
    files.listing = true;
    files.cache = {{"/assets/*", "max-age=31536000, immutable"}, {"*.html", "no-cache"}};
    try {
        http::router routes;
        routes.get("/{*path}", http::serve_files(argv[1], files));
        http::serve(routes, options);
    } catch (const exception& e) {
        std::fprintf(stderr, "files: %s\n", e.what());
        return 1;
    }
}
