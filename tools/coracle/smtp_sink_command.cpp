#include "smtp_sink_command.hpp"

#include "late_signals.hpp"
#include "mailbox_routes.hpp"
#include "maildir.hpp"
#include "progress_display.hpp"
#include "settings.hpp"

#include <coracle/http/server.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/when_all.hpp>

#include <csignal>
#include <cstdio>
#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

[[noreturn]] void cannot_listen(const std::string& address, const error& e) {
    const bool is_taken = e.code() == std::errc::address_in_use;
    throw failure("cannot listen on " + address + ": " + e.code().message() +
                  (is_taken ? " (another program, perhaps another coracle, is using it)" : ""));
}

/// Mails on their way from the sink to the mailbox and the directory.
class post_office {
public:
    post_office(const sink_settings& s, logger& log) : box_(s.limits), log_(log) {
        if (!s.directory.empty()) directory_.emplace(s.directory);
    }

    mailbox& box() noexcept { return box_; }

    task<bool> deliver(testing::sink_message& m) {
        if (directory_) {
            auto writing = write(m);
            const bool written = co_await std::move(writing);
            if (!written) co_return false;
        }
        log_.write(log_layer::tool, log_level::info, line_of(m));
        box_.add(m);
        co_return true;
    }

private:
    /// On a thread of its own, since disks take their time.
    task<bool> write(const testing::sink_message& m) {
        const std::uint64_t random = loop::current()->random();
        const auto work = [this, &m, random]() -> std::string {
            try {
                directory_->add(m.text, m.number, m.unix_time, random);
            } catch (const std::system_error& e) {
                return e.what();
            }
            return {};
        };
        auto writing = offload(work);
        const auto problem = co_await as_result(writing);
        const std::string why = problem ? *problem : problem.error().message();
        if (why.empty()) co_return true;
        log_.write(log_layer::tool, log_level::error, "cannot keep a mail: " + why);
        co_return false;
    }

    static std::string line_of(const testing::sink_message& m) {
        std::string to;
        for (const std::string& one : m.recipients) to += to.empty() ? one : ", " + one;
        const std::string size = size_text(static_cast<double>(m.text.size()));
        return "mail " + std::to_string(m.number) + ", " + size + ": " + m.sender + " -> " + to;
    }

    mailbox box_;
    std::optional<maildir> directory_;
    logger& log_;
};

/// The page, where there is one.
class web_page {
public:
    web_page(runtime& rt, const sink_settings& s, mailbox& box) {
        if (!s.web) return;
        http::server_options o;
        o.listen = *s.web;
        o.loops = 1;
        o.timeouts.drain = std::chrono::seconds(1);
        server_.emplace(mailbox_page(box, s.web_hosts), std::move(o));
        try {
            server_->open(rt.at(0));
        } catch (const exception& e) {
            cannot_listen(*s.web, e.error());
        }
    }

    void announce() const {
        if (!server_) return;
        for (const std::string& url : server_->urls()) {
            std::printf("listening on %s\n", url.c_str());
        }
    }
    task<> run(loop& l) {
        if (server_) co_await server_->run(l);
    }
    void stop() {
        if (server_) server_->stop();
    }

private:
    std::optional<http::server> server_;
};

std::optional<testing::smtp_sink> open_sink(runtime& rt, testing::smtp_sink_options o) {
    const std::string address = o.listen;
    try {
        return std::optional<testing::smtp_sink>(std::in_place, rt.at(0), std::move(o));
    } catch (const exception& e) {
        cannot_listen(address, e.error());
    }
}

}  // namespace

void sink_mail(sink_settings settings) {
    logger log(log_level::warning);
    obey_environment(log);
    if (settings.verbose) log.set_level(log_layer::tool, log_level::info);
    std::signal(SIGPIPE, SIG_IGN);
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    const late_signals late({SIGINT, SIGTERM});
    post_office office(settings, log);
    runtime_options on;
    on.loops = 1;
    on.log = &log;
    runtime rt(on);
    web_page page(rt, settings, office.box());
    settings.mail.message_bytes = settings.limits.message_bytes;
    settings.mail.deliver = [&office](testing::sink_message& m) { return office.deliver(m); };
    std::optional<testing::smtp_sink> sink = open_sink(rt, std::move(settings.mail));
    page.announce();
    std::printf("mail to %s\n", sink->url().c_str());
    std::fflush(stdout);
    const auto stop_on_signal = [&]() -> task<> {
        co_await signals.next();
        sink->stop();
        office.box().changes().close();
        page.stop();
        co_await sink->stopped();
    };
    // The page drains too: its streams of events end in order.
    rt.run([&](loop& l) -> task<> { co_await when_all(page.run(l), stop_on_signal()); });
}

}  // namespace coracle::tool
