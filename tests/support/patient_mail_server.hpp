#pragma once

#include <coracle/net/listener.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

struct patient_mail_options {
    std::string capabilities = {};        ///< lines of the reply to EHLO
    std::string later_capabilities = {};  ///< ... to the second and later ones, if there are any
    unsigned refused = 0;                 ///< so many recipients, from the first on
    unsigned refused_contents = 0;        ///< so many mails at their end, from the first on
    unsigned nested = 0;        ///< so many MAIL that come with the end of another, by 503
    unsigned last_content = 0;  ///< with the end of this mail it cuts the connection
    duration between_replies{};
};

/// A server of mail that replies to what has come when nothing more comes for a second: a client
/// that waits for replies gets them, and what it sends without waiting is seen to come in one go.
/// Listens at 127.0.0.1:2525 in a simulated world.
class patient_mail_server {
public:
    explicit patient_mail_server(patient_mail_options o) : options_(std::move(o)) {}

    /// Serves so many connections to their ends.
    task<> serve(unsigned connections = 1) {
        const auto block = [&](task_group& g) -> task<> {
            auto listener =
                net::listener::open(*loop::current(), *net::address::parse("127.0.0.1:2525"));
            for (; connections != 0; --connections) {
                auto s = co_await listener->accept();
                g.spawn([this, peer = std::move(s)]() mutable { return talk(std::move(peer)); });
            }
        };
        co_await with_task_group(block);
    }

    /// The commands of each go, by their verbs: "MAIL RCPT RCPT", "content MAIL RCPT". A client
    /// says QUIT as far as that needs no waiting: the beginning of it counts.
    std::vector<std::string> goes;
    /// Mails that were taken.
    unsigned taken = 0;

private:
    struct session {
        std::size_t chunk = 0;
        bool in_data = false;
        bool cut = false;
    };

    task<> talk(std::unique_ptr<net::socket> peer) {
        session s;
        co_await peer->send("220 x\r\n");
        for (bool open = true; open && !s.cut;) {
            std::string go;
            for (;;) {
                auto limited = with_timeout(std::chrono::seconds(1), peer->receive());
                auto got = co_await as_result(limited);
                if (!got && got.error() != std::errc::timed_out) open = false;
                if (!got) break;
                go += got->view();
            }
            for (const std::string& reply : replies_to(go, s)) {
                // The client may have gone, after QUIT.
                static_cast<void>(co_await as_result(peer->send(reply)));
                if (options_.between_replies > duration::zero())
                    co_await sleep_for(options_.between_replies);
            }
        }
    }

    std::string reply_to(std::string_view line, std::string_view verb, bool first, session& s) {
        if (verb == "EHLO") {
            const bool later = ++greeted_ > 1 && !options_.later_capabilities.empty();
            const std::string& lines = later ? options_.later_capabilities : options_.capabilities;
            return "250-x\r\n" + lines + "250 SIZE\r\n";
        }
        if (verb == "RCPT" && options_.refused != 0) {
            --options_.refused;
            return "550 no\r\n";
        }
        if (verb == "MAIL" && !first && options_.nested != 0) {
            --options_.nested;
            return "503 nested\r\n";
        }
        if (verb == "BDAT") {
            s.chunk = std::stoul(std::string(line.substr(5)));
            return end_content(s);
        }
        s.in_data = verb == "DATA";
        return s.in_data ? "354 go\r\n" : "250 ok\r\n";
    }
    std::string end_content(session& s) {
        ++contents_;
        s.in_data = false;
        s.cut = contents_ == options_.last_content;
        if (s.cut) return {};
        if (options_.refused_contents != 0) {
            --options_.refused_contents;
            return "554 no\r\n";
        }
        ++taken;
        return "250 kept\r\n";
    }
    std::vector<std::string> replies_to(std::string_view go, session& s) {
        std::vector<std::string> replies;
        if (!go.empty() && std::string_view("QUIT\r\n").starts_with(go)) {
            goes.emplace_back("QUIT");
            return replies;
        }
        std::string verbs;
        while (!go.empty() && !s.cut) {
            const bool content = s.in_data;
            const std::size_t end = content ? go.find("\r\n.\r\n") + 5 : go.find("\r\n") + 2;
            const std::string_view line = go.substr(0, end);
            const std::string verb(content ? "content" : line.substr(0, 4));
            replies.push_back(content ? end_content(s) : reply_to(line, verb, verbs.empty(), s));
            verbs.append(verbs.empty() ? "" : " ").append(verb);
            go.remove_prefix(end + (verb == "BDAT" ? s.chunk : 0));
        }
        if (!verbs.empty()) goes.push_back(std::move(verbs));
        return replies;
    }

    patient_mail_options options_;
    unsigned greeted_ = 0;
    unsigned contents_ = 0;
};

}  // namespace coracle::testing
