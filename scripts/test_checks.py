#!/usr/bin/env python3
"""usage: test_checks.py

A check that finds nothing is only good news if it can find something: each is given a small tree
with one fault, and the same tree without it.
"""

import pathlib
import tempfile
import unittest

import check_docs
import check_layers
import check_operations
import check_sources_of_time
import source_tree

LAYERS = """
layer base 0
layer runtime 1
layer net 2
layer http 5
layer smtp 6
layer tools 8
never smtp http
part h1 src/http/h1/* : base message
part message src/http/message/*
    include/coracle/http/method.hpp : base
system src/net/*
foreign src/runtime/signals.cpp signal.h
"""


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("include/coracle/base/error.hpp", "#pragma once\n")
        self.write("include/coracle/http/server.hpp", "#pragma once\n")
        self.write("src/http/message/token.hpp", "#pragma once\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def layer_faults(self, name, text):
        self.write(name, text)
        rules = check_layers.Rules(LAYERS)
        return list(check_layers.check_file(self.root, rules, pathlib.Path(name)))

    def time_faults(self, text):
        self.write("src/http/x.cpp", text)
        return list(check_sources_of_time.check_file(self.root, pathlib.Path("src/http/x.cpp")))


class LayersTest(Tree):
    def test_a_higher_layer_includes_a_lower_one_and_not_the_reverse(self):
        self.assertFalse(self.layer_faults("src/http/a.cpp", "#include <coracle/base/error.hpp>\n"))
        self.assertTrue(self.layer_faults("src/net/a.cpp", "#include <coracle/http/server.hpp>\n"))

    def test_a_number_does_not_overrule_never(self):
        self.assertTrue(self.layer_faults("src/smtp/a.cpp", "#include <coracle/http/server.hpp>\n"))

    def test_a_part_includes_what_it_names(self):
        self.assertFalse(self.layer_faults("src/http/h1/a.cpp",
                                           '#include "http/message/token.hpp"\n'))
        self.write("include/coracle/http/method.hpp", "#pragma once\n")
        self.assertFalse(self.layer_faults("src/http/message/a.cpp",
                                           "#include <coracle/http/method.hpp>\n"))
        self.assertTrue(self.layer_faults("src/http/message/a.cpp",
                                          "#include <coracle/http/server.hpp>\n"))

    def test_system_headers_stay_in_their_folders(self):
        socket = "#include <sys/socket.h>\n"
        self.assertFalse(self.layer_faults("src/net/a.cpp", socket))
        self.assertTrue(self.layer_faults("src/http/a.cpp", socket))
        self.assertTrue(self.layer_faults("include/coracle/net/a.hpp", "#pragma once\n" + socket))

    def test_a_public_header_is_light(self):
        self.assertTrue(self.layer_faults("include/coracle/net/a.hpp",
                                          "#pragma once\n#include <openssl/ssl.h>\n"))
        self.assertFalse(self.layer_faults("include/coracle/net/a.hpp",
                                           "#pragma once\n#include <vector>\n"))

    def test_a_header_has_pragma_once(self):
        self.assertTrue(self.layer_faults("src/http/a.hpp", "int a();\n"))

    def test_tools_use_public_headers_only(self):
        self.assertTrue(self.layer_faults("tools/coracle/a.cpp",
                                          '#include "http/message/token.hpp"\n'))

    def test_a_header_that_is_not_there_is_found(self):
        self.assertTrue(self.layer_faults("src/http/a.cpp", "#include <coracle/base/gone.hpp>\n"))

    def test_an_include_in_a_comment_is_none(self):
        self.assertFalse(self.layer_faults("src/http/a.cpp", "// #include <sys/socket.h>\n"))


class SourcesOfTimeTest(Tree):
    def test_each_other_clock_is_found(self):
        for code in ("auto t = std::chrono::steady_clock::now();", "clock_gettime(0, &t);",
                     "auto t = std::time(nullptr);", "x = time(nullptr);", "::time(nullptr);",
                     "std::this_thread::sleep_for(1ms);", "usleep(1);", "gettimeofday(&t, 0);"):
            self.assertTrue(self.time_faults(code + "\n"), code)

    def test_each_other_source_of_randomness_is_found(self):
        for code in ("std::random_device d;", "std::mt19937 g;", "rand();", "return rand();", "getrandom(p, n, 0);",
                     'open("/dev/urandom");', "arc4random_buf(p, n);"):
            self.assertTrue(self.time_faults(code + "\n"), code)

    def test_names_that_only_look_so_pass(self):
        for code in ("loop.time();", "auto t = loop.clock().now();", "// steady_clock::now()",
                     'log("time() went back");', "int n = 1'000'000; random_engine();",
                     "context->random();", "date_time(3);", "virtual std::uint64_t random() = 0;"):
            self.assertFalse(self.time_faults(code + "\n"), code)


class OperationsTest(unittest.TestCase):
    HEADER = """
        namespace coracle {
        class [[nodiscard]] tide_wait final : public detail::leaf<tide_wait, void> {};
        class tide {
        public:
            tide_wait turn() noexcept { return {}; }
            bool high() const;
        private:
            tide_wait hidden();
            struct inner { task<> also_hidden(); };
        };
        template <class F>
        auto at_ebb(F&& f) { return detail::ebb_operation<F>(f); }
        namespace detail {
        template <class F>
        class ebb_operation { template <class P> bool await_suspend(P); };
        task<> internal();
        }
        }
    """

    def found(self):
        text = check_operations.without_comments(self.HEADER)
        return set(check_operations.operations(text, check_operations.awaitable_types([text])))

    def test_what_gives_something_to_await_is_found_and_nothing_else(self):
        self.assertEqual(self.found(), {"tide::turn", "at_ebb"})

    def test_rows_are_named_like_functions(self):
        self.assertEqual(check_operations.normal("net::connect(address)"), "connect")
        self.assertEqual(check_operations.normal("mutex<T>::lock()"), "mutex::lock")


class DocumentsTest(Tree):
    def setUp(self):
        super().setUp()
        before = source_tree.ROOT
        source_tree.ROOT = self.root
        self.addCleanup(setattr, source_tree, "ROOT", before)

    def links(self, text):
        self.write("README.md", text)
        return list(check_docs.check_links(pathlib.Path("README.md")))

    def test_links_lead_somewhere(self):
        self.assertFalse(self.links("# One two\n[a](README.md) [b](#one-two) [c](https://x.org)\n"))
        self.assertTrue(self.links("[a](docs/gone.md)\n"))
        self.assertTrue(self.links("# One\n[a](#two)\n"))
        self.assertTrue(self.links('<img src="gone.svg">\n'))

    def test_programs_are_found_and_snippets_are_not(self):
        self.write("README.md", "```cpp\nint main() {}\n```\n```cpp snippet\nint main() {}\n```\n"
                                "```cpp\nf();\n```\n")
        self.assertEqual(len(list(check_docs.programs(pathlib.Path("README.md")))), 1)


if __name__ == "__main__":
    unittest.main()
