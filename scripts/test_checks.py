#!/usr/bin/env python3
"""usage: test_checks.py

A check that finds nothing is only good news if it can find something: each is given a small tree
with one fault, and the same tree without it.
"""

import contextlib
import copy
import io
import json
import os
import pathlib
import tempfile
import unittest

import check_cost
import check_docs
import check_layers
import check_listed
import check_operations
import check_sources_of_time
import check_umbrellas
import check_words
import header_reference
import report_run
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


class CostTest(unittest.TestCase):
    BASELINE = {"compiler": "g++ 12",
                "keep_alive": {"instructions": 1000.0, "system_calls": {"recvfrom": 1.0}}}

    def faults(self, change=None):
        cost = copy.deepcopy(self.BASELINE)
        if change is not None:
            change(cost)
        with contextlib.redirect_stdout(io.StringIO()):
            return check_cost.faults_of(cost, self.BASELINE)

    def test_what_costs_as_much_or_a_little_more_passes(self):
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.faults(lambda c: c["keep_alive"].update(instructions=1029)), [])

    def test_what_costs_more_is_found(self):
        self.assertTrue(self.faults(lambda c: c["keep_alive"].update(instructions=1031)))
        self.assertTrue(self.faults(lambda c: c["keep_alive"]["system_calls"].update(recvfrom=2)))
        self.assertTrue(self.faults(lambda c: c["keep_alive"]["system_calls"].update(write=0.0625)))

    def test_what_is_above_its_bar_is_found_whatever_the_baseline(self):
        baseline = {"keep_alive": {"instructions": 1999.0, "system_calls": {}}}
        for instructions, found in ((2000.0, False), (2000.1, True)):
            cost = {"keep_alive": {"instructions": instructions, "system_calls": {}}}
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(bool(check_cost.faults_of(cost, baseline)), found)

    def test_what_is_above_its_bar_is_measured_thrice(self):
        for counts, wanted, left in (([2003, 1992, 1], 1992, 1), ([2003, 2001, 2002, 1], 2001, 1),
                                     ([1999, 1], 1999, 1)):
            counts = [{"instructions": count} for count in counts]
            self.assertEqual(check_cost.least("keep_alive", lambda: counts.pop(0))["instructions"], wanted)
            self.assertEqual(len(counts), left)

    def test_what_is_called_by_the_clock_passes(self):
        self.assertEqual(self.faults(lambda c: c["keep_alive"]["system_calls"].update(read=0.04)), [])

    def test_what_was_not_measured_and_what_is_new_are_found(self):
        self.assertTrue(self.faults(lambda c: c.pop("keep_alive")))
        self.assertTrue(self.faults(lambda c: c.update(more=c["keep_alive"])))

    def test_the_figures_of_another_compiler_are_a_warning(self):
        for compiler, code in (("g++ 12", 1), ("g++ 13", 0)):
            cost = copy.deepcopy(self.BASELINE)
            cost["compiler"] = compiler
            cost["keep_alive"]["instructions"] = 1031
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(check_cost.judge(cost, self.BASELINE), code)
            self.assertRegex(said.getvalue(), "instructions per request rose from 1000.0 to 1031")


