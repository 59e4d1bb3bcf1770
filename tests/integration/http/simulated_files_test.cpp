// A simulated server serves the files of the simulated disk, and none of the machine's.

#include "integration/http/simulated_server.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/http/files.hpp>
#include <coracle/testing/simulated_disk.hpp>

using namespace simulated;

namespace {

task<std::string> response_to(world& w, const std::string& request) {
    peer p = co_await w.connect();
    co_await p.send(request);
    co_return co_await read_response(p);
}

}  // namespace

TEST(simulated_files, are_served_from_the_disk_of_the_world) {
    const temporary_directory real;
    real.write("page.txt", "of the machine");
    real.write("secret.txt", "of the machine alone");
    const std::string root = real.path().string();
    for (const std::uint64_t seed : seeds(8)) {
        simulated_disk disk;
        simulation_options s;
        s.disk = &disk;
        disk.write(root + "/page.txt", "of the simulation");
        disk.write(root + "/site/index.html", "<p>index");
        disk.write(root + "/large.bin", repeated(100'000, 'x'));
        disk.write("/outside", "out of reach");
        http::file_options o;
        o.fallback = "site/index.html";
        world w(seed, http::serve_files(root, o), {}, s);
        w.run([](world& on) -> task<> {
            const std::string page = co_await response_to(on, get("/page.txt"));
            EXPECT_TRUE(page.starts_with("HTTP/1.1 200 OK\r\n")) << page;
            EXPECT_TRUE(page.ends_with("\r\n\r\nof the simulation")) << page;
            EXPECT_NE(page.find("Content-Type: text/plain"), page.npos) << page;
            const std::size_t at = page.find("ETag: ") + 6;
            const std::string tag = page.substr(at, page.find("\r\n", at) - at);
            const std::string same =
                co_await response_to(on, get("/page.txt", "If-None-Match: " + tag + "\r\n"));
            EXPECT_TRUE(same.starts_with("HTTP/1.1 304 ")) << same;
            const std::string part =
                co_await response_to(on, get("/page.txt", "Range: bytes=7-9\r\n"));
            EXPECT_TRUE(part.starts_with("HTTP/1.1 206 ")) << part;
            EXPECT_TRUE(part.ends_with("\r\n\r\nsim")) << part;
            const std::string index = co_await response_to(on, get("/site/"));
            EXPECT_TRUE(index.ends_with("\r\n\r\n<p>index")) << index;
            const std::string slash = co_await response_to(on, get("/site"));
            EXPECT_TRUE(slash.starts_with("HTTP/1.1 301 ")) << slash;
            const std::string view =
                co_await response_to(on, get("/view", "Accept: text/html\r\n"));
            EXPECT_TRUE(view.ends_with("\r\n\r\n<p>index")) << view;
            const std::string large = co_await response_to(on, get("/large.bin"));
            EXPECT_TRUE(large.ends_with(repeated(100'000, 'x')));
            for (const char* nowhere : {"/secret.txt", "/../outside", "/none"}) {
                const std::string none = co_await response_to(on, get(nowhere));
                EXPECT_TRUE(none.starts_with("HTTP/1.1 404 ") || none.starts_with("HTTP/1.1 400 "))
                    << nowhere << none;
            }
        });
    }
}

TEST(simulated_files, need_no_directory_of_the_machine) {
    simulated_disk disk;
    disk.write("/no/such/place/a.txt", "here");
    simulation_options s;
    s.disk = &disk;
    http::router routes;
    world w(1, routes, {}, s);
    w.run([&](world& on) -> task<> {
        const http::handler files = http::serve_files("/no/such/place");
        routes.get("/{*path}", files);
        const std::string there = co_await response_to(on, get("/a.txt"));
        EXPECT_TRUE(there.ends_with("\r\n\r\nhere")) << there;
        on.sim.disk().refuse("/no/such/place/a.txt", EACCES);
        const std::string refused = co_await response_to(on, get("/a.txt"));
        EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
    });
    EXPECT_THROW(http::serve_files("/no/such/place"), exception);
}

TEST(simulated_files, are_not_reached_by_links_out_of_the_root) {
    simulated_disk disk;
    disk.write("/srv/www/sub/page.txt", "page");
    disk.write("/srv/secret.txt", "secret");
    simulation_options s;
    s.disk = &disk;
    http::router routes;
    world w(1, routes, {}, s);
    w.run([&](world& on) -> task<> {
        http::file_options o;
        o.listing = true;
        routes.get("/{*path}", http::serve_files("/srv/www", o));
        const std::pair<const char*, const char*> links[] = {
            {"sub/page.txt", "/srv/www/inside"},
            {"../sub/./page.txt", "/srv/www/sub/back"},
            {"sub", "/srv/www/folder"},
            {"../secret.txt", "/srv/www/outside"},
            {"/srv/www/sub/page.txt", "/srv/www/absolute"},
            {"../sub/page.txt", "/srv/www/above"},
            {"/sub/page.txt", "/srv/www/from_root"},
            {"loop", "/srv/www/loop"},
            {"sub/page.txt/", "/srv/www/slash"},
            {"sub/page.txt/../page.txt", "/srv/www/through"},
            {"./sub/../sub/", "/srv/www/far"},
        };
        for (const auto& [target, name] : links) co_await fs::symlink(target, name);
        for (const char* there : {"/inside", "/sub/back", "/folder/page.txt", "/far/page.txt"}) {
            const std::string page = co_await response_to(on, get(there));
            EXPECT_TRUE(page.ends_with("\r\n\r\npage")) << there << page;
        }
        const std::string list = co_await response_to(on, get("/", "Accept: application/json\r\n"));
        for (const char* nowhere :
             {"outside", "absolute", "loop", "above", "from_root", "slash", "through"}) {
            const std::string none = co_await response_to(on, get(std::string("/") + nowhere));
            EXPECT_TRUE(none.starts_with("HTTP/1.1 404 ")) << nowhere << none;
            EXPECT_EQ(list.find('"' + std::string(nowhere) + '"'), list.npos) << list;
        }
        EXPECT_NE(list.find(R"({"name":"inside","type":"file","size":4,)"), list.npos) << list;
        EXPECT_NE(list.find(R"({"name":"far","type":"directory")"), list.npos) << list;
    });
}

// As on a system: a list goes before the fallback, and an index that is a directory is none.
TEST(simulated_files, are_found_in_the_order_of_the_system) {
    simulated_disk disk;
    disk.write("/www/index.html", "<p>app");
    disk.write("/www/docs/a.txt", "a");
    disk.make_directory("/www/odd/index.html");
    simulation_options s;
    s.disk = &disk;
    http::file_options o;
    o.listing = true;
    o.fallback = "index.html";
    http::router routes;
    world w(1, routes, {}, s);
    w.run([&](world& on) -> task<> {
        routes.get("/{*path}", http::serve_files("/www", o));
        const std::string html = "Accept: text/html\r\n";
        for (const char* path : {"/docs/", "/odd/"}) {
            const std::string list = co_await response_to(on, get(path, html));
            EXPECT_TRUE(list.starts_with("HTTP/1.1 200 ")) << list;
            EXPECT_EQ(list.find("<p>app"), list.npos) << path;
        }
        for (const char* path : {"/view/", "/docs/a.txt/"}) {
            const std::string app = co_await response_to(on, get(path, html));
            EXPECT_TRUE(app.ends_with("<p>app")) << app;
        }
        const std::string none = co_await response_to(on, get("/none"));
        EXPECT_NE(none.find("Vary: Accept"), none.npos) << none;
    });
}

TEST(simulated_files, are_listed) {
    for (const std::uint64_t seed : seeds(8)) {
        simulated_disk disk;
        simulation_options s;
        s.disk = &disk;
        disk.write("/www/all/b.txt", "12345");
        disk.write("/www/all/.hidden", "");
        disk.make_directory("/www/all/a");
        disk.write("/www/indexed/index.html", "<p>index");
        http::file_options o;
        o.listing = true;
        world w(seed, http::serve_files("/", o), {}, s);
        w.run([](world& on) -> task<> {
            const std::string list =
                co_await response_to(on, get("/www/all/", "Accept: application/json\r\n"));
            EXPECT_TRUE(list.starts_with("HTTP/1.1 200 OK\r\n")) << list;
            const auto first = list.find(R"({"name":"a","type":"directory")");
            const auto second = list.find(R"({"name":"b.txt","type":"file","size":5,)");
            EXPECT_TRUE(first < second && second != list.npos) << list;
            EXPECT_EQ(list.find("hidden"), list.npos) << list;
            const std::string page =
                co_await response_to(on, get("/www/all/", "Accept: text/html\r\n"));
            EXPECT_NE(page.find("Content-Type: text/html"), page.npos) << page;
            EXPECT_NE(page.find("Content-Security-Policy"), page.npos) << page;
            const std::string index = co_await response_to(on, get("/www/indexed/"));
            EXPECT_TRUE(index.ends_with("\r\n\r\n<p>index")) << index;
            const std::string slash = co_await response_to(on, get("/www/all"));
            EXPECT_TRUE(slash.starts_with("HTTP/1.1 301 ")) << slash;
            const std::string none = co_await response_to(on, get("/www/none/"));
            EXPECT_TRUE(none.starts_with("HTTP/1.1 404 ")) << none;
            on.sim.disk().refuse("/www/all", EACCES);
            const std::string refused = co_await response_to(on, get("/www/all/"));
            EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
        });
    }
}

TEST(simulated_files, are_listed_up_to_the_limit) {
    simulated_disk disk;
    simulation_options s;
    s.disk = &disk;
    for (int i = 0; i != 4; ++i) disk.write("/www/" + std::to_string(i), "");
    for (const std::size_t most : {3U, 4U}) {
        http::file_options o;
        o.listing = true;
        o.listing_entries = most;
        world w(1, http::serve_files("/", o), {}, s);
        w.run([&](world& on) -> task<> {
            const std::string list =
                co_await response_to(on, get("/www/", "Accept: application/json\r\n"));
            EXPECT_EQ(list.find("\"truncated\":true") != list.npos, most == 3) << list;
            std::size_t names = 0;
            for (auto at = list.find("\"name\":"); at != list.npos;
                 at = list.find("\"name\":", at + 1))
                ++names;
            EXPECT_EQ(names, most) << list;
        });
    }
}

TEST(simulated_files, have_precompressed_siblings) {
    for (const std::uint64_t seed : seeds(8)) {
        simulated_disk disk;
        simulation_options s;
        s.disk = &disk;
        // Each is dated behind the one before.
        disk.write("/tmp/stale.txt.gz", "old");
        disk.write("/tmp/stale.txt", "new");
        disk.write("/tmp/a.txt", "plain");
        disk.write("/tmp/a.txt.gz", "with gzip");
        disk.write("/tmp/a.txt.br", "with brotli");
        http::file_options o;
        o.precompressed = true;
        world w(seed, http::serve_files("/tmp", o), {}, s);
        w.run([](world& on) -> task<> {
            const std::string plain = co_await response_to(on, get("/a.txt"));
            EXPECT_TRUE(plain.ends_with("\r\n\r\nplain")) << plain;
            EXPECT_NE(plain.find("Vary: Accept-Encoding"), plain.npos) << plain;
            const std::string gzip =
                co_await response_to(on, get("/a.txt", "Accept-Encoding: gzip\r\n"));
            EXPECT_TRUE(gzip.ends_with("\r\n\r\nwith gzip")) << gzip;
            EXPECT_NE(gzip.find("Content-Encoding: gzip"), gzip.npos) << gzip;
            EXPECT_NE(gzip.find("Content-Type: text/plain"), gzip.npos) << gzip;
            const std::string best =
                co_await response_to(on, get("/a.txt", "Accept-Encoding: gzip, br\r\n"));
            EXPECT_TRUE(best.ends_with("\r\n\r\nwith brotli")) << best;
        });
    }
}
