// A message as text, for those who look at it or send it in another way.

#include "smtp/outgoing_mail.hpp"

#include <coracle/io/memory.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/runtime/loop.hpp>

namespace coracle::smtp {
namespace {

using detail::outgoing_mail;

void complete_on(message& m) {
    loop& l = *loop::current();
    detail::complete(m.own_state(), l.unix_time(), l.random(), l.random());
}

task<std::expected<void, error>> write(message* from, io::sink* to) {
    complete_on(*from);
    const message m = *from;
    auto opening = outgoing_mail::open(m);
    auto mail = co_await std::move(opening);
    if (!mail) co_return std::unexpected(std::move(mail).error());
    loop& l = *loop::current();
    detail::mail_form form;
    form.abilities.eight_bit = m.state().raw != nullptr;
    form.utf8 = m.state().raw != nullptr;
    if (auto laid = (*mail)->lay_out(form, l); !laid) co_return std::move(laid);
    if ((*mail)->has_signers()) {
        auto signing = (*mail)->sign(l.unix_time());
        auto is_signed = co_await std::move(signing);
        if (!is_signed) co_return std::move(is_signed);
    }
    for (;;) {
        auto bytes = co_await (*mail)->next();
        if (!bytes) co_return std::unexpected(std::move(bytes).error());
        if (bytes->empty()) break;
        slice piece{bytes->data(), bytes->size()};
        auto writing = to->write({&piece, 1});
        auto written = co_await std::move(writing);
        if (!written) co_return std::move(written);
    }
    co_return std::expected<void, error>();
}

task<std::expected<std::string, error>> write_text(message* from) {
    std::string text;
    io::memory_sink sink(text);
    auto writing = write(from, &sink);
    auto written = co_await std::move(writing);
    if (!written) co_return std::unexpected(std::move(written).error());
    co_return std::move(text);
}

}  // namespace

operation<> message::write_to(io::sink& to) {
    return write(this, &to);
}

operation<std::string> message::str() {
    return write_text(this);
}

}  // namespace coracle::smtp