class WordsTest(Tree):
    def faults(self, text):
        self.write("src/base/x.hpp", text)
        return list(check_words.check_file(self.root, pathlib.Path("src/base/x.hpp")))

    def test_a_comment_that_opens_with_a_headless_clause_is_found(self):
        for opening in ("What `f` gives.", "Whether it is open.", "Who may send.", "Whose loop runs.",
                        "The same for writing.", "Of a key."):
            self.assertTrue(self.faults(f"/// {opening}\nint f();\n"), opening)
            self.assertTrue(self.faults(f"int f() {{\n    // {opening}\n    return 1;\n}}\n"), opening)
            self.assertTrue(self.faults(f"int a;  ///< {opening}\n"), opening)

    def test_each_paragraph_of_a_comment_is_read(self):
        for between in ("// ", "///"):
            fault, = self.faults(f"/// Sends it.\n{between}\n/// What follows waits.\nint f();\n")
            self.assertRegex(fault, "x.hpp:3: ")
        fault, = self.faults("// Sends it.\n//\n// What follows waits.\nint f();\n")
        self.assertRegex(fault, "x.hpp:3: ")

    def test_each_line_of_documentation_is_read(self):
        fault, = self.faults("/// Sends it, and waits.\n/// Whether it came is seen later.\nint f();\n")
        self.assertRegex(fault, "x.hpp:2: ")

    def test_a_comment_that_opens_with_a_verb_or_a_noun_is_not(self):
        self.assertFalse(self.faults("// Returns true if it is open.\n// Of two, the first.\nbool f();\n"))
        self.assertFalse(self.faults("/// Sends it. What follows waits.\nint f();\n"))
        self.assertFalse(self.faults("/// Offers, whatever the peer says.\nint f();\n"))
        self.assertFalse(self.faults('const char* f() { return "/// What"; }\n'))

    def words(self, name, text):
        self.write(name, text)
        path = pathlib.Path(name)
        check = check_words.check_document if path.suffix == ".md" else check_words.check_file
        return list(check(self.root, path))

    def test_a_response_is_not_called_an_answer(self):
        for code in ("// Sends the answer.\n", "int a;  ///< unanswered\n", 'fail("no answer");\n',
                     'auto t = R"(an Answer)";\n', "/// Answers a ping.\n"):
            fault, = self.words("src/http/x.cpp", "int b;\n" + code)
            self.assertRegex(fault, "x.cpp:2: ")
            for folder in ("tools/coracle", "tests/unit", "bench", "fuzz"):
                self.assertTrue(self.words(f"{folder}/x.cpp", code), code)

    def test_a_response_is_not_called_an_answer_in_documents(self):
        for name in ("README.md", "docs/guide.md"):
            fault, = self.words(name, "# A\n\nThe server answers.\n")
            self.assertRegex(fault, ":3: ")
        self.assertFalse(self.words("docs/style.md", "| response | answer |\n"))

    def test_names_are_words(self):
        fault, = self.words("src/http/x.cpp", "int b;\nint read_answer();\n")
        self.assertRegex(fault, "x.cpp:2: \"read_answer\"")
        for name in ("tests/a/x_test.py", "tests/a/main.go", "bench/x.py"):
            self.write(name, "answers = 1\n")
        self.write("src/http/y.py", "answers = 1\n")
        self.assertEqual([str(p) for p in check_words.others(self.root)],
                         ["bench/x.py", "tests/a/main.go", "tests/a/x_test.py"])

    def test_code_in_documents_is_left_alone(self):
        self.assertFalse(self.words("README.md", "`answer(body)`\n```cpp\nscript().respond();\n```\nReply.\n"))


class UmbrellasTest(Tree):
    def setUp(self):
        super().setUp()
        self.write("include/coracle/base.hpp", "#include <coracle/base/error.hpp>\n")
        self.write("include/coracle/http.hpp", "#include <coracle/http/server.hpp>\n")
        self.write("include/coracle/coracle.hpp",
                   "#include <coracle/base.hpp>\n#include <coracle/http.hpp>\n")

    def faults(self):
        return list(check_umbrellas.faults(self.root))

    def test_umbrellas_that_have_all_headers_pass(self):
        self.write("include/coracle/http/detail/parts.hpp", "#pragma once\n")
        self.assertFalse(self.faults())

    def test_a_header_that_is_left_out_is_found(self):
        self.write("include/coracle/http/client.hpp", "#pragma once\n")
        self.assertRegex(*self.faults(), "does not include coracle/http/client.hpp")

    def test_a_header_of_another_layer_and_a_wrong_order_are_found(self):
        self.write("include/coracle/http.hpp",
                   "#include <coracle/http/server.hpp>\n#include <coracle/base/error.hpp>\n")
        self.assertRegex("\n".join(self.faults()), "base/error.hpp does not belong there\n.*order")

    def test_a_layer_without_an_umbrella_is_found(self):
        self.write("include/coracle/net/socket.hpp", "#pragma once\n")
        self.assertRegex("\n".join(self.faults()), "layer net has no umbrella header")


