"""wrk against our server: a second of load, alone and pipelined, without an error."""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, need, run, run_tests

WRK = need("wrk")


def load(server, *arguments):
    told = run([WRK, "-t1", "-d1s", *arguments, server.url + "/"]).decode()
    check("Socket errors" not in told and "Non-2xx" not in told, told)
    check(int(re.search(r"(\d+) requests in", told)[1]) > 0, told)


def test_a_second_of_load():
    with Server("hello") as server:
        load(server, "-c64")


def test_a_second_of_pipelined_load():
    with Server("hello") as server, tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write('init = function(args)\n'
                     '    local all = {}\n'
                     '    for i = 1, 40 do all[i] = wrk.format("GET", "/") end\n'
                     '    batch = table.concat(all)\n'
                     'end\n'
                     'request = function() return batch end\n')
        script.flush()
        load(server, "-c16", "-s", script.name)


run_tests(globals())
