// Serves a shell over TCP, each on a terminal of its own: shell_server [PORT]
//
//   stty raw -echo; nc 127.0.0.1 2323; stty sane
//
// WARNING: anyone who can connect can do all that you can. There is no password and no encryption,
// and every user of this machine can connect; it listens on the loopback, and there it has to stay.

#include <coracle/net/serve.hpp>
#include <coracle/process/command.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_any.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>

using namespace coracle;

namespace {

task<> copy(net::byte_stream& from, net::byte_stream& to) {
    while (auto piece = co_await as_result(from.receive())) {
        if (!co_await as_result(to.send(piece->view()))) co_return;
    }
}

task<> run_shell(std::unique_ptr<net::socket> peer) {
    auto terminal = process::pseudo_terminal::open();
    if (!terminal) throw_exception(terminal.error());
    process::command sh("/bin/sh");
    sh.arg("-i").env("TERM", "dumb").pty(*terminal);
    process::child shell = co_await sh.start();
    co_await when_any(copy(*peer, terminal->stream()), copy(terminal->stream(), *peer));
    terminal->stream().close();  // hangs up
    std::cout << "a shell " << (co_await shell.terminate()).to_string() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 2323);
    block_on([port]() -> task<> {
        auto listener =
            net::listener::open(*loop::current(), net::address::v4({127, 0, 0, 1}, port));
        if (!listener) throw_exception(listener.error());
        std::cout << "a shell for everybody at " << listener->local().to_string() << std::endl;
        co_await net::serve(*listener, run_shell);
    });
}