class HeaderReferenceTest(unittest.TestCase):
    def names(self, text):
        return [name for name, _, _ in header_reference.parse(text)]

    def test_what_is_documented_and_public_has_an_entry(self):
        self.assertEqual(self.names("""namespace coracle {
/// A lock.
class [[nodiscard]] lock final : public base {
public:
    /// Takes it.
    task<> acquire(std::size_t n = 1) noexcept;
    void undocumented();
private:
    /// Hidden.
    void hidden();
};
namespace detail {
/// Hidden too.
void inner();
}  // namespace detail
/// Sleeps.
template <class T>
    requires(sizeof(T) != 0)
inline T sleep_for(T d) {
    return d;
}
}  // namespace coracle
"""), ["lock", "lock::acquire", "sleep_for"])

    def test_overloads_without_a_blank_line_share_a_comment_and_options_are_whole(self):
        (name, code, comment), (_, whole, _) = header_reference.parse("""/// Sets it.
call& query(int a) &;
call&& query(int a) && { return std::move(query(a)); }

/// Options.
struct options {
    /// Seconds. Default 3.
    duration wait = std::chrono::seconds(3);
};
""")
        self.assertEqual((name, code.count("query("), comment), ("query", 2, ["Sets it."]))
        self.assertIn("std::chrono::seconds(3);\n}", whole)


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

    def contents(self, text):
        self.write("README.md", text)
        return list(check_docs.check_contents(pathlib.Path("README.md")))

    def test_a_table_of_contents_has_all_headings_in_their_order(self):
        chapters = "## One\n### Below\n## Two\n```sh\n## no heading\n```\n"
        self.assertFalse(self.contents("# A\n- [One](#one)\n- [2](#two)\n" + chapters))
        fault, = self.contents("# A\n- [One](#one)\n" + chapters)
        self.assertRegex(fault, "lacks #two")
        self.assertTrue(self.contents("# A\n- [Two](#two)\n- [One](#one)\n" + chapters))
        self.assertTrue(self.contents("# A\n- [1](#one)\n- [B](#below)\n- [2](#two)\n" + chapters))

    def test_only_a_long_document_needs_a_table_of_contents(self):
        self.assertFalse(self.contents("# A\n## One\n## Two\n"))
        self.assertTrue(self.contents("# A\n" + "".join(f"## Number {i}\n" for i in range(20))))

    def rooms(self, text):
        self.write("HACKING.md", text)
        self.write("scripts/layers.txt", "# layer of\nlayer base 0\nlayer http 5\n")
        return list(check_docs.check_rooms())

    def test_each_folder_and_each_layer_is_named_in_hacking(self):
        layers = "| 0 | `base` | x |\n| 5 | `net`, `http` | x |\n"
        rooms = "| `src/http/` | x |\n| `src/http/message/` | x |\n"
        self.assertFalse(self.rooms(layers + rooms))
        fault, = self.rooms(layers + "| `src/http/` | x |\n")
        self.assertRegex(fault, "src/http/message/")
        fault, = self.rooms("| 0 | `base` | x |\n| 6 | `http` | x |\n" + rooms)
        self.assertRegex(fault, "`http` .* 5")

    def packages(self, text):
        self.write("README.md", text)
        self.write("cmake/dependencies.cmake", "set(coracle_packages one-dev\n                     two-dev)\n")
        return list(check_docs.check_packages())

    def test_the_packages_for_linking_are_those_of_the_build(self):
        self.assertFalse(self.packages("`apt-get install g++ one-dev\ntwo-dev`; also `three-dev`\n"))
        fault, = self.packages("`apt-get install g++ one-dev`\n")
        self.assertRegex(fault, "two-dev")
        fault, = self.packages("`apt-get install one-dev two-dev old-dev`\n")
        self.assertRegex(fault, "old-dev")
        self.assertEqual(len(self.packages("nothing\n")), 2)

    def test_programs_are_found_and_snippets_are_not(self):
        self.write("README.md", "```cpp\nint main() {}\n```\n```cpp snippet\nint main() {}\n```\n"
                                "```cpp\nf();\n```\n")
        self.assertEqual(len(list(check_docs.programs(pathlib.Path("README.md")))), 1)


class ListedTest(unittest.TestCase):
    LISTING = """Running main() from test_main.cpp
tide.
  ebbs
  DISABLED_floods
each/sea.  # TypeParam = int
  is_salt/epoll  # GetParam() = 1
"""

    def test_each_test_of_a_program_has_its_full_name(self):
        self.assertEqual(check_listed.tests_in(self.LISTING), {"tide.ebbs", "each/sea.is_salt/epoll"})

    def test_what_ctest_runs_is_what_its_filters_name(self):
        tests = [{"command": ["/b/bin/tests", "--gtest_filter=tide.ebbs", "--x"]},
                 {"command": ["python3", "script"]}, {}]
        self.assertEqual(check_listed.filters_of(json.dumps({"tests": tests})), {"tests": {"tide.ebbs"}})

    def test_the_log_of_a_run_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "CTestTestfile.cmake").write_text('add_test(tide "true" "--gtest_filter=tide.ebbs")\n')
            log = build / "Testing/Temporary/LastTest.log"
            log.parent.mkdir(parents=True)
            log.write_text("what tests said")
            listing = check_listed.listing_of(build)
            self.assertEqual(check_listed.filters_of(listing), {"true": {"tide.ebbs"}})
            self.assertEqual(log.read_text(), "what tests said")

    def test_a_pattern_is_looked_up(self):
        known = {"-tide.*": {"sea.is_salt"}, "sea.*:wind.*": {"sea.is_salt", "wind.blows"}}
        filters = {"tide.ebbs", *known}
        self.assertEqual(check_listed.run_by(filters, known.get), {"tide.ebbs", "sea.is_salt", "wind.blows"})
        self.assertEqual(check_listed.run_by(set(), known.get), set())


class MemoryTest(Tree):
    """What is not compiled again."""

    def setUp(self):
        super().setUp()
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(self.root / "cache")
        self.addCleanup(lambda: os.environ.pop("XDG_CACHE_HOME") if before is None
                        else os.environ.update(XDG_CACHE_HOME=before))
        self.write("include/coracle/base/outer.hpp", "#include <coracle/base/error.hpp>\n")
        self.checked = 0

    def check(self, fault=None, text="#include <coracle/base/outer.hpp>\n", command=("true",)):
        """Whether the check was made."""
        def count():
            self.checked += 1
            return fault
        before = self.checked
        self.assertEqual(source_tree.Memory("x", list(command), self.root).once(text, count),
                         fault if self.checked > before else None)
        return self.checked > before

    def test_what_passed_is_not_checked_again_until_something_changes(self):
        self.assertTrue(self.check())
        self.assertFalse(self.check())
        self.assertTrue(self.check(text="int i;\n"))
        self.assertTrue(self.check(command=("true", "-Wall")))
        self.write("include/coracle/base/error.hpp", "#pragma once\nint changed;\n")
        self.assertTrue(self.check())

    def test_a_fault_is_found_each_time(self):
        self.assertTrue(self.check(fault="wrong"))
        self.assertTrue(self.check(fault="wrong"))


class MachineTest(unittest.TestCase):
    def test_a_file_in_place_of_a_device_is_named_with_its_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "null").write_text("", encoding="utf-8")
            done = source_tree.run([source_tree.ROOT / "scripts/check_machine.sh"],
                                   env=dict(os.environ, CORACLE_DEVICES=folder))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"machine: {folder}/null is not the device: "
                          f"rm -f {folder}/null && mknod -m 666 {folder}/null c 1 3\n", done.stdout)

    def test_this_machine_passes(self):
        done = source_tree.run([source_tree.ROOT / "scripts/check_machine.sh"])
        self.assertEqual(done.returncode, 0, done.stdout)


def attempt(name, output, result):
    return (f'"{name}" start time: Nov 25 18:05 UTC\nOutput:\n-----\n{output}<end of output>\n'
            f'Test time =   0.01 sec\n-----\nTest {result}.\n"{name}" end time: Nov 25 18:05 UTC\n')


class ReportTest(unittest.TestCase):
    """What the last lines of a run say."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.steps = []

    def step(self, name, code, log=""):
        self.steps.append(f"{name}\t{code}\t61\tthe step {name}\trun {name}\n")
        (self.folder / f"{name}.log").write_text(log, encoding="utf-8")

    def ctest(self, name, cases, attempts):
        """`cases`: pairs of name and status; `attempts`: triples of name, output and result."""
        rows = "".join(f'<testcase name="{n}" status="{s}"><system-out>\x1b&#x1b;</system-out></testcase>'
                       for n, s in cases)
        (self.folder / f"{name}.xml").write_text(f"<testsuite>{rows}</testsuite>", encoding="utf-8")
        (self.folder / f"{name}.tests").write_text("".join(attempt(*a) for a in attempts),
                                                   encoding="utf-8")

    def report(self):
        (self.folder / "steps.tsv").write_text("".join(self.steps), encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = report_run.report(self.folder)
        return code, said.getvalue()

    def test_a_green_run_is_counted(self):
        self.step("build", 0)
        self.step("asan-tests", 0)
        self.ctest("asan-tests", [("a", "run"), ("b", "notrun")], [("a", "", "Passed")])
        code, text = self.report()
        self.assertEqual(code, 0)
        self.assertTrue(text.endswith("\n2 passed, 0 failed, 1 skipped\n"), text)
        self.assertNotIn("flaky", text)

    def test_the_tests_of_a_program_of_many_are_counted(self):
        self.step("release-tests", 8)
        ended = "[==========] 9 tests from 2 test suites ran. (5 ms total)\n"
        failure = "f.cpp:3: Failure\n[  FAILED  ] suite.name (1 ms)\n"
        self.ctest("release-tests", [("a", "run"), ("b", "fail"), ("died", "fail"), ("stalled", "fail"),
                                     ("empty", "run")],
                   [("a", failure + ended + "[  PASSED  ] 8 tests.\n", "Failed"),
                    ("a", ended + "[  PASSED  ] 8 tests.\n[  SKIPPED ] 1 test.\n", "Passed"),
                    ("b", failure * 2 + ended + "[  PASSED  ] 7 tests.\n", "Failed"),
                    ("died", "died in suite.name\n", "Failed"),
                    ("stalled", ended + "[  PASSED  ] 9 tests.\n", "Failed"),
                    ("empty", "[==========] 0 tests from 0 test suites ran. (0 ms total)\n"
                              "[  PASSED  ] 0 tests.\n", "Passed")])
        _, text = self.report()
        self.assertTrue(text.endswith("\n24 passed, 4 failed, 1 skipped\n"), text)

    def test_a_test_that_needed_a_second_attempt_is_named_and_passes(self):
        self.step("asan-tests", 0)
        self.ctest("asan-tests", [("shard", "run")],
                   [("shard", "x\nf.cpp:3: Failure\nwhy\n[  FAILED  ] suite.name (1 ms)\n", "Failed"),
                    ("shard", "", "Passed")])
        code, text = self.report()
        self.assertEqual(code, 0)
        self.assertIn("flaky: shard of asan-tests (passed at attempt 2): suite.name\n"
                      "    f.cpp:3: Failure\n    why\n", text)

    def test_what_the_log_of_ctest_lost_is_a_failure(self):
        self.step("release-tests", 0)
        self.ctest("release-tests", [("shard", "run"), ("other", "run"), ("missing", "notrun"), ("off", "disabled")],
                   [("other", "", "Passed")])
        code, text = self.report()
        self.assertEqual(code, 1)
        self.assertIn("lost: what 1 tests said, and how many attempts they took: shard of release-tests\n", text)

    def test_a_failing_test_is_shown_with_its_name_reason_and_command(self):
        self.step("tsan-tests", 8)
        report = ("noise\nLLVMSymbolizer: error: '[stack]': No such file or directory\n"
                  "WARNING: ThreadSanitizer: data race\n  #0 f x.cpp:7\ndied in suite.name\n")
        self.ctest("tsan-tests", [("unit.shard_1_of_8", "fail")],
                   [("unit.shard_1_of_8", report, "Failed")] * 3)
        code, text = self.report()
        self.assertEqual(code, 1)
        self.assertIn("unit.shard_1_of_8: suite.name\n    WARNING: ThreadSanitizer: data race\n"
                      "      #0 f x.cpp:7\n", text)
        self.assertIn("again: ctest --preset tsan -R '^unit\\.shard_1_of_8$'", text)
        self.assertTrue(text.endswith("\n0 passed, 1 failed, 0 skipped\n"), text)

    def test_a_step_without_tests_is_shown_by_its_first_error_and_what_needs_it_is_skipped(self):
        self.step("release", 1, "[1/2] fine\nx.cpp:1:2: error: no such thing\n more\n")
        self.step("release-tests", "not run")
        code, text = self.report()
        self.assertEqual(code, 1)
        self.assertIn("    x.cpp:1:2: error: no such thing\n     more\n  again: run release\n", text)
        self.assertTrue(text.endswith("\n0 passed, 1 failed, 1 skipped\n"), text)


if __name__ == "__main__":
    unittest.main()
